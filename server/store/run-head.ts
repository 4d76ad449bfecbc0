// The id, the partition and the head of a run: types that the contract, its changes and its reads
// share.
import type { EpochMs } from "../core/model/attempt.ts";
import type { End, Run } from "../core/model/model.ts";
import { NO_WAITS } from "../core/model/waits.ts";

export type RunId = string;

export interface RunRef {
  readonly runId: RunId;
  readonly partition: number;
}

/** The head of a run, with its id and partition. */
export interface RunHead extends RunRef {
  readonly namespaceId: number;
  readonly definitionId: number;
  /** 1: first, 9: last. */
  readonly priority: number;
  readonly run: Run;
}

/** A run that has ended, as the rules see it. They read none of its counters: all are zero. */
export function endedRun(
  state: End,
  { version, warnings, escalations }: Pick<Run, "version" | "warnings" | "escalations">,
): Run {
  const none = { stepsLeft: 0, alwaysLeft: 0, moving: 0, asking: 0, undosLeft: 0, undone: 0 };
  const nothing = {
    ...none,
    waits: NO_WAITS,
    failure: null,
    pivoted: false,
    keyed: false,
    parent: null,
  };
  return { ...nothing, state, version, warnings, escalations };
}

/** When the run was created; of a child run, when the run at the top was. Its id begins with it. */
export function runIdTime(runId: RunId): EpochMs {
  return Number.parseInt(runId.replaceAll("-", "").slice(0, 12), 16);
}
