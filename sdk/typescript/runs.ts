/**
 * Runs as programs read them: names instead of numbers, Dates, and payloads as their values.
 *
 * A name that this SDK does not know, from a newer server, reads UNSPECIFIED.
 */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type * as wire from "@drover/proto/drover/v1/run_pb.ts";
import {
  OutcomeKind,
  RunReason,
  RunState,
  StepState,
  UndoState,
} from "@drover/proto/drover/v1/run_pb.ts";
import { FailureClass, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
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
}

export interface Step {
  readonly id: string;
  readonly state: keyof typeof StepState;
  readonly undoState: keyof typeof UndoState;
  readonly task: string;
  readonly queue: string;
  readonly attempt: number;
  readonly fence: number;
  readonly agentId: string;
  readonly nextTime: Date | null;
  /** Absent while watching. */
  readonly output: unknown;
  readonly error: Failure | null;
  readonly needs: readonly string[];
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly class: keyof typeof FailureClass;
}

export interface Attempt {
  readonly stepId: string;
  readonly kind: keyof typeof TaskKind;
  readonly fence: number;
  readonly attempt: number;
  readonly agentId: string;
  readonly startedTime: Date | null;
  readonly endedTime: Date | null;
  readonly outcome: keyof typeof OutcomeKind;
  readonly failure: Failure | null;
  readonly output: unknown;
  readonly late: boolean;
}

export interface Intervention {
  readonly stepId: string;
  readonly rule: string;
  readonly saw: string;
  readonly did: string;
  readonly dueTime: Date | null;
  readonly actedTime: Date | null;
  readonly supervisor: string;
  readonly partition: number;
  readonly epoch: bigint;
  readonly fence: number;
  readonly attempt: number;
}

export interface Escalation {
  readonly id: string;
  readonly stepId: string;
  readonly reason: string;
  readonly message: string;
  readonly openedTime: Date | null;
  readonly closedTime: Date | null;
  readonly closedBy: string;
  readonly answers: readonly string[];
}

const runStates = namesOf(RunState);
const runReasons = namesOf(RunReason);
const stepStates = namesOf(StepState);
const undoStates = namesOf(UndoState);
const taskKinds = namesOf(TaskKind);
const outcomeKinds = namesOf(OutcomeKind);
const failureClasses = namesOf(FailureClass);

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
  });
}

export function readStep(step: wire.Step): Step {
  return Object.freeze({
    id: step.id,
    state: stepStates.get(step.state) ?? "UNSPECIFIED",
    undoState: undoStates.get(step.undoState) ?? "UNSPECIFIED",
    task: step.task,
    queue: step.queue,
    attempt: step.attempt,
    fence: step.fence,
    agentId: step.agentId,
    nextTime: readTime(step.nextTime),
    output: readPayload(step.output),
    error: readFailure(step.error),
    needs: step.needs,
  });
}

export function readAttempt(attempt: wire.Attempt): Attempt {
  return Object.freeze({
    stepId: attempt.stepId,
    kind: taskKinds.get(attempt.kind) ?? "UNSPECIFIED",
    fence: attempt.fence,
    attempt: attempt.attempt,
    agentId: attempt.agentId,
    startedTime: readTime(attempt.startedTime),
    endedTime: readTime(attempt.endedTime),
    outcome: outcomeKinds.get(attempt.outcome) ?? "UNSPECIFIED",
    failure: readFailure(attempt.failure),
    output: readPayload(attempt.output),
    late: attempt.late,
  });
}

export function readIntervention(intervention: wire.Intervention): Intervention {
  return Object.freeze({
    stepId: intervention.stepId,
    rule: intervention.rule,
    saw: intervention.saw,
    did: intervention.did,
    dueTime: readTime(intervention.dueTime),
    actedTime: readTime(intervention.actedTime),
    supervisor: intervention.supervisor,
    partition: intervention.partition,
    epoch: intervention.epoch,
    fence: intervention.fence,
    attempt: intervention.attempt,
  });
}

export function readEscalation(escalation: wire.Escalation): Escalation {
  return Object.freeze({
    id: escalation.id,
    stepId: escalation.stepId,
    reason: escalation.reason,
    message: escalation.message,
    openedTime: readTime(escalation.openedTime),
    closedTime: readTime(escalation.closedTime),
    closedBy: escalation.closedBy,
    answers: escalation.answers,
  });
}

function readFailure(failure: wire.Failure | undefined): Failure | null {
  if (failure === undefined) return null;
  const { code, message } = failure;
  return { code, message, class: failureClasses.get(failure.failureClass) ?? "UNSPECIFIED" };
}

function readTime(time: Timestamp | undefined): Date | null {
  return time === undefined ? null : timestampDate(time);
}

function namesOf<T extends Readonly<Record<string, number>>>(
  values: T,
): ReadonlyMap<number, Extract<keyof T, string>> {
  const names = new Map<number, Extract<keyof T, string>>();
  for (const name in values) names.set(values[name] ?? 0, name);
  return names;
}
