// The plan that the rules use: a definition with every default filled in, steps numbered, needs and
// successors as numbers. It is derived from the stored definition and never stored. Defaults are
// part of the contract and never change, so a run keeps what it started with
// (docs/ARCHITECTURE.md).
import type {
  ApprovalExpiry,
  CompensateDefinition,
  DeadlineAnswer,
  Definition,
  Effects,
  EscalationDefinition,
  GateDefinition,
  MapWork,
  OnFailure,
  OnPickup,
  RetryPolicy,
  RunIf,
  RunWork,
  SignalExpiry,
  StepDefinition,
  StepRules,
  TaskWork,
  Timeouts,
} from "../definition/definition.ts";
import type { TaskKind } from "../model/attempt.ts";
import type { Payload } from "../model/payload.ts";
import { itemOf, numberOf } from "../model/step-key.ts";
import { itemName } from "./item-name.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const RUN_TIMEOUT_MS = 7 * DAY;
export const DEFAULT_QUEUE = "default";
/** Shortest silence that ends a lease: agents send heartbeats at a third of it. */
export const HEARTBEAT_MS_MIN = 2 * SECOND;
/** Losses in a row of one strategy after which the task counts as poison. */
export const LOSSES_IN_A_ROW_MAX = 3;
/** How often in a row a task may be claimed and not arrive; then a person is asked. */
export const UNDELIVERED_IN_A_ROW_MAX = 10;
/** How often of these it is ready again at once: polls are lost now and then. */
export const UNDELIVERED_AT_ONCE_MAX = 2;
/** How long a lost task that is retried avoids the session that lost it. */
export const AVOID_SESSION_MS = 2 * SECOND;
/** How long a lane counts as polled after a poll, unless the server sets another time. */
export const POLLED_MS = MINUTE;

export const RETRY_DEFAULT: RetryPolicy = Object.freeze({
  on: [],
  attempts: 5,
  initialMs: SECOND,
  factor: 2,
  maxMs: MINUTE,
  jitter: 0.2,
});

export const UNDO_RETRY_DEFAULT: RetryPolicy = Object.freeze({
  ...RETRY_DEFAULT,
  attempts: 10,
  maxMs: 5 * MINUTE,
});

const VERIFY_RETRY_DEFAULT: RetryPolicy = RETRY_DEFAULT;

export const TIMEOUTS_DEFAULT: Omit<Timeouts, "settleMs"> = Object.freeze({
  pickupMs: 5 * MINUTE,
  attemptMs: 15 * MINUTE,
  heartbeatMs: 30 * SECOND,
  totalMs: DAY,
  stallMs: null,
  callbackMs: DAY,
  cancelMs: 10 * SECOND,
});

/** Default time for which a step waits for a signal or an approval. */
export const WAIT_FOR_PEOPLE_MS = 7 * DAY;

/** Default number of items of a map that are open at the same time. */
const MAP_CONCURRENCY = 100;

/** Default time between two reminders of an escalation. */
const REMIND_MS = HOUR;

const SETTLE_MS_MIN = 5 * SECOND;

/** The properties of a task that its lane and its lease need. */
export interface PlanTask {
  readonly task: string;
  readonly queue: string;
  readonly retry: readonly RetryPolicy[];
  readonly timeouts: Timeouts;
}

/** A way to try a step: as defined, or a fallback. */
interface PlanStrategy extends PlanTask {
  /** Merged over the step's input; null: the input stays. */
  readonly input: Payload | null;
}

/** A share of a map's items. */
export type Share =
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "percent"; readonly percent: number };

/** The task that decides whether the next wave of a map may begin. */
interface PlanGate extends PlanTask {
  /** null: the counts of the map so far. */
  readonly input: Payload | null;
}

