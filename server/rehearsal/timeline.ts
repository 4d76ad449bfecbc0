// What happened in a rehearsal, in the order in which it happened. Of what happened in the same
// millisecond, what was said comes before what was done about it, and that before what follows.

export interface TimelineEntry {
  /** Since the run was started. */
  readonly atMs: number;
  /** An agent, "supervisor", a person, "the world", "run". */
  readonly who: string;
  /** The step that it is about, as `hotel` or `chunks[2]`; "": the run. */
  readonly about: string;
  readonly what: string;
}

/** What comes first of one millisecond. */
const RANKS = Object.freeze({ said: 0, supervisor: 1, run: 2, taken: 3 });
export type TimelineRank = keyof typeof RANKS;

export interface Timeline {
  entries(): readonly TimelineEntry[];
  /** Since the run was started. */
  now(): number;
  tell(rank: TimelineRank, entry: Omit<TimelineEntry, "atMs">): void;
}

/** Longer ones say nothing that a person would read. */
const ENTRIES_MAX = 20_000;

export function createTimeline(now: () => number): Timeline {
  const ranked: { readonly rank: number; readonly entry: TimelineEntry }[] = [];
  return Object.freeze({
    now,
    entries: () =>
      [...ranked]
        .sort((a, b) => a.entry.atMs - b.entry.atMs || a.rank - b.rank)
        .map(({ entry }) => entry),
    tell(rank: TimelineRank, entry: Omit<TimelineEntry, "atMs">) {
      if (ranked.length < ENTRIES_MAX)
        ranked.push({ rank: RANKS[rank], entry: { atMs: now(), ...entry } });
    },
  } satisfies Timeline);
}
