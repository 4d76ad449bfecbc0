/**
 * Each shard of a PostgreSQL store obeys the contract by itself. On Citus the store has as many
 * shards as DROVER_SHARDS says, and whatever the contract has stored in tables that all shards read
 * is the same on every node.
 */
import pg from "pg";
import { describe, expect, test } from "vitest";
import { citusNodes } from "../../server/store/postgres/distribute.ts";
import { urlOn } from "../../server/store/postgres/shard-address.ts";
import type { QueueShares } from "../../server/store/queue-shares.ts";
import type { QueueRef, Queues } from "../../server/store/queues.ts";
import { citusUrl } from "../support/citus.ts";
import { openPostgresShards } from "../support/opened-postgres.ts";
import { testShards } from "../support/test-shards.ts";
import { expectCounted } from "./operator/activity.ts";
import { describeStore } from "./store-contract.ts";

// Its clock is its own.
const elapse = async () => undefined;

async function open() {
  const { shards, connectionString, close } = await openPostgresShards(count);
  const { queues } = shards.home;
  const setLimits: Queues["setLimits"] = async (of, limits, audit) => {
    const lanes = await queues.setLimits(of, limits, audit);
    await giveAll(queues.shares, of);
    return lanes;
  };
  const closeAll = async (): Promise<void> => {
    if (citusUrl !== undefined) await expectSameOnAllNodes(connectionString);
    await close();
  };
  return { store: { ...shards.home, queues: { ...queues, setLimits } }, close: closeAll, elapse };
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

/** Statements on these tables run on each node: what they store must not depend on where. */
async function expectSameOnAllNodes(coordinatorUrl: string): Promise<void> {
  const nodes = await citusNodes(coordinatorUrl);
  const [tables = [], ...others] = await Promise.all(
    nodes.map((node) => sharedTables(urlOn(coordinatorUrl, node))),
  );
  expect(tables.filter(({ rows }) => rows > 0).length).toBeGreaterThan(10);
  for (const other of others) expect(other).toEqual(tables);
}

interface SharedTable {
  readonly name: string;
  readonly rows: number;
  readonly digest: string;
}

async function sharedTables(nodeUrl: string): Promise<readonly SharedTable[]> {
  const client = new pg.Client({ connectionString: nodeUrl });
  await client.connect();
  try {
    const found = await client.query<{ name: string }>(
      `select logicalrelid::text as name from pg_dist_partition
       where partmethod = 'n' and repmodel = 't' order by 1`,
    );
    const tables: SharedTable[] = [];
    for (const { name } of found.rows) {
      const { rows } = await client.query<SharedTable>(
        `select '${name}' as name, count(*)::integer as rows,
           md5(coalesce(string_agg(t::text, chr(10) order by t::text collate "C"), '')) as digest
         from ${name} as t`,
      );
      tables.push(...rows);
    }
    return tables;
  } finally {
    await client.end();
  }
}

const count = citusUrl === undefined ? 2 : testShards;

if (count > 1)
  describeStore("the first of several PostgreSQL shards", open, { afterRandomRun: expectCounted });
else
  describe("the first of several PostgreSQL shards", () => {
    test("on Citus", (context) => context.skip("set DROVER_SHARDS to more than 1"));
  });
