// One agent process performs one task, as its act says.
//
//   taken → works, sends heartbeats → effect at the remote service → reports until answered → alive
//             ├ answered with a cancel, and obeys → reports "cancelled" → alive
//             └ hangs, is frozen, or crashes → gone
import type { DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import {
  FailureClass,
  type OutcomeSchema,
  type ProgressSchema,
  type Task,
  TaskKind,
} from "@drover/proto/drover/v1/task_pb.ts";
import { payloadField } from "@drover/server/api/calls/payload.ts";
import type { Payload } from "@drover/server/core/model/payload.ts";
import { DroverError } from "@drover/server/errors.ts";
import type { RemoteService } from "./remote-service.ts";
import { type Act, stepName } from "./scenario.ts";
import type { Scripts } from "./scripts.ts";
import type { Timeline, TimelineRank } from "./timeline.ts";

type Calls = <M extends DescMethodUnary>(
  method: M,
  request: MessageInitShape<M["input"]>,
  gone?: AbortSignal,
) => Promise<MessageShape<M["output"]>>;

export interface PerformanceWorld {
  readonly call: Calls;
  readonly sleep: (ms: number) => Promise<void>;
  readonly scripts: Scripts;
  readonly remoteService: RemoteService;
  readonly timeline: Timeline;
  /** Steps that are maps: a task of such a step without an item is its gate. */
  readonly maps: ReadonlySet<string>;
}

interface Performer {
  readonly name: string;
  readonly session: Uint8Array;
}

type Outcome = NonNullable<MessageInitShape<typeof OutcomeSchema>["kind"]>;
/** Whether the process can take another task. */
type ProcessState = "alive" | "gone";

/** One performance of a task. */
interface Stage {
  readonly world: PerformanceWorld;
  readonly agent: Performer;
  readonly task: Task;
  readonly about: string;
  /** Called when the process will do nothing more by itself. */
  readonly rest: () => void;
}

const SERVER_AWAY_MS = 200;
/**
 * The interval of heartbeats grows to a hundredth of the time worked so far, at most to 0.8 of the
 * lease: a long task sends fewer heartbeats.
 */
const HEARTBEATS_OF_LONG_TASK = 100;
const LEASE_SHARE = 0.8;

/** Calls `rest` once, as soon as the process will do nothing more by itself. */
export async function perform(
  world: PerformanceWorld,
  agent: Performer,
  task: Task,
  rest: () => void,
): Promise<ProcessState> {
  const about = stepName(task.stepId, task.item);
  let resting = false;
  const restOnce = (): void => {
    if (!resting) rest();
    resting = true;
  };
  const stage = { world, agent, task, about, rest: restOnce };
  const what = `takes ${task.task} (${tryWords(task)})`;
  world.timeline.add("taken", { who: agent.name, about, what });
  const left = await play(stage, world.scripts.next(task));
  restOnce();
  return left;
}

function tryWords({ kind, attempt }: Task): string {
  return `${kind === TaskKind.VERIFY ? "check" : kind === TaskKind.COMPENSATE ? "undo" : "attempt"} ${attempt}`;
}

async function play(stage: Stage, act: Act): Promise<ProcessState> {
  const note = (what: string) => say(stage, what);
  switch (act.kind) {
    case "hang":
      return hang(stage, act);
    case "freeze": {
      say(stage, act.resumes ? "falls silent for a while" : "falls silent for good", "taken");
      if (act.effect) effect(stage, null);
      if (!act.resumes) return gone(stage);
      await stage.world.sleep(act.resumes.forMs);
      note("is back");
      return answer(stage, act.resumes.answer);
    }
    case "answer-late": {
      effect(stage, act.output);
      say(stage, "does it, and falls silent", "taken");
      const { leaseFor } = stage.task;
      await stage.world.sleep((leaseFor ? durationMs(leaseFor) : 0) + act.byMs);
      await report(stage, success(act.output), "succeeded, late");
      return "alive";
    }
    case "crash":
      if ((await works(stage, act.afterMs)) !== "done") return "alive";
      if (act.effect) effect(stage, null);
      note(act.effect ? "crashes, having done it" : "crashes");
      return gone(stage);
    case "defer":
      return defer(stage, act);
    case "again":
      await report(stage, { case: "again", value: { after: durationFromMs(act.inMs) } }, "again");
      return "alive";
    case "release":
      await report(stage, { case: "released", value: {} }, "released");
      return "alive";
    default:
      return answer(stage, act);
  }
}

function gone({ rest }: Stage): ProcessState {
  rest();
  return "gone";
}

function say({ world, agent, about }: Stage, what: string, rank: TimelineRank = "action"): void {
  world.timeline.add(rank, { who: agent.name, about, what });
}

/** Works, obeys the answers to its heartbeats, and reports. */
async function answer(
  stage: Stage,
  act: Extract<Act, { kind: "succeed" | "fail" | "unknown" | "check" }>,
): Promise<ProcessState> {
  const received = await works(stage, act.afterMs);
  if (received === "lost") say(stage, "learns that its lease is lost, and drops the task");
  if (received === "cancel")
    await report(stage, { case: "cancelled", value: { noEffect: true } }, "cancelled");
  if (received !== "done") return "alive";
  const { outcome, words } = ended(stage, act);
  await report(stage, outcome, words);
  return "alive";
}

function ended(
  stage: Stage,
  act: Extract<Act, { kind: "succeed" | "fail" | "unknown" | "check" }>,
): { readonly outcome: Outcome; readonly words: string } {
  switch (act.kind) {
    case "succeed":
      effect(stage, act.output);
      return { outcome: success(act.output), words: "succeeded" };
    case "check": {
      const found = stage.world.remoteService.find(stage.task.effectKey);
      if (found) return { outcome: success(found.output), words: "it is there" };
      const nothing = { code: "not-there", message: "", noEffect: true };
      const failureClass = FailureClass.TRANSIENT;
      const outcome = { case: "failed" as const, value: { ...nothing, failureClass } };
      return { outcome, words: "it is not there" };
    }
    case "unknown": {
      if (act.effect) effect(stage, null);
      const words = act.effect ? "unknown (it was done)" : "unknown (it was not done)";
      return { outcome: { case: "unknown", value: { code: act.code } }, words };
    }
    case "fail":
      if (act.effect) effect(stage, null);
      return { outcome: failed(act), words: `failed, ${act.code}` };
  }
}

function success(output: Payload | null) {
  return { case: "success" as const, value: payloadField("output", output) };
}

function failed(act: Extract<Act, { kind: "fail" }>) {
  const { code, message, noEffect, permanent, retryAfterMs } = act;
  const failureClass = permanent ? FailureClass.PERMANENT : FailureClass.TRANSIENT;
  const retryAfter = retryAfterMs === null ? {} : { retryAfter: durationFromMs(retryAfterMs) };
  const value = { code, message, noEffect, failureClass, ...retryAfter };
  return { case: "failed" as const, value };
}

/** Performs the task's effect at the remote service. */
function effect({ world, task, about }: Stage, output: Payload | null): void {
  const isGate = task.item === undefined && world.maps.has(task.stepId);
  if (task.kind === TaskKind.PERFORM && !isGate)
    world.remoteService.make(task.idempotencyKey, about, output);
  if (task.kind === TaskKind.COMPENSATE) world.remoteService.undo(task.effectKey);
}

type HeartbeatResult = "done" | "cancel" | "lost";

/** Sends heartbeats while it works; ends early if a heartbeat is answered with a cancel. */
function works(stage: Stage, ms: number): Promise<HeartbeatResult> {
  return new Promise((resolve) => {
    const heartbeats = heartbeat(
      stage,
      (doneMs) => ({ case: "fraction", value: Math.min(1, doneMs / ms) }),
      (received) => {
        if (received !== "carry-on") resolve(received);
        return received === "carry-on";
      },
    );
    void stage.world.sleep(ms).then(() => {
      heartbeats.stop();
      resolve("done");
    });
  });
}

/** Sends heartbeats until its lease is lost, whatever the answers say. */
async function hang(stage: Stage, act: Extract<Act, { kind: "hang" }>): Promise<ProcessState> {
  const { progress } = act;
  const how = progress === null ? "hangs" : `stalls at ${Math.round(progress * 100)} %`;
  say(stage, how, "taken");
  if (act.effect) effect(stage, null);
  let stopAnnounced = false;
  const moved = (ms: number): Progress =>
    progress === null
      ? { case: "counter", value: BigInt(ms) }
      : { case: "fraction", value: progress };
  heartbeat(stage, moved, (received) => {
    if (received === "cancel" && !stopAnnounced) say(stage, "is asked to stop, and ignores it");
    stopAnnounced ||= received === "cancel";
    return received !== "lost";
  });
  return gone(stage);
}

async function defer(stage: Stage, act: Extract<Act, { kind: "defer" }>): Promise<ProcessState> {
  const { world, task, about } = stage;
  const received = await works(stage, act.afterMs);
  if (received !== "done") return "alive";
  if (act.effect) effect(stage, null);
  await report(stage, { case: "deferred", value: {} }, "deferred");
  if (!act.callback) return "alive";
  await world.sleep(act.callback.inMs);
  const { answer: reply } = act.callback;
  const outcome = reply.kind === "fail" ? failed(reply) : success(reply.output);
  if (reply.kind === "succeed" || reply.effect)
    effect(stage, reply.kind === "succeed" ? reply.output : null);
  const { callbackToken } = task;
  const suffix = await answered(world, () =>
    world.call(SchedulerService.method.completeDeferred, { callbackToken, outcome }),
  );
  const words = reply.kind === "fail" ? `failed, ${reply.code}` : "succeeded";
  const what = `calls back: ${words}${suffix}`;
  world.timeline.add("action", { who: "the world", about, what });
  return "alive";
}

type Progress = NonNullable<MessageInitShape<typeof ProgressSchema>["kind"]>;

/** `progress`: the progress after so many milliseconds of work; `again`: whether to continue. */
function heartbeat(
  { world, agent, task }: Stage,
  progress: (ms: number) => Progress,
  again: (received: "carry-on" | "cancel" | "lost") => boolean,
): { stop(): void } {
  let going = true;
  let forMs = 0;
  const everyMs = task.heartbeatInterval ? durationMs(task.heartbeatInterval) : 1_000;
  const leaseMs = task.leaseFor ? durationMs(task.leaseFor) : everyMs;
  const next = async (): Promise<void> => {
    if (!going) return;
    const reports = [{ taskToken: task.taskToken, progress: { kind: progress(forMs) } }];
    const received = await world
      .call(AgentService.method.heartbeat, { agent: agentOf(agent), reports })
      .then(
        ({ answers: [one] }) => (one?.answer.case === "leaseLost" ? "lost" : one?.answer.case),
        () => "carryOn" as const,
      );
    if (going && again(received === "cancel" || received === "lost" ? received : "carry-on"))
      wait();
  };
  const wait = (): void => {
    const seldomMs = Math.min(forMs / HEARTBEATS_OF_LONG_TASK, leaseMs * LEASE_SHARE);
    const inMs = Math.ceil(Math.max(everyMs, seldomMs));
    forMs += inMs;
    void world.sleep(inMs).then(next);
  };
  wait();
  return {
    stop() {
      going = false;
    },
  };
}

async function report(stage: Stage, kind: Outcome, words: string): Promise<void> {
  const { world, agent, task } = stage;
  const results = [{ taskToken: task.taskToken, outcome: { kind } }];
  const suffix = await answered(world, async () => {
    const asked = { agent: agentOf(agent), results };
    const { answers } = await world.call(AgentService.method.complete, asked);
    const status = answers[0]?.status;
    if (status && status.code !== 0) throw new DroverError("INVALID_REQUEST", status.message);
  });
  say(stage, `reports: ${words}${suffix}`);
}

/** Repeats the call until the server answers; the result is " (refused: why)", or "". */
async function answered(world: PerformanceWorld, call: () => Promise<unknown>): Promise<string> {
  for (;;) {
    try {
      await call();
      return "";
    } catch (error) {
      if (!(error instanceof DroverError)) throw error;
      if (error.reason !== "STORE_UNAVAILABLE") return ` (refused: ${error.message})`;
    }
    await world.sleep(SERVER_AWAY_MS);
  }
}

function agentOf({ name: id, session }: Performer) {
  return { id, session, version: "1" };
}
