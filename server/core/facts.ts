// What expressions see of a run: facts that never change once they are there.
import type { EpochMs } from "./attempt.ts";
import type { Forward } from "./model.ts";
import type { Payload } from "./payload.ts";

/** What expressions see of a step. */
export interface StepFacts {
  readonly status: Forward["kind"];
  readonly output: Payload | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** What an expression may see: facts that never change once they are there. */
export interface Facts {
  readonly run: RunFacts;
  /** By number of the step; one that is absent has not ended. */
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
