// Converts a run and its steps from the core and the store to protobuf. The history of a run is in
// convert-attempt.ts and convert-history.ts.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type RerunOfSchema,
  type Run,
  RunReason,
  RunSchema,
  RunState,
  RunSubstate,
  type Step,
  StepKind,
  StepSchema,
  StepState,
  UndoState,
  WaitingOn,
} from "@drover/proto/drover/v1/run_pb.ts";
import { endSentence, type NamedSteps } from "../../core/explain/end-sentence.ts";
import {
  type RunState as CoreRunState,
  type Step as CoreStep,
  currentFence,
  isEndKind,
  isMoving,
  movingSide,
  type Reason,
  type WaitingFor,
} from "../../core/model/model.ts";
import { type PublicStep, publicStep } from "../../core/model/public-state.ts";
import { itemOf, numberOf } from "../../core/model/step-key.ts";
import { WAIT_KINDS } from "../../core/model/waits.ts";
import { type Plan, type PlanStep, planStepAt } from "../../core/plan/plan.ts";
import { isUndoable } from "../../core/recovery/saga.ts";
import { childRunId } from "../../store/child-run.ts";
import type { SubstateFilter } from "../../store/lists.ts";
import { hasExpression } from "../../store/plans.ts";
import type {
  AttemptRecord,
  RerunOf,
  RunDetail,
  RunLiveness,
  RunRecord,
  RunSubstates,
} from "../../store/reads.ts";
import { payloadField } from "../calls/payload.ts";
import { timeField } from "../calls/time-field.ts";
import { failureOf } from "./convert-attempt.ts";
import { concurrencyMessage } from "./convert-concurrency.ts";

export const RUN_STATES: Readonly<Record<CoreRunState["kind"], RunState>> = Object.freeze({
  PENDING: RunState.PENDING,
  RUNNING: RunState.RUNNING,
  PAUSED: RunState.PAUSED,
  STOPPING: RunState.STOPPING,
  COMPENSATING: RunState.COMPENSATING,
  FINISHING: RunState.FINISHING,
  ESCALATED: RunState.ESCALATED,
  COMPLETED: RunState.COMPLETED,
  FAILED: RunState.FAILED,
  COMPENSATED: RunState.COMPENSATED,
  CANCELLED: RunState.CANCELLED,
});

const STATES = Object.keys(RUN_STATES) as CoreRunState["kind"][];
export const OPEN_STATES: readonly CoreRunState["kind"][] = STATES.filter(
  (kind) => !isEndKind(kind),
);
export const ENDED_STATES: readonly CoreRunState["kind"][] = STATES.filter(isEndKind);

const REASONS: Readonly<Record<Reason, RunReason>> = Object.freeze({
  DONE: RunReason.DONE,
  STEP_FAILED: RunReason.STEP_FAILED,
  TIMED_OUT: RunReason.TIMED_OUT,
  CANCELLED_BY_USER: RunReason.CANCELLED_BY_USER,
  NEVER_STARTED: RunReason.NEVER_STARTED,
  REFUSED: RunReason.REFUSED,
  CANCELLED_BY_NEWER: RunReason.CANCELLED_BY_NEWER,
});

export const STEP_STATES: Readonly<Record<PublicStep["state"], StepState>> = Object.freeze({
  BLOCKED: StepState.BLOCKED,
  READY: StepState.READY,
  LEASED: StepState.LEASED,
  BACKOFF: StepState.BACKOFF,
  WAITING: StepState.WAITING,
  VERIFYING: StepState.VERIFYING,
  ESCALATED: StepState.ESCALATED,
  SUCCEEDED: StepState.SUCCEEDED,
  FAILED: StepState.FAILED,
  SKIPPED: StepState.SKIPPED,
  CANCELLED: StepState.CANCELLED,
});

const UNDO_STATES: Readonly<Record<PublicStep["undo"], UndoState>> = Object.freeze({
  NONE: UndoState.NONE,
  PENDING: UndoState.PENDING,
  ACTIVE: UndoState.ACTIVE,
  DONE: UndoState.DONE,
  FAILED: UndoState.FAILED,
});

const STEP_KINDS: Readonly<Record<PlanStep["work"]["kind"], StepKind>> = Object.freeze({
  task: StepKind.TASK,
  wait: StepKind.WAIT,
  signal: StepKind.SIGNAL,
  approval: StepKind.APPROVAL,
  map: StepKind.MAP,
  run: StepKind.RUN,
});

const WAITING: Readonly<Record<WaitingFor, WaitingOn>> = Object.freeze({
  timer: WaitingOn.TIMER,
  signal: WaitingOn.SIGNAL,
  approval: WaitingOn.APPROVAL,
  callback: WaitingOn.CALLBACK,
  items: WaitingOn.ITEMS,
  child: WaitingOn.CHILD,
  "child-end": WaitingOn.CHILD_END,
});

