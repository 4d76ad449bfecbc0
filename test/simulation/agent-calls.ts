// The three calls of an agent; each is recorded when it is sent and when it is answered.
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  AgentSchema,
  AgentService,
  CompleteRequestSchema,
  type CompleteResponse,
  HeartbeatRequestSchema,
  NextSchema,
  PollTaskRequestSchema,
  type PollTaskResponse,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import type { Outcome, Task } from "@drover/proto/drover/v1/task_pb.ts";
import { outcomeDigest } from "../../server/api/agent/convert-outcome.ts";
import type { Reported } from "../../server/core/model/event.ts";
import type { VirtualProcess } from "../../simulator/virtual-process.ts";
import type { Answer, PollWish, ReportSeen, TokenParts } from "./history.ts";
import { outcomeFact } from "./history-rows.ts";
import type { Reply } from "./network.ts";
import { answerSeen, canariesIn, heartbeatSeen, reportSeen, taskSeen } from "./seen.ts";
import type { ServerProcess } from "./server-process.ts";
import { canaryWords, type World } from "./world.ts";

export interface AgentCaller {
  readonly world: World;
  readonly process: VirtualProcess;
  readonly shape: { readonly id: string; readonly namespace: string };
  /** The session, in hex and as bytes. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** A task as its agent holds it. */
export interface Handed {
  readonly task: Task;
  readonly token: TokenParts;
  /** Its progress has stalled at this count; left out: it moves. */
  readonly stuckAt?: number;
}

interface Where {
  readonly server: ServerProcess;
  readonly deadlineMs: number;
}

const CALL_MS_MAX = 2_500;

export interface PollCall {
  readonly wish: PollWish;
  readonly waitMs: number;
  readonly lostPolls: readonly number[];
}

/** The caller waits `deadlineMs` for the answer; left out: somewhat longer than the poll waits. */
export async function pollTask(
  caller: AgentCaller,
  { wish, waitMs, lostPolls }: PollCall,
  { server, deadlineMs = waitMs + CALL_MS_MAX }: Partial<Where> & Pick<Where, "server">,
): Promise<{ readonly answer: Answer; readonly reply: Reply<PollTaskResponse> }> {
  const { world, shape, process } = caller;
  const asked = { namespace: shape.namespace, session: caller.id, waitMs, lostPolls };
  const request = { rpc: "PollTask", ...asked, poll: wish } as const;
  const call = world.recorder.call(shape.id, server.name, request);
  const { $typeName: _, ...wanted } = nextMessage(wish);
  const reply = await world.network.unary(
    process,
    server,
    AgentService.method.pollTask,
    create(PollTaskRequestSchema, {
      ...wanted,
      namespace: shape.namespace,
      agent: agentMessage(caller),
      wait: durationFromMs(waitMs),
      lostPolls: lostPolls.map(BigInt),
    }),
    deadlineMs,
  );
  const answer = answerSeen(reply, ({ tasks }) => ({
    kind: "polled",
    tasks: tasks.map((task) => taskSeen(task, wish.pollSeq)),
  }));
  recordAnswer(caller, call, answer, reply.bytes);
  return { answer, reply };
}

export interface HeartbeatContent {
  readonly listed: readonly Handed[];
  readonly lostPolls: readonly number[];
  /** The list has all tasks of polls up to this one; left out: the agent does not state that. */
  readonly listsAllTo?: number;
}

export async function sendHeartbeat(
  caller: AgentCaller,
  { listed, lostPolls, listsAllTo = 0 }: HeartbeatContent,
  { server, deadlineMs = CALL_MS_MAX }: Partial<Where> & Pick<Where, "server">,
): Promise<Answer> {
  const { world, shape, process } = caller;
  const call = world.recorder.call(shape.id, server.name, {
    rpc: "Heartbeat",
    namespace: shape.namespace,
    session: caller.id,
    tokens: listed.map(({ token }) => token),
    lostPolls,
    listsAllTo,
  });
  const counter = process.clock.monotonicMs();
  const reply = await world.network.unary(
    process,
    server,
    AgentService.method.heartbeat,
    create(HeartbeatRequestSchema, {
      namespace: shape.namespace,
      agent: agentMessage(caller),
      lostPolls: lostPolls.map(BigInt),
      listsAllTo: BigInt(listsAllTo),
      reports: listed.map(({ task, stuckAt }) => ({
        taskToken: task.taskToken,
        progress: { kind: { case: "counter" as const, value: BigInt(stuckAt ?? counter) } },
      })),
    }),
    deadlineMs,
  );
  const answer = answerSeen(reply, ({ answers }) => ({
    kind: "heartbeat-answered",
    answers: answers.map(heartbeatSeen),
  }));
  recordAnswer(caller, call, answer, reply.bytes);
  return answer;
}

export interface CompleteCall {
  readonly results: readonly (Handed & {
    readonly outcome: Reported;
    readonly message: Outcome;
  })[];
  readonly next: PollWish | null;
}

export async function complete(
  caller: AgentCaller,
  { results, next }: CompleteCall,
  { server, deadlineMs = CALL_MS_MAX }: Partial<Where> & Pick<Where, "server">,
): Promise<{ readonly answer: Answer; readonly reply: Reply<CompleteResponse> }> {
  const { world, shape, process } = caller;
  const call = world.recorder.call(shape.id, server.name, {
    rpc: "Complete",
    namespace: shape.namespace,
    session: caller.id,
    results: results.map(({ token, outcome, message }) => ({
      token,
      outcome: outcomeFact(outcome),
      digest: outcomeDigest(message),
    })),
    next,
  });
  const reply = await world.network.unary(
    process,
    server,
    AgentService.method.complete,
    create(CompleteRequestSchema, {
      namespace: shape.namespace,
      agent: agentMessage(caller),
      results: results.map(({ task, message }) => ({
        taskToken: task.taskToken,
        outcome: message,
      })),
      ...(next ? { next: nextMessage(next) } : {}),
    }),
    deadlineMs,
  );
  const answer = answerSeen(reply, ({ answers, tasks }) => ({
    kind: "completed",
    answers: answers.map(({ status, repeated }): ReportSeen => reportSeen(status, repeated)),
    tasks: tasks.map((task) => taskSeen(task, next?.pollSeq ?? 0)),
  }));
  recordAnswer(caller, call, answer, reply.bytes);
  return { answer, reply };
}

function recordAnswer(
  { world, shape }: AgentCaller,
  call: number,
  answer: Answer,
  bytes: Uint8Array,
) {
  world.recorder.answer(shape.id, call, answer, canariesIn(bytes, canaryWords(world)));
}

function agentMessage({ shape, bytes }: AgentCaller) {
  return create(AgentSchema, { id: shape.id, session: bytes, version: "1" });
}

function nextMessage({ pollSeq, queues, tasks, tasksMax }: PollWish) {
  return create(NextSchema, {
    pollSeq: BigInt(pollSeq),
    queues: queues.map((name) => ({ name, weight: 1 })),
    tasks: [...tasks],
    maxTasks: tasksMax,
  });
}
