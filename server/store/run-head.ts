// What names a run and places it: the words that the contract, its changes and its reads share.
import type { Run } from "../core/model.ts";

export type RunId = string;

export interface RunRef {
  readonly runId: RunId;
  readonly partition: number;
}

/** The narrow row of a run, and what places it. */
export interface RunHead extends RunRef {
  readonly namespaceId: number;
  readonly definitionId: number;
  /** 1 first, 9 last. */
  readonly priority: number;
  readonly run: Run;
}