/** `bodies`: whether inputs and outputs are included. `named`: names for the summary. */
interface Include {
  readonly bodies: boolean;
  readonly named?: NamedSteps;
}

export function runMessage(record: RunRecord, namespace: string, shown: Include): Run {
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
    ...timeField("endedTime", record.endedAt),
    ...timeField("deadlineTime", record.deadlineAt),
    ...timeField("startTime", record.startAt),
    ...(record.concurrency ? { concurrency: concurrencyMessage(record.concurrency) } : {}),
    version: BigInt(record.stateVersion),
    cancelReason: record.cancelNote ?? "",
    warnings: record.warnings,
    substates: substatesOf(record.substates),
    summary: endSentence(record, shown.named),
    ...(record.rerunOf ? { rerunOf: rerunOfField(record.rerunOf) } : {}),
    ...(record.parent ? { parent: { ...record.parent } } : {}),
  });
}

export const SUBSTATES: Readonly<Record<SubstateFilter, RunSubstate>> = Object.freeze({
  working: RunSubstate.WORKING,
  agent: RunSubstate.WAITING_FOR_AGENT,
  retry: RunSubstate.RETRYING,
  signal: RunSubstate.WAITING_FOR_SIGNAL,
  approval: RunSubstate.WAITING_FOR_APPROVAL,
  callback: RunSubstate.WAITING_FOR_CALLBACK,
  timer: RunSubstate.WAITING_FOR_TIMER,
  child: RunSubstate.WAITING_FOR_CHILD,
  held: RunSubstate.HELD,
});

function substatesOf({ waits, isWorking, waitsForAgent }: RunSubstates) {
  return [
    ...(isWorking ? [{ substate: RunSubstate.WORKING, steps: 0 }] : []),
    ...(waitsForAgent ? [{ substate: RunSubstate.WAITING_FOR_AGENT, steps: 0 }] : []),
    ...WAIT_KINDS.flatMap((kind) => {
      const steps = waits[kind] ?? 0;
      return steps === 0 ? [] : [{ substate: SUBSTATES[kind], steps }];
    }),
  ];
}

/** null: the substate is not known. */
export function substateFilter(substate: RunSubstate): SubstateFilter | null {
  return SUBSTATE_FILTERS.find((one) => SUBSTATES[one] === substate) ?? null;
}

const SUBSTATE_FILTERS: readonly SubstateFilter[] = ["working", "agent", ...WAIT_KINDS];

function rerunOfField({ runId, from }: RerunOf): MessageInitShape<typeof RerunOfSchema> {
  return from === null
    ? { runId, from: { case: "failed", value: true } }
    : { runId, from: { case: "stepId", value: from } };
}

/** The steps that the summary of an ended run names. */
export function namedSteps({ steps }: RunDetail, plan: Plan): NamedSteps {
  const named = (is: (step: CoreStep, planned: PlanStep) => boolean): readonly string[] =>
    plan.steps.flatMap((planned) => {
      const step = steps.get(planned.no);
      return step && is(step, planned) ? [planned.id] : [];
    });
  return {
    compensated: named(({ undo }) => undo.kind === "DONE"),
    left: named(
      (step, planned) =>
        step.undo.kind !== "DONE" && step.forward.kind === "SUCCEEDED" && isUndoable(planned, step),
    ),
  };
}

/** The steps in the order of the definition. A step that is in no page has not started. */
export function stepMessages(detail: RunDetail, plan: Plan, shown: Include): Step[] {
  const attempts = Map.groupBy(detail.attempts, (attempt) => attempt.step);
  return plan.steps.map((planned) => stepMessage(planned, { detail, plan, attempts, shown }));
}

/** A step, or an item of a map; null if the plan has no such step. */
export function stepMessageAt(
  detail: RunDetail,
  plan: Plan,
  stepKey: number,
  shown: Include,
): Step | null {
  const attempts = Map.groupBy(detail.attempts, (attempt) => attempt.step);
  const planned = planStepAt(plan, stepKey);
  return planned ? stepMessage(planned, { detail, plan, attempts, shown }) : null;
}

/**
 * The items in the detail, in the order of their list. `queues`: the queues of items that are
 * moving.
 */
export function itemMessages(
  detail: RunDetail,
  plan: Plan,
  map: number,
  shown: Include,
  queues: RunLiveness["queues"],
): Step[] {
  const attempts = Map.groupBy(detail.attempts, (attempt) => attempt.step);
  return [...detail.steps.keys()]
    .filter((stepKey) => itemOf(stepKey) > 0 && numberOf(stepKey) === map)
    .sort((a, b) => a - b)
    .flatMap((stepKey) => {
      const planned = planStepAt(plan, stepKey);
      return planned ? [stepMessage(planned, { detail, plan, attempts, shown, queues })] : [];
    });
}

