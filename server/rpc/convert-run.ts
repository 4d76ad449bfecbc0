// A run and its history, from the core and the store to what people and programs see.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Escalation,
  EscalationSchema,
  type Intervention,
  InterventionSchema,
  type Run,
  RunReason,
  RunSchema,
  RunState,
  type Step,
  StepSchema,
  StepState,
  UndoState,
} from "@drover/proto/drover/v1/run_pb.ts";
import type { Plan, PlanStep } from "../core/definition.ts";
import {
  type RunState as CoreRunState,
  type Step as CoreStep,
  currentFence,
  type Forward,
  isMoving,
  movingSide,
  type Reason,
  type Undo,
} from "../core/model.ts";
import type {
  AttemptRecord,
  EscalationRecord,
  InterventionRecord,
  RunDetail,
  RunRecord,
} from "../store/reads.ts";
import { failureOf } from "./convert-attempt.ts";
import { payloadField } from "./payload.ts";

export const RUN_STATES: Readonly<Record<CoreRunState["kind"], RunState>> = Object.freeze({
  RUNNING: RunState.RUNNING,
  STOPPING: RunState.STOPPING,
  COMPENSATING: RunState.COMPENSATING,
  ESCALATED: RunState.ESCALATED,
  COMPLETED: RunState.COMPLETED,
  FAILED: RunState.FAILED,
  COMPENSATED: RunState.COMPENSATED,
  CANCELLED: RunState.CANCELLED,
});

const REASONS: Readonly<Record<Reason, RunReason>> = Object.freeze({
  DONE: RunReason.DONE,
  STEP_FAILED: RunReason.STEP_FAILED,
  TIMED_OUT: RunReason.TIMED_OUT,
  CANCELLED_BY_USER: RunReason.CANCELLED_BY_USER,
});

const STEP_STATES: Readonly<Record<Forward["kind"], StepState>> = Object.freeze({
  BLOCKED: StepState.BLOCKED,
  READY: StepState.READY,
  LEASED: StepState.LEASED,
  BACKOFF: StepState.BACKOFF,
  ESCALATED: StepState.ESCALATED,
  SUCCEEDED: StepState.SUCCEEDED,
  FAILED: StepState.FAILED,
  CANCELLED: StepState.CANCELLED,
});

/** `bodies`: whether inputs and outputs are shown. */
export interface Shown {
  readonly bodies: boolean;
}

export function runMessage(record: RunRecord, namespace: string, shown: Shown): Run {
  return create(RunSchema, {
    runId: record.runId,
    namespace,
    key: record.key ?? "",
    workflow: record.workflow,
    workflowVersion: record.version,
    state: RUN_STATES[record.state],
    reason: record.reason === null ? RunReason.UNSPECIFIED : REASONS[record.reason],
    labels: { ...record.labels },
    priority: record.priority,
    ...(shown.bodies ? payloadField("input", record.input) : {}),
    createdTime: timestampFromMs(record.createdAt),
    ...time("endedTime", record.endedAt),
    ...time("deadlineTime", record.deadlineAt),
    version: BigInt(record.stateVersion),
    cancelReason: record.cancelNote ?? "",
  });
}

/** The steps in the order of the definition. Those without a row have not begun to move. */
export function stepMessages(detail: RunDetail, plan: Plan, shown: Shown): Step[] {
  const attempts = Map.groupBy(detail.attempts, (attempt) => attempt.step);
  const stopped = detail.run.reason !== null;
  return plan.steps.map((planned) => {
    const step = detail.steps.get(planned.no);
    const needs = planned.needs.map((no) => plan.steps[no]?.id ?? "");
    const common = { id: planned.id, task: planned.task, queue: planned.queue, needs };
    return create(StepSchema, {
      ...common,
      state: stepState(step, stopped),
      undoState: undoState(step?.undo),
      ...(step ? progressOf(step) : {}),
      ...(step ? resultOf(step, attempts.get(planned.no) ?? [], shown) : {}),
    });
  });
}

/** A run with a verdict starts nothing forward any more: what still waits will not be done. */
function stepState(step: CoreStep | undefined, stopped: boolean): StepState {
  const kind = step?.forward.kind ?? "BLOCKED";
  return kind === "BLOCKED" && stopped ? StepState.CANCELLED : STEP_STATES[kind];
}

function undoState(undo: Undo | undefined): UndoState {
  if (undo === undefined || undo.kind === "NONE") return UndoState.NONE;
  if (isMoving(undo)) return UndoState.ACTIVE;
  if (undo.kind === "PENDING") return UndoState.PENDING;
  return undo.kind === "DONE" ? UndoState.DONE : UndoState.FAILED;
}

function progressOf(step: CoreStep) {
  const moving = movingSide(step)?.state ?? null;
  const lease = moving?.kind === "LEASED" ? moving : null;
  return {
    attempt: lease?.attempt ?? step.attempt,
    fence: currentFence(step),
    agentId: lease?.agentId ?? "",
    ...time("nextTime", moving?.wakeAt ?? null),
  };
}

function resultOf(step: CoreStep, attempts: readonly AttemptRecord[], shown: Shown) {
  const failure = lastFailure(step, attempts);
  const result = attempts.find(
    ({ fence, outcome }) => fence === step.resultFence && outcome.kind === "success",
  );
  const output =
    shown.bodies && step.forward.kind === "SUCCEEDED" && result?.outcome.kind === "success"
      ? result.outcome.output
      : null;
  return { ...payloadField("output", output), ...(failure ? { error: failure } : {}) };
}

/** Of the undo while that is on its way or has failed, else of the step until it succeeds. */
function lastFailure(step: CoreStep, attempts: readonly AttemptRecord[]) {
  const failed = attempts.filter(
    ({ outcome }) => outcome.kind === "failure" || outcome.kind === "unknown",
  );
  if (isMoving(step.undo) || step.undo.kind === "FAILED") {
    const ofUndo = failed.findLast(({ kind }) => kind === "compensate");
    if (ofUndo) return failureOf(ofUndo.outcome);
  }
  if (step.forward.kind === "SUCCEEDED") return null;
  const forward = failed.findLast(({ kind }) => kind === "perform" || kind === "engine");
  return forward ? failureOf(forward.outcome) : null;
}

export function interventionMessage(
  record: InterventionRecord,
  plan: Plan,
  attempts: readonly AttemptRecord[],
): Intervention {
  const about = attempts.find(({ step, fence }) => step === record.step && fence === record.fence);
  return create(InterventionSchema, {
    runId: record.runId,
    stepId: stepId(plan, record.step),
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
  });
}

export function escalationMessage(record: EscalationRecord, plan: Plan): Escalation {
  return create(EscalationSchema, {
    id: String(record.n),
    stepId: stepId(plan, record.step),
    reason: record.reason,
    message: record.message,
    openedTime: timestampFromMs(record.openedAt),
    ...time("closedTime", record.closedAt),
    closedBy: record.closedBy ?? "",
    answers: record.closedAt === null ? ["cancel"] : [],
  });
}

function stepId(plan: Plan, no: number | null): string {
  const step: PlanStep | undefined = no === null ? undefined : plan.steps[no];
  return step?.id ?? "";
}

function time<Name extends string>(name: Name, at: number | null) {
  type Field = { readonly [key in Name]?: ReturnType<typeof timestampFromMs> };
  return (at === null ? {} : { [name]: timestampFromMs(at) }) as Field;
}
