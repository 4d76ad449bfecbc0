// Tasks of agents that have ended, as the circuits of their lanes count them.
import { type EndKind, endKindOf } from "../core/circuit.ts";
import type { RowChanges } from "./changes.ts";
import type { RunId } from "./run-head.ts";

export interface EndedTask {
  readonly lane: number;
  readonly agentId: string;
  readonly runId: RunId;
  readonly end: EndKind;
}

/** `lanes`: of the leases that have gone, in their order. */
export function endedTasks(
  changes: readonly RowChanges[],
  lanes: readonly number[],
): readonly EndedTask[] {
  let place = 0;
  return changes.flatMap(({ head: { runId }, leaseGone, attempts }) => {
    const bySecret = new Map(attempts.map(({ attempt }) => [attempt.secret, attempt]));
    return leaseGone.flatMap(({ lease: { secret, agentId } }): readonly EndedTask[] => {
      const lane = lanes[place++];
      const ended = bySecret.get(secret);
      if (lane === undefined || !ended) return [];
      const { outcome } = ended;
      const transient = outcome.kind === "failure" && outcome.class === "transient";
      const end = endKindOf({ kind: outcome.kind, transient });
      return [{ lane, agentId, runId, end }];
    });
  });
}
