/** Each shard of a PostgreSQL store obeys the contract by itself. */

import { openPostgresShards } from "../support/opened-postgres.ts";
import { expectCounted } from "./operator/activity.ts";
import { describeStore } from "./store-contract.ts";

// Its clock is its own.
const elapse = async () => undefined;

async function open() {
  const { shards, close } = await openPostgresShards(2);
  return { store: shards.home, close, elapse };
}

describeStore("the first of two PostgreSQL shards", open, { afterRandomRun: expectCounted });
