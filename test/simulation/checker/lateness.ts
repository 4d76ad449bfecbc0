// How late somebody may act on what is due, by the faults before.
import type { Moment } from "../../../server/core/attempt.ts";
import type { FaultRecord } from "../history.ts";
import type { Facts } from "./facts.ts";
import type { Bounds } from "./violation.ts";

/** Faults of one target from their begin to their end, or one that is over at once. */
export interface Outage {
  readonly from: Moment;
  readonly until: Moment;
  /** So long after its end everything is watched again. */
  readonly overMs: number;
  /** By how much the clock went back. */
  readonly backMs: number;
}

/**
 * Supervisors see the store and not the messages of clients and agents. One that ended, or stands
 * still, is an outage until a server is at work: another one has to take over what it watched.
 */
export function outagesOf({ calls, faults, bounds }: Facts): readonly Outage[] {
  const watching = faults.filter(concernsWatching);
  const atWork = new Set([
    ...calls.flatMap(({ sent }) => (sent.server === null ? [] : [sent.server])),
    ...watching.flatMap(({ fault, target }) => (fault.kind === "process" ? [target] : [])),
  ]);
  return watching.map((record, place): Outage => {
    const { at, fault, target } = record;
    const byMs = fault.kind === "clock" ? fault.byMs : 0;
    if (fault.kind === "process" && GONE.has(fault.did)) atWork.delete(target);
    else if (fault.kind === "process") atWork.add(target);
    const end =
      fault.kind === "process" && atWork.size > 0
        ? record
        : watching.slice(place).find((later) => ends(later, record));
    const isLong = fault.kind !== "heal" && LONG_FAULTS.has(fault.did);
    return {
      from: Math.min(at, at - byMs),
      until: Math.max(at, end?.at ?? at),
      overMs: isLong ? bounds.frozenMs : bounds.killedMs,
      backMs: Math.max(0, -byMs),
    };
  });
}

/**
 * An outage counts if it began before somebody had to act: one after another, they may put it off
 * for long. A moment that was written before the clock went back lies later by so much than one
 * that is reckoned after it.
 */
export function latestAct(
  outages: readonly Outage[],
  { detectMs, frozenMs }: Bounds,
  dueAt: Moment,
): Moment {
  let latest = dueAt + detectMs;
  for (const { from, until, overMs, backMs } of outages) {
    if (from > latest) continue;
    latest = Math.max(latest, until + overMs);
    if (backMs > 0 && dueAt <= until + backMs + frozenMs)
      latest = Math.max(latest, dueAt + backMs + detectMs);
  }
  return latest;
}

const GONE: ReadonlySet<string> = new Set(["crash", "exit", "pause"]);

const ENDS: Readonly<Record<string, string>> = {
  cut: "join",
  down: "up",
};

/** The others are over within `killedMs`: a process that is gone, or one lost transaction. */
const LONG_FAULTS: ReadonlySet<string> = new Set([
  ...["pause", "resume", "cut", "join", "down", "up", "jump"],
]);

function ends({ fault, target }: FaultRecord, { fault: begun, target: of }: FaultRecord): boolean {
  // No server is left: the first one that is back ends it.
  if (begun.kind === "process" && GONE.has(begun.did))
    return fault.kind === "process" && (fault.did === "start" || fault.did === "resume");
  if (fault.kind === "heal" || begun.kind === "heal") return false;
  return target === of && fault.did === ENDS[begun.did];
}

function concernsWatching({ fault, server }: FaultRecord): boolean {
  if (fault.kind === "store" || fault.kind === "clock") return true;
  if (fault.kind === "network") return server && LONG_FAULTS.has(fault.did);
  return server && fault.kind === "process";
}
