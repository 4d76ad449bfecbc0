/** The history of a run, as programs read it; names and payloads as in runs.ts. */

import type * as wire from "@drover/proto/drover/v1/run_pb.ts";
import { AttemptSource, OutcomeKind, SettingSource } from "@drover/proto/drover/v1/run_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { readPayload } from "./payload.ts";
import { type Failure, namesOf, readFailure, readTime } from "./runs.ts";

export interface Attempt {
  readonly stepId: string;
  readonly kind: keyof typeof TaskKind;
  readonly fence: number;
  /** For a verify task: the number of the verify. */
  readonly attempt: number;
  /** Empty: no agent held it; the server itself ended the step. */
  readonly agentId: string;
  readonly startedTime: Date | null;
  readonly endedTime: Date | null;
  readonly outcome: keyof typeof OutcomeKind;
  readonly failure: Failure | null;
  readonly output: unknown;
  readonly late: boolean;
  /** What ended it. */
  readonly source: keyof typeof AttemptSource;
  /** Distinguishes attempts of one fence and kind: the number of a verify, else 0. */
  readonly n: number;
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
  /** Number within its run, as text. */
  readonly id: string;
  readonly runId: string;
  readonly workflow: string;
  /** Empty: the escalation concerns the run as a whole. */
  readonly stepId: string;
  readonly reason: string;
  /** The error code that led to it; empty: none. */
  readonly code: string;
  readonly message: string;
  /** Who has claimed it, as the caller stated it; empty: it is not claimed. */
  readonly claimedBy: string;
  readonly claimedTime: Date | null;
  /** When the step's `then` becomes the answer; null: there is no deadline. */
  readonly deadlineTime: Date | null;
  readonly openedTime: Date | null;
  readonly closedTime: Date | null;
  readonly closedBy: string;
  /** The answers that `escalations.resolve` accepts now. */
  readonly answers: readonly string[];
  /** null: no person has answered. */
  readonly answer: EscalationAnswer | null;
}

export interface EscalationAnswer {
  readonly answer: string;
  /** As the caller stated it. */
  readonly by: string;
  readonly byVerified: boolean;
  readonly why: string;
}

export interface ReceivedSignal {
  /** Number of the signal among the signals of the run, from 1. */
  readonly seq: number;
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  readonly receivedTime: Date | null;
  /** Id of the step that took it; empty: none has. */
  readonly takenBy: string;
}

/** A failure after which the run continued. */
export interface RunWarning {
  readonly stepId: string;
  readonly code: string;
  readonly message: string;
}

export interface Decision {
  readonly stepId: string;
  /** As the caller stated it. */
  readonly approver: string;
  readonly approverVerified: boolean;
  readonly approved: boolean;
  readonly comment: string;
  readonly form: unknown;
  readonly decidedTime: Date | null;
}

/** A setting with its effective value. */
export interface Setting {
  /** Empty: a setting of the run as a whole. */
  readonly stepId: string;
  /** Such as `timeouts.pickup` or `retry[0].attempts`. */
  readonly field: string;
  /** As in the text of a workflow: `5m`, `0.2`, `escalate`, or `off`. */
  readonly value: string;
  readonly source: keyof typeof SettingSource;
}

const taskKinds = namesOf(TaskKind);
const outcomeKinds = namesOf(OutcomeKind);
const attemptSources = namesOf(AttemptSource);
const settingSources = namesOf(SettingSource);

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
    source: attemptSources.get(attempt.source) ?? "UNSPECIFIED",
    n: attempt.n,
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
    runId: escalation.runId,
    workflow: escalation.workflow,
    stepId: escalation.stepId,
    reason: escalation.reason,
    code: escalation.code,
    message: escalation.message,
    claimedBy: escalation.claimedBy,
    claimedTime: readTime(escalation.claimedTime),
    deadlineTime: readTime(escalation.deadlineTime),
    openedTime: readTime(escalation.openedTime),
    closedTime: readTime(escalation.closedTime),
    closedBy: escalation.closedBy,
    answers: escalation.answers,
    answer: readAnswer(escalation.answer),
  });
}

function readAnswer(given: wire.EscalationAnswer | undefined): EscalationAnswer | null {
  if (given === undefined) return null;
  const { answer, by, byVerified, why } = given;
  return Object.freeze({ answer, by, byVerified, why });
}

export function readSignal(signal: wire.ReceivedSignal): ReceivedSignal {
  return Object.freeze({
    seq: signal.seq,
    id: signal.signalId,
    name: signal.name,
    payload: readPayload(signal.payload),
    receivedTime: readTime(signal.receivedTime),
    takenBy: signal.takenBy,
  });
}

export function readWarning({ stepId, code, message }: wire.RunWarning): RunWarning {
  return Object.freeze({ stepId, code, message });
}

export function readDecision(decision: wire.Decision): Decision {
  return Object.freeze({
    stepId: decision.stepId,
    approver: decision.approver,
    approverVerified: decision.approverVerified,
    approved: decision.approved,
    comment: decision.comment,
    form: readPayload(decision.form),
    decidedTime: readTime(decision.decidedTime),
  });
}

export function readSetting({ stepId, field, value, source }: wire.EffectiveSetting): Setting {
  const from = settingSources.get(source) ?? "UNSPECIFIED";
  return Object.freeze({ stepId, field, value, source: from });
}
