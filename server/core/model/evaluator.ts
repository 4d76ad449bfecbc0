// The interface through which the rules use expressions and schemas. They are compiled from the
// plan outside of `core` (server/expressions) and passed in with it. They are pure, so a decision
// stays a function of its arguments.
import type { EpochMs } from "./attempt.ts";
import type { Facts } from "./facts.ts";
import type { Payload } from "./payload.ts";

export type Evaluated<T> =
  | { readonly kind: "value"; readonly value: T }
  /** A sentence for a person that says what failed, and where. */
  | { readonly kind: "failed"; readonly message: string };

/** Error code of a success whose output violates the step's schema. */
export const SCHEMA_BROKEN = "drover.schema";
/** Error code of a success whose output its agent could not send. */
export const OUTPUT_LOST = "drover.output";

/**
 * Whether a failure means that the work was done, so that its effect was made, and only its output
 * is unusable.
 */
export function isDoneWithoutOutput(code: string): boolean {
  return code === SCHEMA_BROKEN || code === OUTPUT_LOST;
}

export interface Evaluator {
  /** Whether it has expressions to evaluate, so that facts have to be loaded. */
  readonly needsFacts: boolean;
  /** Steps whose facts are needed before the step, and what it opens at once, may be opened. */
  factsFor(step: number): readonly number[];
  /** Whether the step runs. A step without `when` does. */
  condition(step: number, facts: Facts): Evaluated<boolean>;
  /** The input of a strategy of the plan: rendered and merged, or the run's own. */
  input(step: number, planned: number, facts: Facts): Evaluated<Payload | null>;
  /** The number of items of a map. */
  itemCount(step: number, facts: Facts): Evaluated<number>;
  /**
   * The queue of a task of the step, as the plan writes it, with its expressions evaluated. A name
   * without expressions is returned unchanged.
   */
  queue(step: number, written: string, facts: Facts): Evaluated<string>;
  /** The problem with a computed queue of the step; null: none. */
  queueProblem(step: number, facts: Facts): string | null;
  /** When a `wait` with `until` is over. */
  time(step: number, facts: Facts): Evaluated<EpochMs>;
  /** The problem with an output; null: none. */
  outputProblem(step: number, output: Payload | null): string | null;
  /** The problem with the form of an approver; null: none. */
  formProblem(step: number, form: Payload | null): string | null;
  /** The problem with the input of a run; null: none. */
  inputProblem(input: Payload | null): string | null;
}

/** An evaluator for plans without expressions: every step runs, with the run's own input. */
export const NO_EXPRESSIONS: Evaluator = Object.freeze({
  needsFacts: false,
  factsFor: () => [],
  condition: () => ({ kind: "value", value: true }) as const,
  input: (_step, _planned, { run }) => ({ kind: "value", value: run.input }) as const,
  itemCount: () => ({ kind: "failed", message: "this plan has no maps" }) as const,
  queue: (_step, written) => ({ kind: "value", value: written }) as const,
  queueProblem: () => null,
  time: () => ({ kind: "failed", message: "this plan has no times" }) as const,
  outputProblem: () => null,
  formProblem: () => null,
  inputProblem: () => null,
} satisfies Evaluator);
