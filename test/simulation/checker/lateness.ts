// How late somebody may act on what is due, by the faults before.
import type { Moment } from "../../../server/core/attempt.ts";
import type { FaultRecord } from "../history.ts";
import type { Bounds } from "./violation.ts";

/**
 * Both ends of a fault count: with the end of an outage, watching begins anew. A moment that was
 * written before the clock went back lies later by so much than one that is reckoned after it.
 */
export function latestAct(
  faults: readonly FaultRecord[],
  bounds: Bounds,
  dueAt: Moment,
  actedAt: Moment,
): Moment {
  let latest = dueAt + bounds.detectMs;
  for (const { at, fault } of faults) {
    // Not in order of `at`, where the clock went back.
    if (at > actedAt) continue;
    const frozen = fault.kind !== "heal" && LONG_FAULTS.has(fault.did);
    latest = Math.max(latest, at + (frozen ? bounds.frozenMs : bounds.killedMs));
    const backMs = fault.kind === "clock" ? Math.max(0, -fault.byMs) : 0;
    if (dueAt <= at + backMs + bounds.frozenMs)
      latest = Math.max(latest, dueAt + backMs + bounds.detectMs);
  }
  return latest;
}

/** The others are over within `killedMs`: a process that is gone, or one lost transaction. */
const LONG_FAULTS: ReadonlySet<string> = new Set([
  ...["pause", "resume", "cut", "join", "down", "up", "jump"],
]);

/** Supervisors see the store and not the messages of clients and agents. */
export function concernsWatching({ fault, server }: FaultRecord): boolean {
  if (fault.kind === "store" || fault.kind === "clock") return true;
  if (fault.kind === "network") return server && LONG_FAULTS.has(fault.did);
  return server && fault.kind === "process";
}
