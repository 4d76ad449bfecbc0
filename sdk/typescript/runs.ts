/**
 * Runs as programs read them: names instead of numbers, Dates, and payloads as their values.
 *
 * A name that this SDK does not know, from a newer server, reads UNSPECIFIED.
 */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type * as wire from "@drover/proto/drover/v1/run_pb.ts";
import {
  ConcurrencyPolicy,
  RunReason,
  RunState,
  StepKind,
  StepState,
  UndoState,
  WaitingOn,
} from "@drover/proto/drover/v1/run_pb.ts";
import { FailureClass } from "@drover/proto/drover/v1/task_pb.ts";
import { readPayload } from "./payload.ts";

export interface Run {
  readonly runId: string;
  readonly namespace: string;
  readonly key: string;
  readonly workflow: string;
  /** 0: the definition came with the request. */
  readonly workflowVersion: number;
  readonly state: keyof typeof RunState;
  readonly reason: keyof typeof RunReason;
  readonly ended: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly priority: number;
  /** Absent in lists and while watching. */
  readonly input: unknown;
  readonly createdTime: Date | null;
  readonly endedTime: Date | null;
  readonly deadlineTime: Date | null;
  readonly version: bigint;
  readonly cancelReason: string;
  /** How many failures it went on after. */
  readonly warnings: number;
  /** The run whose step began it; null: none has. */
  readonly parent: { readonly runId: string; readonly stepId: string } | null;
  /** When it begins; null unless it is PENDING, and while it waits for a slot. */
  readonly startTime: Date | null;
  readonly concurrency: Concurrency | null;
}

/** How many runs of one key may be under way at the same time. */
export interface Concurrency {
  readonly key: string;
  readonly limit: number;
  readonly policy: keyof typeof ConcurrencyPolicy;
}

export interface Step {
  readonly id: string;
  readonly kind: keyof typeof StepKind;
  readonly state: keyof typeof StepState;
  readonly undoState: keyof typeof UndoState;
  /** In WAITING: what for, until `nextTime`. */
  readonly waitingOn: keyof typeof WaitingOn;
  /** Empty if it is of another kind. */
  readonly task: string;
  readonly queue: string;
  /** Of the signal that it waits for; empty if it is of another kind. */
  readonly signalName: string;
  /** Which way it is tried: 0 as defined, n by the n-th fallback. */
  readonly strategy: number;
  readonly attempt: number;
  /** Of an unknown outcome that is looked up: verifies so far that could not tell. */
  readonly verifies: number;
  /** So far, of an approval. */
  readonly approvals: number;
  readonly fence: number;
  readonly agentId: string;
  /** Since when its attempt is known to run far longer than others of the step. */
  readonly suspectTime: Date | null;
  readonly nextTime: Date | null;
  /** Absent while watching. */
  readonly output: unknown;
  readonly error: Failure | null;
  readonly needs: readonly string[];
  /** Of a `run` step: the run that it began last; empty: none. */
  readonly childRunId: string;
  /** How far the items of a map are; null: it is none, or has not begun. */
  readonly items: ItemCounts | null;
}

export interface ItemCounts {
  readonly total: number;
  readonly begun: number;
  /** Begun, and not ended. */
  readonly open: number;
  readonly succeeded: number;
  readonly failed: number;
  /** By a person. */
  readonly skipped: number;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly class: keyof typeof FailureClass;
}

const runStates = namesOf(RunState);
const runReasons = namesOf(RunReason);
const stepStates = namesOf(StepState);
const undoStates = namesOf(UndoState);
const stepKinds = namesOf(StepKind);
const waitingOns = namesOf(WaitingOn);
const failureClasses = namesOf(FailureClass);
const concurrencyPolicies = namesOf(ConcurrencyPolicy);

const finalStates: ReadonlySet<number> = new Set([
  RunState.COMPLETED,
  RunState.FAILED,
  RunState.COMPENSATED,
  RunState.CANCELLED,
]);

export function readRun(run: wire.Run): Run {
  return Object.freeze({
    runId: run.runId,
    namespace: run.namespace,
    key: run.key,
    workflow: run.workflow,
    workflowVersion: run.workflowVersion,
    state: runStates.get(run.state) ?? "UNSPECIFIED",
    reason: runReasons.get(run.reason) ?? "UNSPECIFIED",
    ended: finalStates.has(run.state),
    labels: run.labels,
    priority: run.priority,
    input: readPayload(run.input),
    createdTime: readTime(run.createdTime),
    endedTime: readTime(run.endedTime),
    deadlineTime: readTime(run.deadlineTime),
    version: run.version,
    cancelReason: run.cancelReason,
    warnings: run.warnings,
    startTime: readTime(run.startTime),
    concurrency: readConcurrency(run.concurrency),
    parent: run.parent ? { runId: run.parent.runId, stepId: run.parent.stepId } : null,
  });
}

function readConcurrency(concurrency: wire.Concurrency | undefined): Concurrency | null {
  if (concurrency === undefined) return null;
  const { key, limit, policy } = concurrency;
  return { key, limit, policy: concurrencyPolicies.get(policy) ?? "UNSPECIFIED" };
}

export function readStep(step: wire.Step): Step {
  return Object.freeze({
    id: step.id,
    kind: stepKinds.get(step.kind) ?? "UNSPECIFIED",
    state: stepStates.get(step.state) ?? "UNSPECIFIED",
    undoState: undoStates.get(step.undoState) ?? "UNSPECIFIED",
    waitingOn: waitingOns.get(step.waitingOn) ?? "UNSPECIFIED",
    task: step.task,
    queue: step.queue,
    signalName: step.signalName,
    strategy: step.strategy,
    attempt: step.attempt,
    verifies: step.verifies,
    approvals: step.approvals,
    fence: step.fence,
    agentId: step.agentId,
    suspectTime: readTime(step.suspectTime),
    nextTime: readTime(step.nextTime),
    output: readPayload(step.output),
    error: readFailure(step.error),
    needs: step.needs,
    items: step.items ? readItems(step.items) : null,
    childRunId: step.childRunId,
  });
}

function readItems({ total, begun, open, succeeded, failed, skipped }: wire.ItemCounts) {
  return Object.freeze({ total, begun, open, succeeded, failed, skipped });
}

export function readFailure(failure: wire.Failure | undefined): Failure | null {
  if (failure === undefined) return null;
  const { code, message } = failure;
  return { code, message, class: failureClasses.get(failure.failureClass) ?? "UNSPECIFIED" };
}

export function readTime(time: Timestamp | undefined): Date | null {
  return time === undefined ? null : timestampDate(time);
}

export function namesOf<T extends Readonly<Record<string, number>>>(
  values: T,
): ReadonlyMap<number, Extract<keyof T, string>> {
  const names = new Map<number, Extract<keyof T, string>>();
  for (const name in values) names.set(values[name] ?? 0, name);
  return names;
}