export type PlanWork =
  /** The first strategy is the step as defined, the others are its fallbacks, in order. */
  | { readonly kind: "task"; readonly strategies: readonly PlanStrategy[] }
  | { readonly kind: "wait"; readonly forMs: number | null; readonly until: string | null }
  | {
      readonly kind: "signal";
      readonly name: string;
      readonly withinMs: number;
      readonly onExpiry: SignalExpiry;
    }
  | {
      readonly kind: "approval";
      readonly approvers: readonly string[];
      readonly need: number;
      readonly notRequester: boolean;
      readonly form: Payload | null;
      readonly withinMs: number;
      readonly onExpiry: ApprovalExpiry;
    }
  | {
      readonly kind: "map";
      readonly over: string;
      readonly concurrency: number;
      /** How many items may fail. */
      readonly tolerate: Share;
      /** null: all items in one wave. */
      readonly waves: { readonly size: Share; readonly pauseMs: number } | null;
      readonly gate: PlanGate | null;
      /** The plan of each item. It has no needs and no successors: its map counts it. */
      readonly item: PlanStep;
    }
  /** As for a task: the first strategy as defined, the others are fallbacks. */
  | { readonly kind: "run"; readonly strategies: readonly PlanChild[] };

/** A child run, and its retry policies. */
export interface PlanChild {
  readonly workflow: string;
  /** 0: the default version when it begins. */
  readonly version: number;
  readonly retry: readonly RetryPolicy[];
}

/** Reminders of a step's escalations, and the answer that follows after their deadline. */
interface PlanEscalation {
  readonly remindMs: number;
  readonly deadline: { readonly afterMs: number; readonly answer: DeadlineAnswer } | null;
}

export interface PlanStep {
  readonly no: number;
  readonly id: string;
  readonly needs: readonly number[];
  readonly successors: readonly number[];
  /**
   * Steps that the end of this one may open at once: its successors, and theirs if a successor may
   * be skipped or have its signal already.
   */
  readonly reach: readonly number[];
  readonly work: PlanWork;
  readonly input: Payload | null;
  readonly timeouts: Timeouts;
  readonly effects: Effects;
  readonly verify: PlanTask | null;
  readonly compensate: (PlanTask & { readonly when: "finished" | "attempted" }) | null;
  /** null: decided when the step fails. */
  readonly onFailure: OnFailure | null;
  readonly onPickup: OnPickup;
  readonly escalation: PlanEscalation;
  readonly runIf: RunIf;
  readonly when: string | null;
  readonly always: boolean;
  readonly pivot: boolean;
  readonly outputSchema: Payload | null;
  /** Lines that handlers log of its tasks may be stored. */
  readonly storesLogs: boolean;
}

export interface Plan {
  readonly workflow: string;
  readonly timeoutMs: number;
  readonly inputSchema: Payload | null;
  readonly steps: readonly PlanStep[];
  /** Numbers of the steps that are maps. */
  readonly maps: readonly number[];
  /** A step waits for a signal, so early signals have to be loaded. */
  readonly hasSignals: boolean;
}

/** The plan of a definition for which `definitionProblems` found no problem. */
export function planOf(definition: Definition): Plan {
  const numbers = new Map(definition.steps.map((step, no) => [step.id, no]));
  const needs = definition.steps.map((step) =>
    step.needs.map((id) => {
      const no = numbers.get(id);
      if (no === undefined) throw new Error(`step ${step.id} needs ${id}, which is no step`);
      return no;
    }),
  );
  const successors = needs.map((_, no) =>
    needs.flatMap((of, successor) => (of.includes(no) ? [successor] : [])),
  );
  const reach = reachOf(definition, needs, successors);
  const steps = definition.steps.map((step, no) =>
    planStepOf(step, no, {
      needs: needs[no] ?? [],
      successors: successors[no] ?? [],
      reach: reach[no] ?? [],
    }),
  );
  return {
    workflow: definition.workflow,
    timeoutMs: definition.timeoutMs ?? RUN_TIMEOUT_MS,
    inputSchema: definition.inputSchema ?? null,
    steps,
    maps: steps.flatMap(({ no, work }) => (work.kind === "map" ? [no] : [])),
    hasSignals: steps.some(({ work }) => work.kind === "signal"),
  };
}

function planStepOf(
  step: StepDefinition,
  no: number,
  graph: Pick<PlanStep, "needs" | "successors" | "reach">,
): PlanStep {
  const task: PlanStep = {
    no,
    id: step.id,
    ...graph,
    work: workOf(step),
    input: step.input ?? null,
    timeouts: timeoutsOf(step.timeouts),
    effects: step.effects ?? "idempotent",
    verify: step.verify
      ? planTask({ ...queueOf(step), ...step.verify }, VERIFY_RETRY_DEFAULT)
      : null,
    compensate: step.compensate ? planUndo(step, step.compensate) : null,
    onFailure: step.onFailure ?? null,
    onPickup: step.onPickup ?? "alarm",
    escalation: planEscalation(step.escalation),
    runIf: step.runIf ?? "ended",
    when: step.when ?? null,
    always: step.always ?? false,
    pivot: step.pivot ?? false,
    outputSchema: step.outputSchema ?? null,
    storesLogs: step.logs !== "off",
  };
  return step.kind === "map" ? planMap(step, task) : task;
}

