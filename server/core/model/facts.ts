// The facts of a run that expressions can read.
import type { EpochMs } from "./attempt.ts";
import type { Forward } from "./model.ts";
import type { Payload } from "./payload.ts";

/** The facts of one step. */
export interface StepFacts {
  readonly status: Forward["kind"];
  readonly output: Payload | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Everything that an expression may read. A fact never changes once it exists. */
export interface Facts {
  readonly run: RunFacts;
  /** By number of the step. A step that is absent has not ended. */
  readonly steps: ReadonlyMap<number, StepFacts>;
}

export interface RunFacts {
  readonly id: string;
  readonly workflow: string;
  /** 0: an inline definition. */
  readonly version: number;
  readonly key: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: EpochMs;
  readonly input: Payload | null;
}
