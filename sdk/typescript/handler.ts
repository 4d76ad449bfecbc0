/** The interface for authors of agents: the handler, its task, and the context in which it runs. */
import { create } from "@bufbuild/protobuf";
import type { Payload } from "@drover/proto/drover/v1/payload_pb.ts";
import {
  type Outcome,
  OutcomeSchema,
  type Progress,
  ProgressSchema,
  type Task as TaskMessage,
  TaskKind as WireKind,
} from "@drover/proto/drover/v1/task_pb.ts";
import type { Codec } from "./codec.ts";
import type { HeldTask } from "./held-task.ts";
import { attemptFields, type Logger, withFields } from "./logger.ts";
import { isUnexpected, outcomeOfError, outcomeOfResult, withinLimit } from "./outcomes.ts";
import { json, type Parse, readPayload, toPayload } from "./payload.ts";
import type { TaskKind } from "./task-definition.ts";
import { PermanentError } from "./task-errors.ts";
import type { TaskLogs } from "./task-logs.ts";
import { type TraceIds, withinTask } from "./tracing.ts";

/**
 * Performs one attempt. It returns the step's output (JSON, a Payload or nothing) or an Answer, see
 * answers.ts. It throws an error to report a failure, see task-errors.ts.
 */
export type Handler = (task: Task, context: TaskContext) => unknown;

/**
 * Reads a payload: as its task defines it, or as received; or through a parser, an error of which
 * fails the attempt.
 */
export interface Read<T = unknown> {
  (): T;
  <P>(parse: Parse<P>): P;
}

/** `In` and `Out`: its input and output as they are read, see task-definition.ts. */
export interface Task<In = unknown, Out = unknown> {
  /** Name of the task, as in the definition. */
  readonly name: string;
  /**
   * A verify task finds out whether an earlier attempt took effect, and never does the work itself.
   */
  readonly kind: TaskKind;
  readonly queue: string;
  readonly runId: string;
  readonly stepId: string;
  /** For a map, the index in its list, from 0; null: the step has no items. */
  readonly item: number | null;
  /** From 1. Verify tasks are numbered separately. */
  readonly attempt: number;
  readonly workflow: string;
  /** 0: the definition was sent with the run. */
  readonly workflowVersion: number;
  /** For the remote service, so that a repeated request takes effect once. */
  readonly idempotencyKey: string;
  /** Verify and compensate: the key under which the effect was made, or would have been made. */
  readonly effectKey: string;
  /**
   * Perform: for a remote service that reports the outcome itself, by `client.completeDeferred`.
   */
  readonly callbackToken: string;
  /** Grows with each hand-out of the step, for services that refuse a lower value. */
  readonly fence: number;
  /** Labels of the run. */
  readonly labels: Readonly<Record<string, string>>;
  readonly input: Read<In>;
  /** Compensate: the step's output; `undefined` if there is none or it is not known. */
  readonly output: Read<Out | undefined>;
  /**
   * What an earlier attempt passed to `context.details`, to resume from; for a verify task, what
   * the lost attempt passed.
   */
  readonly lastDetails: Read;
}

export type ProgressMark =
  /** Share of the whole, 0 to 1. */
  | { readonly fraction: number }
  /** Number of things done so far. */
  | { readonly counter: number | bigint }
  /** Any text that changes as the work advances. */
  | { readonly cursor: string };

export interface TaskContext {
  /**
   * Aborted with a TaskStopped when the work must stop; pass it to functions that take a signal.
   */
  readonly signal: AbortSignal;
  /** Remaining time of lease and attempt: check it before a call that must not come late. */
  leftMs(): number;
  /**
   * Reports how far the work has come; use one kind of measure throughout. Sent within a second.
   */
  progress(mark: ProgressMark): void;
  /**
   * Stores what a later attempt needs to resume: JSON or a Payload. Sent within a second, and
   * before the report of an attempt that ends without success.
   */
  details(value: unknown): void;
  /**
   * Resolves when the server has stored the last `details`: await it before an answer that relies
   * on them, such as `again`. Rejects with the reason of `signal` when that is aborted.
   */
  stored(): Promise<void>;
  /**
   * With run, step and attempt in each line. The server stores the lines with the attempt, of every
   * level, up to 64 KiB; not if the step has `logs: off`.
   */
  readonly log: Logger;
}

