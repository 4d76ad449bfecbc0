// Counts how the attempts of each agent session end, by lane, for operators. The counts stay in
// memory and are stored every 20 s by the poll tick, added to those of other servers: no report
// waits for it. What a server has not stored when it is killed is lost, and so is what it could not
// store.
import type { Clock } from "../clock.ts";
import type { SessionAttempts } from "../store/operators.ts";
import type { EndedTask } from "../store/rows-of-effects.ts";

const STORED_EVERY_MS = 20_000;
/** Most rows of one statement. */
const STORED_MAX = 4_000;
/** Counts in memory, one for each session and lane: about 150 bytes each. More are not counted. */
const COUNTS_MAX = 100_000;

type Counted = Pick<EndedTask, "session" | "lane" | "result">;

export interface AttemptCounter {
  count(ended: readonly Counted[]): void;
  /** Stores what was counted, at most every 20 s; what is too much for one statement, next time. */
  send(hand: (counts: readonly SessionAttempts[]) => Promise<void>): Promise<void>;
}

export function createAttemptCounter(clock: Pick<Clock, "monotonicMs">): AttemptCounter {
  const counts = new Map<string, SessionAttempts>();
  let sentAtMs = clock.monotonicMs();

  return Object.freeze({
    count(ended: readonly Counted[]) {
      for (const { session, lane, result } of ended) {
        if (result === "nothing") continue;
        const key = `${session}/${lane}`;
        const before = counts.get(key);
        if (!before && counts.size >= COUNTS_MAX) continue;
        counts.set(key, {
          session,
          lane,
          ended: (before?.ended ?? 0) + 1,
          failed: (before?.failed ?? 0) + (result === "failed" ? 1 : 0),
          unknown: (before?.unknown ?? 0) + (result === "unknown" ? 1 : 0),
        });
      }
    },
    async send(hand: (counts: readonly SessionAttempts[]) => Promise<void>) {
      const now = clock.monotonicMs();
      if (now - sentAtMs < STORED_EVERY_MS || counts.size === 0) return;
      const taken = [...counts].slice(0, STORED_MAX);
      for (const [key] of taken) counts.delete(key);
      if (counts.size === 0) sentAtMs = now;
      await hand(taken.map(([, one]) => one));
    },
  });
}
