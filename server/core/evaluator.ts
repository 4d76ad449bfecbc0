// What the rules ask of expressions and schemas. They are compiled from the plan outside of `core`
// (server/expressions) and handed in with it; they are pure, so a decision stays a function of its
// arguments.
import type { EpochMs } from "./attempt.ts";
import type { Facts } from "./facts.ts";
import type { Payload } from "./payload.ts";

export type Evaluated<T> =
  | { readonly kind: "value"; readonly value: T }
  /** A sentence for a person: what failed, and where. */
  | { readonly kind: "failed"; readonly message: string };

/** The code of a success whose output breaks the step's schema. */
export const SCHEMA_BROKEN = "drover.schema";
/** The code of a success whose output its agent could not send. */
export const OUTPUT_LOST = "drover.output";

/** A failure that says of work which was done that its output is no good: its effect was made. */
export function isDoneWithoutOutput(code: string): boolean {
  return code === SCHEMA_BROKEN || code === OUTPUT_LOST;
}

export interface Evaluator {
  /** Whether any of its expressions has to be evaluated: facts are loaded then. */
  readonly needsFacts: boolean;
  /** Steps whose facts are needed before the step may be opened, with what it leads to at once. */
  factsFor(step: number): readonly number[];
  /** Whether the step runs; a step without `when` does. */
  condition(step: number, facts: Facts): Evaluated<boolean>;
  /** The input of a strategy of the plan: rendered, merged, or the run's own. */
  input(step: number, planned: number, facts: Facts): Evaluated<Payload | null>;
  /** How many items a map has. */
  itemCount(step: number, facts: Facts): Evaluated<number>;
  /**
   * The queue of a task of the step as the plan writes it, with its expressions evaluated; one that
   * has none is returned as it is.
   */
  queue(step: number, written: string, facts: Facts): Evaluated<string>;
  /** What is wrong with a queue of the step that has expressions; null: nothing. */
  queueProblem(step: number, facts: Facts): string | null;
  /** When a `wait` with `until` is over. */
  time(step: number, facts: Facts): Evaluated<EpochMs>;
  /** What is wrong with an output; null: nothing. */
  outputProblem(step: number, output: Payload | null): string | null;
  /** What is wrong with what an approver filled in; null: nothing. */
  formProblem(step: number, form: Payload | null): string | null;
  /** What is wrong with the input of a run; null: nothing. */
  inputProblem(input: Payload | null): string | null;
}

/** A evaluator that has nothing to ask: every step runs, with the run's own input. */
export const NO_EXPRESSIONS: Evaluator = Object.freeze({
  needsFacts: false,
  factsFor: () => [],
  condition: () => ({ kind: "value", value: true }) as const,
  input: (_step, _planned, { run }) => ({ kind: "value", value: run.input }) as const,
  itemCount: () => ({ kind: "failed", message: "this plan has no maps" }) as const,
  queue: (_step, written) => ({ kind: "value", value: written }) as const,
  queueProblem: () => null,
  time: () => ({ kind: "failed", message: "this plan has no moments" }) as const,
  outputProblem: () => null,
  formProblem: () => null,
  inputProblem: () => null,
} satisfies Evaluator);
