/**
 * Runs a handler without a server and without an agent: a test gives the task, and gets what an
 * agent would report.
 *
 *     const outcome = await runHandler(flights, { input: { to: "Lisbon" }, attempt: 2 });
 *     expect(outcome).toMatchObject({ kind: "success", output: { booking: "flight-to-Lisbon" } });
 *
 * `startHandler` starts a handler that waits, which may then be stopped:
 *
 *     const running = startHandler(flights, { input: { to: "Lisbon" } });
 *     running.stop("lease-lost");
 *     const { kind } = await running.outcome();
 */
import { create } from "@bufbuild/protobuf";
import {
  FailureClass,
  type Outcome,
  type Progress,
  TaskSchema,
  TaskKind as WireKind,
} from "@drover/proto/drover/v1/task_pb.ts";
import { backgroundClock, systemClock } from "./clock.ts";
import { type Codec, encoded, noCodec } from "./codec.ts";
import { type Duration, fromDuration, toDuration } from "./duration.ts";
import { attempt, type Handler, type ProgressMark } from "./handler.ts";
import { type HeldTask, holdTask, type Notes } from "./held-task.ts";
import { type Logger, warningLogger } from "./logger.ts";
import { readPayload } from "./payload.ts";
import type { InputSpec } from "./schedule-spec.ts";
import type { TaskKind } from "./task-definition.ts";
import type { StopKind } from "./task-errors.ts";
import type { BoundHandler } from "./typed-handler.ts";

/** The task for the handler. What is left out is as in a first attempt. */
export type GivenTask<In = unknown, Out = unknown> = GivenFields<Out> & InputSpec<In>;

export interface GivenFields<Out> {
  /** Default: of the defined task, else "task". */
  readonly name?: string;
  /** Default: of the defined task, else "perform". */
  readonly kind?: TaskKind;
  /** Compensate: the output of the step, JSON or a Payload. Default: none. */
  readonly output?: Out;
  /** What an earlier attempt passed to `context.details`. Default: nothing. */
  readonly lastDetails?: unknown;
  /** For a map, the index in its list. Default: none. */
  readonly item?: number;
  /** Default 1. */
  readonly attempt?: number;
  /** Default 1. */
  readonly fence?: number;
  /** Default "run-1". */
  readonly runId?: string;
  /** Default "step-1". */
  readonly stepId?: string;
  /** Default "workflow". */
  readonly workflow?: string;
  /** Default "default". */
  readonly queue?: string;
  /** Default "key-1". */
  readonly idempotencyKey?: string;
  /** Default "effect-1", and "" to perform. */
  readonly effectKey?: string;
  /** Default "callback-1". */
  readonly callbackToken?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Remaining time of lease and attempt; after it the handler is stopped. Default 15 minutes. */
  readonly left?: Duration;
  /** Codec of the agent. Default: none. */
  readonly codec?: Codec;
  /** Log of the agent. Default: warnings and errors, as warnings of the process. */
  readonly log?: Logger;
}

/** What an agent would report, with the progress and details of the handler. */
export type HandlerOutcome<Out = unknown> = Reported<Out> & {
  /** All reported progress, in order. */
  readonly progress: readonly ProgressMark[];
  /** All details, in order; the next attempt gets the last of them. */
  readonly details: readonly unknown[];
};

export type Reported<Out> =
  | { readonly kind: "success"; readonly output: Out }
  | {
      /** An output that cannot be sent, or that is not as defined, has the code `drover.output`. */
      readonly kind: "failed";
      readonly code: string;
      readonly message: string;
      readonly transient: boolean;
      /** null: not given. */
      readonly retryAfterMs: number | null;
      readonly noEffect: boolean;
    }
  | { readonly kind: "unknown"; readonly code: string; readonly message: string }
  | { readonly kind: "again"; readonly afterMs: number }
  | { readonly kind: "deferred" }
  | { readonly kind: "cancelled"; readonly noEffect: boolean };

export interface RunningHandler<Out = unknown> {
  /** Stops the handler once it has started, as an agent would. Default: "cancelled". */
  stop(kind?: StopKind): void;
  /** Waits for the end of the handler; may be called twice. */
  outcome(): Promise<HandlerOutcome<Out>>;
}

/** The task may be left out where its input may. */
type Given<In, Out> = undefined extends In
  ? readonly [given?: GivenTask<In, Out>]
  : readonly [given: GivenTask<In, Out>];

/** Runs the handler to its end. */
export function runHandler<In = unknown, Out = unknown>(
  handler: Handler | BoundHandler<In, Out>,
  ...given: Given<NoInfer<In>, NoInfer<Out>>
): Promise<HandlerOutcome<Out>>;
export function runHandler(
  handler: Handler | BoundHandler,
  given: GivenTask = {},
): Promise<HandlerOutcome> {
  return start(handler, given).outcome();
}

