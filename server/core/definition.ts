// A workflow definition as its author wrote it, and the plan that the rules work with.
//
//   Definition   what was registered or sent inline: only what was said, durations in milliseconds
//   Plan         the same with every default filled in, steps numbered, needs and successors as
//                numbers
//
// A definition is stored; a plan is derived from it and never stored, so a run keeps what it
// started with. Defaults are part of the contract and never change (docs/ARCHITECTURE.md).
import type { Payload } from "./payload.ts";

export interface RetryPolicy {
  /** Error codes that this policy answers; empty answers every code. */
  readonly on: readonly string[];
  /** Tries of one strategy under this policy, the first included. */
  readonly attempts: number;
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** Share of the backoff that is drawn at random, 0 to 1: 0.2 is 80 % to 120 %. */
  readonly jitter: number;
}

export interface Timeouts {
  /** READY without a taker for so long is looked at. */
  readonly pickupMs: number;
  /** One attempt from its grant. */
  readonly attemptMs: number;
  /** Silence of the agent that ends a lease. */
  readonly heartbeatMs: number;
  /** All strategies and retries of a step from its first READY. */
  readonly totalMs: number;
  /** From the beat that told the agent to stop until its lease ends. */
  readonly cancelMs: number;
  /** From the end of a lost lease until anything that could meet its late effect may start. */
  readonly settleMs: number;
}

export interface CompensateDefinition {
  readonly task: string;
  readonly queue?: string;
  readonly retry?: readonly Partial<RetryPolicy>[];
  readonly timeouts?: Partial<Timeouts>;
}

export interface StepDefinition {
  readonly id: string;
  readonly needs: readonly string[];
  readonly task: string;
  readonly queue?: string;
  readonly input?: Payload;
  readonly retry?: readonly Partial<RetryPolicy>[];
  readonly timeouts?: Partial<Timeouts>;
  readonly compensate?: CompensateDefinition;
  readonly onFailure?: "compensate" | "fail";
}

export interface Definition {
  readonly workflow: string;
  readonly timeoutMs?: number;
  readonly steps: readonly StepDefinition[];
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const RUN_TIMEOUT_MS = 7 * DAY;
export const DEFAULT_QUEUE = "default";
/** The least silence that ends a lease: agents beat at a third of it. */
export const HEARTBEAT_MS_MIN = 2 * SECOND;
/** Losses in a row of one strategy that make a step poison. */
export const LOSSES_IN_A_ROW_MAX = 3;
/** How long a retried lost task is kept for another agent than the one that lost it. */
export const AVOID_SESSION_MS = 2 * SECOND;

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

export const TIMEOUTS_DEFAULT: Omit<Timeouts, "settleMs"> = Object.freeze({
  pickupMs: 5 * MINUTE,
  attemptMs: 15 * MINUTE,
  heartbeatMs: 30 * SECOND,
  totalMs: DAY,
  cancelMs: 10 * SECOND,
});

const SETTLE_MS_MIN = 5 * SECOND;

/** What a lane and a lease need to know about a task: the forward one of a step, or its undo. */
export interface PlanTask {
  readonly task: string;
  readonly queue: string;
  readonly retry: readonly RetryPolicy[];
  readonly timeouts: Timeouts;
}

export interface PlanStep extends PlanTask {
  readonly no: number;
  readonly id: string;
  readonly needs: readonly number[];
  readonly successors: readonly number[];
  readonly input: Payload | null;
  readonly compensate: PlanTask | null;
  /** null: decided when the step fails. */
  readonly onFailure: "compensate" | "fail" | null;
}

export interface Plan {
  readonly workflow: string;
  readonly timeoutMs: number;
  readonly steps: readonly PlanStep[];
}

/** The plan of a definition that `definitionProblems` found nothing wrong with. */
export function planOf(definition: Definition): Plan {
  const numbers = new Map(definition.steps.map((step, no) => [step.id, no]));
  const needs = definition.steps.map((step) =>
    step.needs.map((id) => {
      const no = numbers.get(id);
      if (no === undefined) throw new Error(`step ${step.id} needs ${id}, which is no step`);
      return no;
    }),
  );
  return {
    workflow: definition.workflow,
    timeoutMs: definition.timeoutMs ?? RUN_TIMEOUT_MS,
    steps: definition.steps.map((step, no) => ({
      no,
      id: step.id,
      ...planTask(step, RETRY_DEFAULT),
      needs: needs[no] ?? [],
      successors: needs.flatMap((of, successor) => (of.includes(no) ? [successor] : [])),
      input: step.input ?? null,
      compensate: step.compensate
        ? planTask({ ...pickQueue(step), ...step.compensate }, UNDO_RETRY_DEFAULT)
        : null,
      onFailure: step.onFailure ?? null,
    })),
  };
}

/** An undo goes to the queue of its step unless it names another. */
function pickQueue(step: StepDefinition): { readonly queue?: string } {
  return step.queue === undefined ? {} : { queue: step.queue };
}

function planTask(
  source: Pick<StepDefinition, "task" | "queue" | "retry" | "timeouts">,
  retryDefault: RetryPolicy,
): PlanTask {
  const timeouts = { ...TIMEOUTS_DEFAULT, ...source.timeouts };
  const settleMs = source.timeouts?.settleMs ?? Math.max(timeouts.heartbeatMs, SETTLE_MS_MIN);
  return {
    task: source.task,
    queue: source.queue ?? DEFAULT_QUEUE,
    retry: source.retry?.map((policy) => ({ ...retryDefault, ...policy })) ?? [retryDefault],
    timeouts: { ...timeouts, settleMs },
  };
}
