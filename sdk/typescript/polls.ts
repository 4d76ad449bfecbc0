/**
 * The polls of one session: their numbers, and those that ended without an answer.
 *
 * The server may have granted tasks to a poll whose answer never arrived. So each lost poll is
 * named in every poll and heartbeat until 30 s after the end of its wait, and what was granted to
 * it is given back at once. A poll whose answer was read is never named.
 *
 * A heartbeat that lists all tasks says up to which poll, since a poll under way may bring more.
 */
import type { Clock } from "./clock.ts";

export interface Poll {
  readonly seq: bigint;
  readonly sentMs: number;
  /** Its answer was read and its tasks are listed, or it was refused: it brings no others. */
  over(): void;
  /** Its answer will not come. Until this or `over` is called it counts as under way. */
  lost(): void;
}

export interface Polls {
  begin(waitMs: number): Poll;
  /** The numbers to name now. */
  lostPolls(): bigint[];
  /** This poll and all before it have ended. */
  endedTo(): bigint;
}

const namedForMs = 30_000;
/**
 * The limit of the contract; beyond it the oldest, which are nearest to their end, are left out.
 */
const lostPollsMax = 1_000;

export function createPolls(clock: Clock): Polls {
  let lastSeq = 0n;
  const underWay = new Set<bigint>();
  let lost: { readonly seq: bigint; readonly untilMs: number }[] = [];

  return Object.freeze({
    begin(waitMs: number): Poll {
      lastSeq += 1n;
      const seq = lastSeq;
      const sentMs = clock.monotonicMs();
      underWay.add(seq);
      return Object.freeze({
        seq,
        sentMs,
        over: () => void underWay.delete(seq),
        lost(): void {
          underWay.delete(seq);
          lost.push({ seq, untilMs: sentMs + waitMs + namedForMs });
          if (lost.length > lostPollsMax) lost = lost.slice(-lostPollsMax);
        },
      });
    },
    lostPolls(): bigint[] {
      const nowMs = clock.monotonicMs();
      lost = lost.filter((poll) => poll.untilMs > nowMs);
      return lost.map((poll) => poll.seq);
    },
    // They are in the order in which they started.
    endedTo(): bigint {
      const [oldest] = underWay;
      return oldest === undefined ? lastSeq : oldest - 1n;
    },
  });
}
