// An agent by script: it sends what the script asks, when it asks, to the server that is named,
// and nothing by itself but the heartbeats that it was asked to send.
import type { Task } from "@drover/proto/drover/v1/task_pb.ts";
import type { Reported as ReportedOutcome } from "../../../server/core/model/event.ts";
import { createVirtualProcess, type VirtualProcess } from "../../../simulator/virtual-process.ts";
import {
  type AgentCaller,
  complete,
  type Handed,
  pollTask,
  sendHeartbeat,
} from "../agent-calls.ts";
import type { Answer, PollWish } from "../history.ts";
import { outcomeMessage } from "../reports.ts";
import { tokenSeen } from "../seen.ts";
import type { ServerProcess } from "../server-process.ts";
import type { World } from "../world.ts";
import type { CallWay, ScriptedFaults } from "./scripted-faults.ts";

export interface AgentOptions {
  /** Left out: the name of the agent. Two processes may have one. */
  readonly id?: string;
  readonly namespace?: string;
  readonly queues?: readonly string[];
  /** Empty: any task of the queues. */
  readonly tasks?: readonly string[];
}

export interface Via extends CallWay {
  /** Left out: the first server. */
  readonly at?: ServerProcess;
  /** Left out: 2.5 s, of a poll 2.5 s more than it may wait. */
  readonly deadlineMs?: number;
}

export interface PollOptions extends Via {
  /** Default 1 s. */
  readonly waitMs?: number;
  /** Default 1. */
  readonly max?: number;
  readonly lost?: readonly number[];
}

export interface Polled {
  /** The number of the poll. */
  readonly poll: number;
  readonly tasks: readonly Handed[];
  /** "ok", or the code that its caller received. */
  readonly code: string;
}

export interface Reported extends Polled {
  /** "accepted", "repeated", or the reason of the refusal; the code, if the call failed. */
  readonly answers: readonly string[];
}

export interface HeartbeatLoop {
  /** The answers to the heartbeats, of all tasks in the order of time. */
  readonly answers: readonly string[];
  stop(): void;
}

export interface ScriptedAgent {
  readonly process: VirtualProcess;
  poll(options?: PollOptions): Promise<Polled>;
  /** Polls until the next task comes. */
  take(options?: PollOptions): Promise<Handed>;
  /** The answer for each task; the code, if the call failed. */
  heartbeat(
    tasks: readonly Handed[],
    options?: Via & { readonly lost?: readonly number[]; readonly listsAllTo?: number },
  ): Promise<readonly string[]>;
  startHeartbeats(tasks: readonly Handed[], everyMs: number, options?: Via): HeartbeatLoop;
  /** One outcome for all. */
  report(
    tasks: Handed | readonly Handed[],
    outcome: ReportedOutcome,
    options?: Via & { readonly next?: number },
  ): Promise<Reported>;
  /** Reports, and fails unless each report is accepted. */
  end(
    tasks: Handed | readonly Handed[],
    outcome: ReportedOutcome,
    options?: Via & { readonly next?: number },
  ): Promise<void>;
  /** Does at the remote service what the task is for, whatever the state of its lease. */
  act(task: Handed): void;
}