export interface AttemptOptions {
  readonly handler: Handler;
  readonly held: HeldTask;
  readonly codec: Codec;
  readonly log: Logger;
  readonly logs: Pick<TaskLogs, "tee">;
  /** Called when progress or details wait for the next heartbeat. */
  readonly noted: () => void;
  /** Resolves when the server has stored the details; rejects when the task must stop. */
  readonly stored: () => Promise<void>;
}

/** Runs the handler to its end, however long that takes; never rejects. */
export function attempt(options: AttemptOptions): Promise<Outcome> {
  const { task } = options.held;
  return withinTask(task, `${kindOf(task.kind)} ${task.task}`, (ids) => tried(options, ids));
}

async function tried(options: AttemptOptions, ids: TraceIds): Promise<Outcome> {
  const { handler, held, codec, noted, stored } = options;
  const { task } = held.task;
  const ofProcess = withFields(options.log, { ...attemptFields(held.task), ...ids });
  const log = options.logs.tee(held.task, ofProcess);
  const context: TaskContext = Object.freeze({
    signal: held.signal,
    leftMs: held.leftMs,
    progress(mark: ProgressMark): void {
      held.note({ progress: toProgress(mark) });
      noted();
    },
    details(value: unknown): void {
      held.note({ details: codec.encode(toPayload(value) ?? json(null)) });
      noted();
    },
    stored,
    log,
  });
  try {
    const result = await handler(readTask(held.task, codec), context);
    const outcome = withinLimit(encoded(outcomeOfResult(result, held.task.kind), codec));
    const { case: kind, value } = outcome.kind;
    if (kind === "success" && value.outputProblem !== "") log.error({ task }, value.outputProblem);
    return outcome;
  } catch (error) {
    const stopped = held.stopped();
    if (isUnexpected(error, stopped))
      log.error({ task, err: error }, "handler threw an error that it did not name");
    return outcomeOfError(error, stopped);
  }
}

/** An outcome whose output the codec has encoded. */
function encoded(outcome: Outcome, codec: Codec): Outcome {
  if (outcome.kind.case !== "success" || outcome.kind.value.output === undefined) return outcome;
  const value = { output: codec.encode(outcome.kind.value.output) };
  return create(OutcomeSchema, { kind: { case: "success", value } });
}

function readTask(task: TaskMessage, codec: Codec): Task {
  return Object.freeze({
    name: task.task,
    kind: kindOf(task.kind),
    queue: task.queue,
    runId: task.runId,
    stepId: task.stepId,
    item: task.item ?? null,
    attempt: task.attempt,
    workflow: task.workflow,
    workflowVersion: task.workflowVersion,
    idempotencyKey: task.idempotencyKey,
    effectKey: task.effectKey,
    callbackToken: task.callbackToken,
    fence: task.fence,
    labels: task.labels,
    input: reader(task.input, "input", codec),
    output: reader(task.output, "output", codec),
    lastDetails: reader(task.lastDetails, "details", codec),
  });
}

function kindOf(kind: WireKind): TaskKind {
  if (kind === WireKind.VERIFY) return "verify";
  return kind === WireKind.COMPENSATE ? "compensate" : "perform";
}

function reader(payload: Payload | undefined, what: string, codec: Codec): Read {
  function trying<T>(act: () => T): T {
    try {
      return act();
    } catch (cause) {
      const text = cause instanceof Error ? cause.message : String(cause);
      throw new PermanentError(`bad-${what}`, `The ${what} is not as expected: ${text}`, { cause });
    }
  }
  function read(): unknown;
  function read<T>(parse: Parse<T>): T;
  function read<T>(parse?: Parse<T>): unknown {
    const value = readPayload(payload && trying(() => codec.decode(payload)));
    return parse === undefined ? value : trying(() => parse(value));
  }
  return read;
}

function toProgress(mark: ProgressMark): Progress {
  if ("fraction" in mark) {
    if (Number.isNaN(mark.fraction)) throw new RangeError("A fraction of NaN is no progress.");
    const value = Math.min(Math.max(mark.fraction, 0), 1);
    return create(ProgressSchema, { kind: { case: "fraction", value } });
  }
  if ("counter" in mark) {
    const value = BigInt(mark.counter);
    if (value < 0n) throw new RangeError(`A counter of ${value} is no progress; count from 0.`);
    return create(ProgressSchema, { kind: { case: "counter", value } });
  }
  const value = mark.cursor.replaceAll("\0", " ").slice(0, 1_024).toWellFormed();
  if (value === "") throw new RangeError("An empty cursor is no progress.");
  return create(ProgressSchema, { kind: { case: "cursor", value } });
}
