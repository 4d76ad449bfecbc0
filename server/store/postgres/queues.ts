// Queues: what people say about them. A pause is first written and then waits for the claims that
// began before: those that begin later see it, so a claim itself waits for nobody and pays nothing.
import type { Clock } from "../../clock.ts";
import type { Moment } from "../../core/attempt.ts";
import { DroverError } from "../../errors.ts";
import {
  type Pause,
  type QueuePage,
  type QueueRecord,
  type QueueRef,
  type Queues,
  READY_COUNTED_MAX,
} from "../queues.ts";
import type { Query } from "./transaction.ts";

/** No transaction of ours lives longer than 5 s. */
const CLAIMS_MS_MAX = 6_000;
const LOOK_AGAIN_MS = 5;

/** `lists`: statements of people, on connections of their own. */
export function createQueues(query: Query, lists: Query, clock: Clock): Queues {
  async function pauseOf({ namespaceId, queue }: QueueRef): Promise<Pause | null> {
    const [row] = await query<PauseRow>("queue_pause", [namespaceId, queue]);
    return row ? { since: row.paused_at, reason: row.pause_reason } : null;
  }

  return Object.freeze({
    async pause(of: QueueRef, reason: string): Promise<Pause> {
      await query("pause_queue", [of.namespaceId, of.queue, reason]);
      // Also if it was paused before: whoever did that may have died before its claims were over.
      await claimsOver(query, clock);
      const pause = await pauseOf(of);
      return pause ?? { since: clock.wallMs(), reason };
    },
    async resume({ namespaceId, queue }: QueueRef): Promise<readonly number[]> {
      await query("resume_queue", [namespaceId, queue]);
      const rows = await query<{ lane: number }>("queue_lanes", [namespaceId, queue]);
      return rows.map(({ lane }) => lane);
    },
    namespacePause: (namespaceId: number) => pauseOf({ namespaceId, queue: "" }),
    list: (namespaceId: number, page: QueuePage) => listQueues(lists, namespaceId, page),
  } satisfies Queues);
}

interface PauseRow {
  paused_at: Moment;
  pause_reason: string;
}

async function claimsOver(query: Query, clock: Clock): Promise<void> {
  const underWay = async (): Promise<ReadonlySet<string>> => {
    const rows = await query<{ transaction: string }>("claims_under_way", []);
    return new Set(rows.map(({ transaction }) => transaction));
  };
  const until = clock.monotonicMs() + CLAIMS_MS_MAX;
  let left = [...(await underWay())];
  while (left.length > 0) {
    if (clock.monotonicMs() > until)
      throw new DroverError(
        "STORE_UNAVAILABLE",
        "it is paused, and a claim that began before is still under way: repeat the call",
      );
    await clock.sleep(LOOK_AGAIN_MS);
    const still = await underWay();
    left = left.filter((transaction) => still.has(transaction));
  }
}

interface QueueRow {
  name: string;
  ready: number;
  leased: number;
  paused_at: Moment | null;
  pause_reason: string | null;
}

async function listQueues(
  query: Query,
  namespaceId: number,
  { names, after, limit }: QueuePage,
): Promise<readonly QueueRecord[]> {
  const asked = [namespaceId, names, after, limit, READY_COUNTED_MAX];
  const rows = await query<QueueRow>("list_queues", asked);
  return rows.map(({ name, ready, leased, paused_at: since, pause_reason: reason }) => ({
    ...{ name, ready, leased },
    pause: since === null ? null : { since, reason: reason ?? "" },
  }));
}
