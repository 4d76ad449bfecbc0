/**
 * Runs, steps, escalations and approvals as tools answer them: the schema that a client is given,
 * and the function that makes the value. Times are texts of ISO 8601. A payload is its JSON as one
 * text; "": there is none.
 */
import type {
  Approval,
  Attempt,
  Escalation,
  Failure,
  Intervention,
  Run,
  RunWait,
  Step,
} from "@drover/sdk";
import { z } from "zod";

const text = z.string();
const time = z.string().nullable();
const payload = z.string().describe("JSON as text; empty: none");
const failureSchema = z.object({ code: text, message: text, class: text }).nullable();

export const runSchema = z.object({
  run_id: text,
  key: text,
  workflow: text,
  version: z.number().describe("0: the definition was sent with the request"),
  state: text,
  reason: text,
  ended: z.boolean(),
  does: z.array(text).describe("what steps of an open run do or wait for"),
  labels: z.record(z.string(), text),
  created_time: time,
  ended_time: time,
  deadline_time: time,
  summary: text.describe("how it ended"),
  warnings: z.number(),
  parent_run_id: text,
});

export function runView(run: Run): z.infer<typeof runSchema> {
  return {
    run_id: run.runId,
    key: run.key,
    workflow: run.workflow,
    version: run.workflowVersion,
    state: run.state,
    reason: run.reason,
    ended: run.ended,
    does: run.substates.map(({ substate }) => substate),
    labels: { ...run.labels },
    created_time: timeView(run.createdTime),
    ended_time: timeView(run.endedTime),
    deadline_time: timeView(run.deadlineTime),
    summary: run.summary,
    warnings: run.warnings,
    parent_run_id: run.parent?.runId ?? "",
  };
}

/** What a command to a run answers: show_run has the rest. */
export const stateSchema = z.object({ run_id: text, state: text, ended: z.boolean() });

export function stateView({ runId, state, ended }: Run): z.infer<typeof stateSchema> {
  return { run_id: runId, state, ended };
}

export const stepSchema = z.object({
  id: text,
  kind: text,
  state: text,
  undo_state: text,
  task: text,
  queue: text,
  needs: z.array(text),
  attempt: z.number(),
  waiting_on: text,
  next_time: time,
  signal_name: text,
  approvals: z.number(),
  child_run_id: text,
  output: payload,
  error: failureSchema,
});

export function stepView(step: Step): z.infer<typeof stepSchema> {
  return {
    id: step.id,
    kind: step.kind,
    state: step.state,
    undo_state: step.undoState,
    task: step.task,
    queue: step.queue,
    needs: [...step.needs],
    attempt: step.attempt,
    waiting_on: step.waitingOn,
    next_time: timeView(step.nextTime),
    signal_name: step.signalName,
    approvals: step.approvals,
    child_run_id: step.childRunId,
    output: payloadView(step.output),
    error: failureView(step.error),
  };
}

export const attemptSchema = z.object({
  step_id: text,
  kind: text,
  attempt: z.number(),
  agent_id: text,
  outcome: text,
  failure: failureSchema,
  late: z.boolean(),
  started_time: time,
  ended_time: time,
});

export function attemptView(attempt: Attempt): z.infer<typeof attemptSchema> {
  return {
    step_id: attempt.stepId,
    kind: attempt.kind,
    attempt: attempt.attempt,
    agent_id: attempt.agentId,
    outcome: attempt.outcome,
    failure: failureView(attempt.failure),
    late: attempt.late,
    started_time: timeView(attempt.startedTime),
    ended_time: timeView(attempt.endedTime),
  };
}

export const interventionSchema = z.object({
  step_id: text,
  rule: text,
  saw: text,
  did: text,
  acted_time: time,
});

export function interventionView(one: Intervention): z.infer<typeof interventionSchema> {
  const { stepId, rule, saw, did, actedTime } = one;
  return { step_id: stepId, rule, saw, did, acted_time: timeView(actedTime) };
}

export const escalationSchema = z.object({
  run_id: text,
  escalation: text.describe("number of the escalation in its run"),
  workflow: text,
  step_id: text.describe("empty: it concerns the run as a whole"),
  reason: text,
  code: text,
  message: text,
  opened_time: time,
  deadline_time: time,
  claimed_by: text,
  closed_time: time,
  answers: z.array(text).describe("what answer_escalation accepts now; empty in lists"),
});

export function escalationView(one: Escalation): z.infer<typeof escalationSchema> {
  return {
    run_id: one.runId,
    escalation: one.id,
    workflow: one.workflow,
    step_id: one.stepId,
    reason: one.reason,
    code: one.code,
    message: one.message,
    opened_time: timeView(one.openedTime),
    deadline_time: timeView(one.deadlineTime),
    claimed_by: one.claimedBy,
    closed_time: timeView(one.closedTime),
    answers: [...one.answers],
  };
}

export const approvalSchema = z.object({
  run_id: text,
  key: text,
  workflow: text,
  step_id: text,
  approvers: z.array(text).describe("names and roles of who may decide; empty: anyone"),
  not_requester: z.boolean(),
  need: z.number(),
  approved_by: z.array(text),
  form: payload,
  since_time: time,
  deadline_time: time,
});

export function approvalView(one: Approval): z.infer<typeof approvalSchema> {
  return {
    run_id: one.runId,
    key: one.key,
    workflow: one.workflow,
    step_id: one.stepId,
    approvers: [...one.approvers],
    not_requester: one.notRequester,
    need: one.need,
    approved_by: [...one.approvedBy],
    form: payloadView(one.form),
    since_time: timeView(one.sinceTime),
    deadline_time: timeView(one.deadlineTime),
  };
}

export const waitSchema = z.object({
  step_id: text.describe("empty: the run as a whole"),
  waiting_for: text,
  sentence: text,
  since_time: time,
  next: text.describe("what happens at next_time if nothing else happens before"),
  next_time: time,
  attempts: z.number(),
  last_failure: failureSchema,
  child_run_id: text,
  actions: z
    .array(
      z.object({
        kind: text,
        step_id: text,
        escalation: text,
        choices: z.array(text),
        signal_name: text,
        queue: text,
        task: text,
        approvers: z.array(text),
      }),
    )
    .describe("what a person can do"),
});

export function waitView(wait: RunWait): z.infer<typeof waitSchema> {
  return {
    step_id: wait.stepId,
    waiting_for: wait.waitingFor,
    sentence: wait.sentence,
    since_time: timeView(wait.sinceTime),
    next: wait.next,
    next_time: timeView(wait.nextTime),
    attempts: wait.tried?.attempts ?? 0,
    last_failure: failureView(wait.tried?.lastFailure ?? null),
    child_run_id: wait.child?.runId ?? "",
    actions: wait.actions.map((action) => ({
      kind: action.kind,
      step_id: action.stepId,
      escalation: action.escalationId,
      choices: [...action.choices],
      signal_name: action.signalName,
      queue: action.queue,
      task: action.task,
      approvers: [...action.approvers],
    })),
  };
}

export function timeView(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}

export function payloadView(value: unknown): string {
  if (value === undefined) return "";
  if (value instanceof Uint8Array) return `${value.length} bytes, which are no JSON`;
  return JSON.stringify(value);
}

function failureView(failure: Failure | null): z.infer<typeof failureSchema> {
  return failure && { code: failure.code, message: failure.message, class: failure.class };
}