/**
 * `task`: the step as if it were a task. Its task settings apply to each item; the step itself is
 * its gate, if it has one. A failed item escalates if the step says so; else only too many failed
 * items fail the step.
 */
function planMap(step: StepRules & MapWork, task: PlanStep): PlanStep {
  const escalates = task.onFailure === "escalate";
  const item: PlanStep = {
    ...task,
    needs: [],
    successors: [],
    reach: [],
    when: null,
    runIf: "ended",
    pivot: false,
    onFailure: escalates ? "escalate" : null,
  };
  const { waves } = step;
  const gate = waves?.gate ? planGate(waves.gate) : null;
  return {
    ...task,
    work: {
      kind: "map",
      over: step.over,
      concurrency: step.concurrency ?? MAP_CONCURRENCY,
      tolerate: shareOf(step.tolerate ?? 0, step.toleratePercent),
      waves: waves
        ? { size: shareOf(waves.size ?? 1, waves.percent), pauseMs: waves.pauseMs ?? 0 }
        : null,
      gate,
      item,
    },
    timeouts: gate?.timeouts ?? task.timeouts,
    effects: "idempotent",
    verify: null,
    compensate: null,
    onPickup: "alarm",
    onFailure: escalates ? null : task.onFailure,
    outputSchema: null,
  };
}

function shareOf(count: number, percent: number | undefined): Share {
  return percent === undefined ? { kind: "count", count } : { kind: "percent", percent };
}

function planGate(gate: GateDefinition): PlanGate {
  return { ...planTask(gate, RETRY_DEFAULT), input: gate.input ?? null };
}

function planEscalation({
  remindMs = REMIND_MS,
  deadlineMs: afterMs,
  answer,
}: EscalationDefinition = {}): PlanEscalation {
  return { remindMs, deadline: afterMs === undefined || !answer ? null : { afterMs, answer } };
}

function workOf(step: StepDefinition): PlanWork {
  switch (step.kind) {
    case "wait":
      return { kind: "wait", forMs: step.forMs ?? null, until: step.until ?? null };
    case "signal":
      return {
        kind: "signal",
        name: step.name,
        withinMs: step.withinMs ?? WAIT_FOR_PEOPLE_MS,
        onExpiry: step.onExpiry ?? "escalate",
      };
    case "approval":
      return {
        kind: "approval",
        approvers: step.approvers,
        need: step.need ?? 1,
        notRequester: step.notRequester ?? false,
        form: step.form ?? null,
        withinMs: step.withinMs ?? WAIT_FOR_PEOPLE_MS,
        onExpiry: step.onExpiry ?? "escalate",
      };
    case "run":
      return { kind: "run", strategies: childrenOf(step) };
    default:
      return { kind: "task", strategies: strategiesOf(step) };
  }
}

/** A child is tried again only if a policy names the code: it has tried everything itself. */
function childrenOf(step: RunWork & Pick<StepDefinition, "retry" | "fallback">) {
  const retry = (step.retry ?? []).map((policy) => ({ ...RETRY_DEFAULT, ...policy }));
  const first: PlanChild = { workflow: step.workflow, version: step.version ?? 0, retry };
  const others = (step.fallback ?? []).map(
    ({ workflow, version }): PlanChild => ({
      ...(workflow === undefined ? first : { workflow, version: version ?? 0 }),
      retry,
    }),
  );
  return [first, ...others];
}

function strategiesOf(
  step: Pick<TaskWork, "task" | "queue"> & Pick<StepRules, "retry" | "timeouts" | "fallback">,
): readonly PlanStrategy[] {
  const first = { ...planTask(step, RETRY_DEFAULT), input: null };
  const others = (step.fallback ?? []).map((fallback) => ({
    ...first,
    task: fallback.task ?? first.task,
    queue: fallback.queue ?? first.queue,
    input: fallback.input ?? null,
  }));
  return [first, ...others];
}