/** Starts the handler, and returns at once. */
export function startHandler<In = unknown, Out = unknown>(
  handler: Handler | BoundHandler<In, Out>,
  ...given: Given<NoInfer<In>, NoInfer<Out>>
): RunningHandler<Out>;
export function startHandler(
  handler: Handler | BoundHandler,
  given: GivenTask = {},
): RunningHandler {
  return start(handler, given);
}

const kinds: Readonly<Record<TaskKind, WireKind>> = {
  perform: WireKind.PERFORM,
  verify: WireKind.VERIFY,
  compensate: WireKind.COMPENSATE,
};

function start(of: Handler | BoundHandler, given: GivenTask): RunningHandler {
  const { codec = noCodec, log = warningLogger } = given;
  const progress: ProgressMark[] = [];
  const details: unknown[] = [];
  const held = hold(typeof of === "function" ? undefined : of, given);
  const recording: HeldTask = {
    ...held,
    note(notes: Notes): void {
      if (notes.progress) progress.push(markOf(notes.progress));
      if (notes.details) details.push(readPayload(codec.decode(notes.details)));
    },
  };
  const ended = attempt({
    handler: typeof of === "function" ? of : of.handler,
    held: recording,
    codec,
    log,
    logs: { tee: (_task, own) => own },
    noted: () => undefined,
    // What a handler notes is kept at once.
    stored: () => Promise.resolve(),
  }).finally(held.close);
  return Object.freeze({
    stop(kind: StopKind = "cancelled"): void {
      // Input is checked before a handler starts, and a signal says nothing to who listens later.
      backgroundClock.soon(() => (kind === "lease-lost" ? held.lose() : held.stop(kind)));
    },
    outcome: async () => ({ ...reportedOf(await ended, codec), progress, details }),
  });
}

function hold(bound: BoundHandler | undefined, given: GivenTask): HeldTask {
  const { codec = noCodec, left = "15m" } = given;
  const { name = bound?.task.name ?? "task", kind = bound?.task.kind ?? "perform" } = given;
  const payload = (value: unknown) => encoded(value, codec);
  const input = payload(given.input);
  const output = payload(given.output);
  const lastDetails = payload(given.lastDetails);
  const message = create(TaskSchema, {
    runId: given.runId ?? "run-1",
    stepId: given.stepId ?? "step-1",
    attempt: given.attempt ?? 1,
    workflow: given.workflow ?? "workflow",
    workflowVersion: 1,
    kind: kinds[kind],
    task: name,
    queue: given.queue ?? "default",
    idempotencyKey: given.idempotencyKey ?? "key-1",
    effectKey: given.effectKey ?? (kind === "perform" ? "" : "effect-1"),
    callbackToken: given.callbackToken ?? "callback-1",
    fence: given.fence ?? 1,
    labels: { ...given.labels },
    leaseFor: toDuration(left),
    attemptFor: toDuration(left),
    ...(given.item !== undefined && { item: given.item }),
    ...(input && { input }),
    ...(output && { output }),
    ...(lastDetails && { lastDetails }),
  });
  // A process that waits for nothing else ends, and does not wait for the default.
  const clock = given.left === undefined ? backgroundClock : systemClock;
  return holdTask(clock, message, clock.monotonicMs(), 0);
}

function markOf({ kind }: Progress): ProgressMark {
  switch (kind.case) {
    case "fraction":
      return { fraction: kind.value };
    case "counter":
      return { counter: kind.value };
    default:
      return { cursor: kind.value ?? "" };
  }
}

function reportedOf({ kind }: Outcome, codec: Codec): Reported<unknown> {
  switch (kind.case) {
    case "success": {
      const { output, outputProblem } = kind.value;
      if (outputProblem === "")
        return { kind: "success", output: readPayload(output && codec.decode(output)) };
      // As the server reads it.
      const failure = { code: "drover.output", message: outputProblem, transient: false };
      return { kind: "failed", ...failure, retryAfterMs: null, noEffect: false };
    }
    case "failed": {
      const { code, message, failureClass, retryAfter, noEffect } = kind.value;
      return {
        kind: "failed",
        code,
        message,
        transient: failureClass === FailureClass.TRANSIENT,
        retryAfterMs: retryAfter ? fromDuration(retryAfter) : null,
        noEffect,
      };
    }
    case "unknown":
      return { kind: "unknown", code: kind.value.code, message: kind.value.message };
    case "again":
      return { kind: "again", afterMs: fromDuration(kind.value.after) };
    case "cancelled":
      return { kind: "cancelled", noEffect: kind.value.noEffect };
    case "deferred":
      return { kind: "deferred" };
    default:
      throw new Error(`A handler does not report ${kind.case ?? "nothing"}.`);
  }
}
