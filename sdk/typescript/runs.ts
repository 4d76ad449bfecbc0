/**
 * Runs as programs read them: names instead of numbers, Dates, and payloads as their values.
 *
 * A name that this SDK does not know, from a newer server, is read as UNSPECIFIED.
 */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type * as wire from "@drover/proto/drover/v1/run_pb.ts";
import {
  ConcurrencyPolicy,
  RunReason,
  RunState,
  RunSubstate,
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
  /** 0: the definition was sent with the request. */
  readonly workflowVersion: number;
  readonly state: keyof typeof RunState;
  readonly reason: keyof typeof RunReason;
  readonly ended: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly priority: number;
  /** Absent in lists and in `watchRun`. */
  readonly input: unknown;
  readonly createdTime: Date | null;
  readonly endedTime: Date | null;
  readonly deadlineTime: Date | null;
  readonly version: bigint;
  readonly cancelReason: string;
  /** Number of failures after which the run continued. */
  readonly warnings: number;
  /** How the run ended, in a sentence or two; empty while it is open, and after a plain success. */
  readonly summary: string;
  /** What steps of an open run do or wait for. */
  readonly substates: readonly RunSubstateCount[];
  /** The run and step that started it; null: it is not a child run. */
  readonly parent: { readonly runId: string; readonly stepId: string } | null;
  /** When it begins; null unless it is PENDING, and while it waits for a permit. */
  readonly startTime: Date | null;
  readonly concurrency: Concurrency | null;
}

/** What steps of a run do or wait for, and how many. */
export interface RunSubstateCount {
  readonly substate: keyof typeof RunSubstate;
  /** 0 for WORKING and WAITING_FOR_AGENT, whose steps are not counted. */
  readonly steps: number;
}

/** How many runs of one key may be in progress at the same time. */
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
  /** In WAITING: what the step waits for, until `nextTime`. */
  readonly waitingOn: keyof typeof WaitingOn;
  /** Empty for other kinds of steps. */
  readonly task: string;
  readonly queue: string;
  /** Name of the signal for which it waits; empty for other kinds of steps. */
  readonly signalName: string;
  /** Current strategy: 0 is the step as defined, n its n-th fallback. */
  readonly strategy: number;
  readonly attempt: number;
  /** While verify tasks resolve an unknown outcome: how many of them did not find out so far. */
  readonly verifies: number;
  /** For an approval: number of approvals so far. */
  readonly approvals: number;
  readonly fence: number;
  readonly agentId: string;
  /** Since when its attempt is suspect: it runs far longer than other attempts of the step did. */
  readonly suspectTime: Date | null;
  readonly nextTime: Date | null;
  /** Absent in `watchRun`. */
  readonly output: unknown;
  readonly error: Failure | null;
  readonly needs: readonly string[];
  /** For a `run` step: the run that it started last; empty: none. */
  readonly childRunId: string;
  /** Progress of the items of a map; null: the step is not a map, or has not started. */
  readonly items: ItemCounts | null;
}

export interface ItemCounts {
  readonly total: number;
  readonly started: number;
  /** Items that have started and not ended. */
  readonly open: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Items that a person skipped. */
  readonly skipped: number;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly class: keyof typeof FailureClass;
}

const runStates = namesOf(RunState);
const runReasons = namesOf(RunReason);
const runSubstates = namesOf(RunSubstate);
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
    summary: run.summary,
    substates: run.substates.map(({ substate, steps }) => {
      return { substate: runSubstates.get(substate) ?? "UNSPECIFIED", steps };
    }),
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

function readItems({ total, started, open, succeeded, failed, skipped }: wire.ItemCounts) {
  return Object.freeze({ total, started, open, succeeded, failed, skipped });
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
