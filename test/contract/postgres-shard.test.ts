/** Each shard of a PostgreSQL store obeys the contract by itself. */

import type { QueueShares } from "../../server/store/queue-shares.ts";
import type { QueueRef, Queues } from "../../server/store/queues.ts";
import { openPostgresShards } from "../support/opened-postgres.ts";
import { expectCounted } from "./operator/activity.ts";
import { describeStore } from "./store-contract.ts";

// Its clock is its own.
const elapse = async () => undefined;

async function open() {
  const { shards, close } = await openPostgresShards(2);
  const { queues } = shards.home;
  const setLimits: Queues["setLimits"] = async (of, limits, audit) => {
    const lanes = await queues.setLimits(of, limits, audit);
    await giveAll(queues.shares, of);
    return lanes;
  };
  return { store: { ...shards.home, queues: { ...queues, setLimits } }, close, elapse };
}

/** All units of a limit go to this shard, as if no other shard had tasks of the queue. */
async function giveAll(shares: QueueShares, of: QueueRef): Promise<void> {
  for (const { number, limits, tokens, ...queue } of await shares.begin([of])) {
    const all = { slots: limits.leasesMax ?? 0, burst: limits.rate?.burst ?? 0 };
    const [left] = await shares.lower([{ ...queue, number, ...all }]);
    const given = tokens + (left?.tokens ?? 0);
    await shares.raise([{ ...queue, number, ...all, tokens: given, isServed: true }]);
  }
}

describeStore("the first of two PostgreSQL shards", open, { afterRandomRun: expectCounted });
