// Tasks of agents that have ended, as the circuits of their lanes count them.
import { type EndKind, endKindOf } from "../core/model/circuit.ts";
import type { DerivedLease } from "../core/page/derived-rows.ts";
import type { PassRecord } from "./pass-record.ts";
import type { RunId } from "./run-head.ts";

export interface EndedTask {
  readonly lane: number;
  readonly agentId: string;
  readonly runId: RunId;
  readonly end: EndKind;
}

/** `leases`: the leases that the pass has ended. */
export function endedTasks(
  { head: { runId }, effects }: PassRecord,
  leases: readonly DerivedLease[],
): readonly EndedTask[] {
  if (leases.length === 0) return [];
  const bySecret = new Map(
    effects.flatMap((effect) =>
      effect.kind === "task-ended" ? [[effect.attempt.secret, effect.attempt] as const] : [],
    ),
  );
  return leases.flatMap(({ terms: { lane }, lease: { secret, agentId } }): readonly EndedTask[] => {
    const outcome = bySecret.get(secret)?.outcome;
    if (!outcome) return [];
    const transient = outcome.kind === "failure" && outcome.class === "transient";
    return [{ lane, agentId, runId, end: endKindOf({ kind: outcome.kind, transient }) }];
  });
}
