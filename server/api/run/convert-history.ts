// The history of a run besides its attempts: interventions, escalations with their answers, signals
// and decisions. Names of people are what callers stated, and are marked as unverified.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Decision,
  DecisionSchema,
  type Escalation,
  EscalationSchema,
  type Intervention,
  InterventionSchema,
  type ReceivedSignal,
  ReceivedSignalSchema,
  type RunWarning,
  RunWarningSchema,
} from "@drover/proto/drover/v1/run_pb.ts";
import { warningsOf } from "../../core/explain/warnings.ts";
import type { AnswerKind } from "../../core/model/history.ts";
import { nameAt, type Plan, planStepAt } from "../../core/plan/plan.ts";
import { answersNow, askedWork } from "../../core/recovery/answers.ts";
import type {
  AttemptRecord,
  DecisionRecord,
  EscalationRecord,
  InterventionRecord,
  RunDetail,
  RunRecord,
  SignalRecord,
} from "../../store/reads.ts";
import { payloadField } from "../calls/payload.ts";
import { timeField } from "../calls/time-field.ts";

export function interventionMessage(
  record: InterventionRecord,
  plan: Plan,
  attempts: readonly AttemptRecord[],
): Intervention {
  const about = attempts.find(({ step, fence }) => step === record.step && fence === record.fence);
  return create(InterventionSchema, {
    runId: record.runId,
    stepId: nameAt(plan, record.step),
    rule: record.rule,
    saw: record.saw,
    did: record.did,
    dueTime: timestampFromMs(record.dueAt),
    actedTime: timestampFromMs(record.actedAt),
    supervisor: record.node ?? "",
    partition: record.partition,
    epoch: BigInt(record.epoch ?? 0),
    fence: record.fence,
    attempt: about?.attempt ?? 0,
    workflow: plan.workflow,
  });
}

/** `detail` null: the allowed answers are left out. */
export function escalationMessage(
  record: EscalationRecord,
  plan: Plan,
  run: Pick<RunRecord, "runId" | "workflow">,
  detail: RunDetail | null,
): Escalation {
  const { answer } = record;
  return create(EscalationSchema, {
    id: String(record.n),
    runId: run.runId,
    workflow: run.workflow,
    stepId: nameAt(plan, record.step),
    reason: record.reason,
    message: record.message,
    openedTime: timestampFromMs(record.openedAt),
    ...timeField("closedTime", record.closedAt),
    closedBy: record.closedBy ?? "",
    claimedBy: record.claim?.by ?? "",
    ...timeField("deadlineTime", record.deadlineAt),
    ...timeField("claimedTime", record.claim?.at ?? null),
    code: record.code,
    answers: detail === null ? [] : [...answersTo(record, plan, detail)],
    ...(answer === null ? {} : { answer: answerMessage(answer) }),
  });
}

function answerMessage({ verified, ...answer }: NonNullable<EscalationRecord["answer"]>) {
  return { ...answer, byVerified: verified };
}

/** The answers that ResolveEscalation accepts in the current state. */
export function answersTo(
  { closedAt, step, reason }: EscalationRecord,
  plan: Plan,
  { state, pivoted, steps }: Pick<RunDetail, "state" | "pivoted" | "steps">,
): readonly AnswerKind[] {
  if (closedAt !== null) return [];
  const work = askedWork(planStepAt(plan, step), steps.get(step));
  return answersNow(reason, { state, pivoted, work });
}

export function signalMessage(record: SignalRecord, plan: Plan): ReceivedSignal {
  return create(ReceivedSignalSchema, {
    seq: record.seq,
    signalId: record.id,
    name: record.name,
    ...payloadField("payload", record.payload),
    receivedTime: timestampFromMs(record.at),
    takenBy: nameAt(plan, record.takenBy),
  });
}

export function decisionMessage(record: DecisionRecord, plan: Plan): Decision {
  return create(DecisionSchema, {
    stepId: nameAt(plan, record.step),
    approver: record.approver,
    approverVerified: record.verified,
    approved: record.approved,
    comment: record.comment,
    ...payloadField("form", record.form),
    decidedTime: timestampFromMs(record.at),
  });
}

/**
 * Computed from the steps and their attempts, so the detail must have these whatever the request
 * includes.
 */
export function warningMessages(detail: RunDetail, plan: Plan): RunWarning[] {
  return warningsOf(plan, detail).map(({ step, code, message }) =>
    create(RunWarningSchema, { stepId: nameAt(plan, step), code, message }),
  );
}
