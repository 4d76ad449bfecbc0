// The events of a scenario in order. Within one millisecond, calls of agents and people come
// first, then interventions of supervisors, then changes of the run, then tasks that agents take.

export interface TimelineEntry {
  /** Since the start of the run. */
  readonly atMs: number;
  /** An agent, "supervisor", a person, "the world", "run". */
  readonly who: string;
  /** The step that it is about, as `hotel` or `chunks[2]`; "": the run. */
  readonly about: string;
  readonly what: string;
}

/** The order within one millisecond. */
const RANKS = Object.freeze({ action: 0, supervisor: 1, run: 2, taken: 3 });
export type TimelineRank = keyof typeof RANKS;

export interface Timeline {
  entries(): readonly TimelineEntry[];
  /** Since the start of the run. */
  now(): number;
  add(rank: TimelineRank, entry: Omit<TimelineEntry, "atMs">): void;
}

/** No person would read a longer timeline. */
const ENTRIES_MAX = 20_000;

export function createTimeline(now: () => number): Timeline {
  const ranked: { readonly rank: number; readonly entry: TimelineEntry }[] = [];
  return Object.freeze({
    now,
    entries: () =>
      [...ranked]
        .sort((a, b) => a.entry.atMs - b.entry.atMs || a.rank - b.rank)
        .map(({ entry }) => entry),
    add(rank: TimelineRank, entry: Omit<TimelineEntry, "atMs">) {
      if (ranked.length < ENTRIES_MAX)
        ranked.push({ rank: RANKS[rank], entry: { atMs: now(), ...entry } });
    },
  } satisfies Timeline);
}
