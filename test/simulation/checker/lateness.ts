// How late a server may act on a due time, given the faults before it.
import type { EpochMs } from "../../../server/core/model/attempt.ts";
import type { FaultRecord, Watcher } from "../history.ts";
import type { Facts } from "./facts.ts";
import type { Bounds } from "./violation.ts";

/** Faults of one target from their begin to their end, or one that is over at once. */
export interface Outage {
  readonly from: EpochMs;
  readonly until: EpochMs;
  /** So long after its end everything is watched again. */
  readonly overMs: number;
  /** By how much the clock went back. */
  readonly backMs: number;
}

/**
 * Supervisors see the store and not the messages of clients and agents. One that ended, or is
 * still, is an outage until a server is at work for each region: another one has to take over what
 * it watched.
 */
export function outagesOf({ calls, faults, bounds, history }: Facts): readonly Outage[] {
  const { watchers } = history.meta;
  const watching = faults.filter(concernsWatching);
  const atWork = new Set([
    ...calls.flatMap(({ sent }) => (sent.server === null ? [] : [sent.server])),
    ...watching.flatMap(({ fault, target }) => (fault.kind === "process" ? [target] : [])),
  ]);
  const isWatched = watching.map(({ fault, target }) => {
    if (fault.kind === "process" && GONE.has(fault.did)) atWork.delete(target);
    // One that is asked to stop may be suspended, and stays suspended then.
    else if (fault.kind === "process" && fault.did !== "stop") atWork.add(target);
    if (!watchers) return atWork.size > 0;
    return regionsOf(watchers).every((region) => isAtWork(watchers, region, atWork));
  });
  return watching.map((record, index): Outage => {
    const { at, fault } = record;
    const byMs = fault.kind === "clock" ? fault.byMs : 0;
    const end =
      fault.kind === "process"
        ? watching.find((_, later) => later >= index && isWatched[later])
        : watching.slice(index).find((later) => ends(later, record));
    const isLong = fault.kind !== "heal" && LONG_FAULTS.has(fault.did);
    return {
      from: Math.min(at, at - byMs),
      until: Math.max(at, end?.at ?? at),
      overMs: isLong ? bounds.frozenMs : bounds.killedMs,
      backMs: Math.max(0, -byMs),
    };
  });
}

/** How far ahead the silence of a lease is stored; it is computed again before an action. */
const WRITTEN_AHEAD_MS = 30_000;

/**
 * An outage counts if it began before a server had to act: one after another, they may put it off
 * for long. A time that was written before the clock went back lies later by so much than one
 * that is computed after it.
 */
export function latestAct(
  outages: readonly Outage[],
  { detectMs }: Bounds,
  dueAt: EpochMs,
): EpochMs {
  let latest = dueAt + detectMs;
  for (const { from, until, overMs, backMs } of outages) {
    if (from > latest) continue;
    latest = Math.max(latest, until + overMs);
    if (backMs > 0 && dueAt <= until + backMs + WRITTEN_AHEAD_MS)
      latest = Math.max(latest, dueAt + backMs + detectMs);
  }
  return latest;
}

const GONE: ReadonlySet<string> = new Set(["crash", "exit", "pause"]);

const ENDS: Readonly<Record<string, string>> = {
  cut: "join",
  down: "up",
};

/** Those that are named, and the one that is always there. */
function regionsOf(watchers: readonly Watcher[]): readonly number[] {
  return [...new Set([0, ...watchers.flatMap(({ regions }) => regions ?? [])])];
}

function isAtWork(
  watchers: readonly Watcher[],
  region: number,
  atWork: ReadonlySet<string>,
): boolean {
  return watchers.some((one) => watches(one, region) && atWork.has(one.server));
}

export function watches({ regions }: Watcher, region: number): boolean {
  return regions === null || regions.includes(region);
}

/** The others are over within `killedMs`: a process that is gone, or one lost transaction. */
const LONG_FAULTS: ReadonlySet<string> = new Set([
  "pause",
  "resume",
  "cut",
  "join",
  "down",
  "up",
  "jump",
]);

function ends({ fault, target }: FaultRecord, { fault: start, target: of }: FaultRecord): boolean {
  if (fault.kind === "heal" || start.kind === "heal") return false;
  return target === of && fault.did === ENDS[start.did];
}

function concernsWatching({ fault, server }: FaultRecord): boolean {
  if (fault.kind === "store" || fault.kind === "clock") return true;
  if (fault.kind === "network") return server && LONG_FAULTS.has(fault.did);
  return server && fault.kind === "process";
}