interface StepContext {
  readonly detail: RunDetail;
  readonly plan: Plan;
  readonly attempts: ReadonlyMap<number, readonly AttemptRecord[]>;
  readonly shown: Include;
  readonly queues?: RunLiveness["queues"];
}

function stepMessage(planned: PlanStep, seen: StepContext): Step {
  const { detail, plan, attempts, shown, queues } = seen;
  const step = detail.steps.get(planned.no);
  const { state, undo } = publicStep(step, detail.state, planned.always);
  return create(StepSchema, {
    id: planned.id,
    kind: STEP_KINDS[planned.work.kind],
    needs: planned.needs.map((no) => plan.steps[no]?.id ?? ""),
    state: STEP_STATES[state],
    undoState: UNDO_STATES[undo],
    ...taskOf(planned, step, queues?.get(planned.no)),
    signalName: planned.work.kind === "signal" ? planned.work.name : "",
    approvals: approvalsOf(detail, planned.no),
    reusedFrom: detail.reused.get(planned.no) ?? "",
    childRunId: childOf(detail, planned, step),
    ...(step ? progressOf(step) : {}),
    ...(step ? resultOf(step, attempts.get(planned.no) ?? [], shown) : {}),
    ...(step?.items ? { items: step.items } : {}),
  });
}

/**
 * The id of the child run that the step began last. Compensations raise the fence of a step, too:
 * unless the step is waiting, the fence is that of its last attempt that the engine or an answer
 * has ended.
 */
function childOf(detail: RunDetail, { no, work }: PlanStep, step: CoreStep | undefined): string {
  if (work.kind !== "run" || !step || detail.reused.has(no)) return "";
  const last = detail.attempts.findLast(
    ({ step: of, kind }) => of === no && (kind === "engine" || kind === "answer"),
  );
  const fence = step.forward.kind === "WAITING" ? step.fence : (last?.fence ?? 0);
  return fence === 0 ? "" : childRunId(detail.run.runId, no, fence);
}

/**
 * Task and queue of the current strategy; `found` is the queue where its task is now. For a map:
 * those of its gate, while the gate's task is pending.
 */
function taskOf({ work }: PlanStep, step: CoreStep | undefined, found?: string) {
  if (work.kind === "map" && work.gate) {
    const moving = step && movingSide(step)?.state.kind;
    const { task, queue } = work.gate;
    return moving && moving !== "WAITING" ? { task, queue } : {};
  }
  if (work.kind !== "task") return {};
  const planned = step?.strategies.at(-1)?.planned ?? 0;
  const strategy = work.strategies[planned];
  const written = strategy?.queue ?? "";
  const queue = hasExpression(written) ? (found ?? "") : written;
  return { task: strategy?.task ?? "", queue, strategy: planned };
}

function approvalsOf(detail: RunDetail, no: number): number {
  return detail.decisions.filter(({ step, approved }) => step === no && approved).length;
}

function progressOf(step: CoreStep) {
  const moving = movingSide(step)?.state ?? null;
  const lease = moving?.kind === "LEASED" ? moving : null;
  return {
    attempt: lease && lease.task !== "verify" ? lease.attempt : step.attempt,
    fence: currentFence(step),
    agentId: lease?.agentId ?? "",
    waitingOn: waitingOn(step),
    verifies: step.unknownOutcome ? step.verifies : 0,
    ...timeField("nextTime", moving && moving.kind !== "HELD" ? moving.wakeAt : null),
    ...timeField("suspectTime", lease?.suspectAt ?? null),
  };
}

function waitingOn(step: CoreStep): WaitingOn {
  if (step.forward.kind === "MAPPING" || step.undo.kind === "MAPPING") return WaitingOn.ITEMS;
  const moving = movingSide(step)?.state;
  return moving?.kind === "WAITING" ? WAITING[moving.on] : WaitingOn.UNSPECIFIED;
}

function resultOf(step: CoreStep, attempts: readonly AttemptRecord[], shown: Include) {
  const failure = lastFailure(step, attempts);
  const { result } = step;
  const row = attempts.find(
    ({ fence, kind, n }) => fence === result?.fence && kind === result.kind && n === result.n,
  );
  const output =
    shown.bodies && step.forward.kind === "SUCCEEDED" && row?.outcome.kind === "success"
      ? row.outcome.output
      : null;
  return { ...payloadField("output", output), ...(failure ? { error: failure } : {}) };
}

/**
 * The failure of the compensation while it moves or has failed; else that of the step, until the
 * step succeeds.
 */
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