export function createScriptedAgent(
  world: World & { readonly faults: ScriptedFaults },
  name: string,
  options: AgentOptions = {},
): ScriptedAgent {
  const process = createVirtualProcess(name, world.time, world.chance.fork());
  const bytes = process.chance.bytes(16);
  const { id = name, namespace = "default", queues = ["default"], tasks = [] } = options;
  const session = Buffer.from(bytes).toString("hex");
  const common = { world, shape: { id, namespace }, id: session, bytes };
  let calls = 0;
  let polls = 0;

  /** Each call is a caller of its own to the network, so that its messages can be distinguished. */
  function send<T>(via: Via, make: (caller: AgentCaller) => Promise<T>): Promise<T> {
    const caller = { ...process, name: `${name}#${++calls}` };
    return world.faults.along(caller.name, via, () => make({ ...common, process: caller }));
  }

  function where({ at = world.servers[0], deadlineMs }: Via) {
    if (!at) throw new Error("the world has no server");
    return deadlineMs === undefined ? { server: at } : { server: at, deadlineMs };
  }

  const wish = (tasksMax: number): PollWish => ({ pollSeq: ++polls, queues, tasks, tasksMax });

  async function poll(asked: PollOptions = {}): Promise<Polled> {
    const { waitMs = 1_000, max = 1, lost = [] } = asked;
    const wanted = wish(max);
    const { answer, reply } = await send(asked, (caller) =>
      pollTask(caller, { wish: wanted, waitMs, lostPolls: lost }, where(asked)),
    );
    const handed = reply.kind === "ok" ? reply.message.tasks.map(handedOf) : [];
    return { poll: wanted.pollSeq, tasks: handed, code: codeOf(answer) };
  }

  const heartbeat: ScriptedAgent["heartbeat"] = async (listed, asked = {}) => {
    const lostPolls = asked.lost ?? [];
    const answer = await send(asked, (caller) =>
      sendHeartbeat(caller, { listed, lostPolls, listsAllTo: asked.listsAllTo ?? 0 }, where(asked)),
    );
    return answer.kind === "heartbeat-answered"
      ? answer.answers.map(({ kind }) => kind)
      : [codeOf(answer)];
  };

  const report: ScriptedAgent["report"] = async (handed, outcome, asked = {}) => {
    const next = asked.next === undefined ? null : wish(asked.next);
    const message = outcomeMessage(outcome);
    const all = "task" in handed ? [handed] : handed;
    const results = all.map((one) => ({ ...one, outcome, message }));
    const { answer, reply } = await send(asked, (caller) =>
      complete(caller, { results, next }, where(asked)),
    );
    return {
      poll: next?.pollSeq ?? 0,
      tasks: reply.kind === "ok" ? reply.message.tasks.map(handedOf) : [],
      code: codeOf(answer),
      answers: answersOf(answer),
    };
  };

  return Object.freeze({
    process,
    poll,
    async take(asked: PollOptions = {}) {
      for (;;) {
        const { tasks: handed, code } = await poll(asked);
        const [task] = handed;
        if (task && handed.length === 1) return task;
        if (code !== "ok") throw new Error(`the poll of ${name} was answered ${code}`);
      }
    },
    heartbeat,
    startHeartbeats(listed: readonly Handed[], everyMs: number, asked: Via = {}): HeartbeatLoop {
      const received: string[] = [];
      let over = false;
      const again = (): void =>
        void process.post(everyMs, () => {
          if (over) return;
          void heartbeat(listed, asked).then((answers) => received.push(...answers));
          again();
        });
      again();
      return {
        answers: received,
        stop() {
          over = true;
        },
      };
    },
    report,
    async end(...args: Parameters<typeof report>) {
      const { answers } = await report(...args);
      if (answers.some((one) => one !== "accepted"))
        throw new Error(`the report of ${name} was answered ${answers.join(", ")}`);
    },
    act({ task, token }: Handed) {
      if (token.task === "perform") world.remote.make(task.idempotencyKey, token);
      else world.remote.undo(task.effectKey, token);
    },
  } satisfies ScriptedAgent);
}

function handedOf(task: Task): Handed {
  return { task, token: tokenSeen(task.taskToken) };
}

function codeOf(answer: Answer): string {
  return answer.kind === "unknown" || answer.kind === "refused" ? answer.code : "ok";
}

function answersOf(answer: Answer): readonly string[] {
  if (answer.kind !== "completed") return [codeOf(answer)];
  return answer.answers.map((one) => {
    if (one.kind === "refused") return one.reason;
    return one.repeated ? "repeated" : "accepted";
  });
}