/** Verify and undo use the queue of their step unless they name another. */
function queueOf(step: StepDefinition): { readonly queue?: string } {
  const queue = "queue" in step ? step.queue : undefined;
  return queue === undefined ? {} : { queue };
}

function planUndo(step: StepDefinition, undo: CompensateDefinition) {
  const task = planTask({ ...queueOf(step), ...undo }, UNDO_RETRY_DEFAULT);
  return { ...task, when: undo.when ?? "finished" };
}

function planTask(
  source: Pick<TaskWork, "task" | "queue"> & Pick<StepDefinition, "retry" | "timeouts">,
  retryDefault: RetryPolicy,
): PlanTask {
  return {
    task: source.task,
    queue: source.queue ?? DEFAULT_QUEUE,
    retry: source.retry?.map((policy) => ({ ...retryDefault, ...policy })) ?? [retryDefault],
    timeouts: timeoutsOf(source.timeouts),
  };
}

function timeoutsOf(given: Partial<Timeouts> = {}): Timeouts {
  const timeouts = { ...TIMEOUTS_DEFAULT, ...given };
  const settleMs = given.settleMs ?? Math.max(timeouts.heartbeatMs, SETTLE_MS_MIN);
  return { ...timeouts, settleMs, totalMs: totalOf(given) };
}

/** The default of `total` allows one try to take all of the times that the step gives it. */
export function totalOf(given: Partial<Timeouts>): number {
  const attemptMs = given.attemptMs ?? TIMEOUTS_DEFAULT.attemptMs;
  const oneTryMs = (given.pickupMs ?? 0) + attemptMs + (given.callbackMs ?? 0);
  return given.totalMs ?? Math.max(TIMEOUTS_DEFAULT.totalMs, oneTryMs);
}

/** The plan of a step, or of an item of a map. The id of an item contains its index. */
export function planStepAt(plan: Plan, stepKey: number): PlanStep | undefined {
  const step = plan.steps[numberOf(stepKey)];
  const item = itemOf(stepKey);
  if (!step || item === 0) return step;
  if (step.work.kind !== "map") return undefined;
  return { ...step.work.item, no: stepKey, id: itemName(step.id, item - 1) };
}

/** The task of a step, of the `planned` strategy. The task of a map itself is its gate. */
export function plannedTask(
  { id, work, verify, compensate }: PlanStep,
  task: TaskKind,
  planned: number,
): PlanTask {
  const ways = { perform: performed(work, planned), verify, compensate };
  const found = ways[task];
  if (!found) throw new Error(`step ${id} has no task to ${task}`);
  return found;
}

function performed(work: PlanWork, planned: number): PlanTask | null {
  if (work.kind === "map") return work.gate;
  return work.kind === "task" ? (work.strategies[planned] ?? null) : null;
}

/** The id of a step or an item, for a person; null: the run as a whole. */
export function nameAt(plan: Plan, stepKey: number | null): string {
  return stepKey === null ? "" : (planStepAt(plan, stepKey)?.id ?? "");
}

/**
 * By number of the step: which steps its end may open at once. These are its successors, and theirs
 * if a successor may be skipped or have its signal already. A pass loads these steps, so no other
 * code may decide which steps can end at once.
 */
function reachOf(
  definition: Definition,
  needs: readonly (readonly number[])[],
  successors: readonly (readonly number[])[],
): readonly (readonly number[])[] {
  // A signal may have come early, so a step that waits for one may end at once.
  const known = new Map<number, boolean>();
  const mayPassAtOnce = (no: number): boolean => {
    const before = known.get(no);
    if (before !== undefined) return before;
    const step = definition.steps[no];
    const of = needs[no] ?? [];
    const may =
      step?.when !== undefined ||
      (step?.runIf ?? "ended") !== "ended" ||
      step?.kind === "signal" ||
      // Its other needs may have been skipped before, by a rule or by a person's answer.
      of.some(mayPassAtOnce);
    known.set(no, may);
    return may;
  };
  return successors.map((of) => {
    const reached = new Set<number>();
    const open = [...of];
    for (let no = open.pop(); no !== undefined; no = open.pop()) {
      if (reached.has(no)) continue;
      reached.add(no);
      if (mayPassAtOnce(no)) open.push(...(successors[no] ?? []));
    }
    return [...reached].sort((a, b) => a - b);
  });
}
