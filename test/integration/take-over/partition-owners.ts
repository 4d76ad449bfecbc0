// The owners of the partitions of a database, read from its tables.
import type pg from "pg";
import { until } from "../../support/until.ts";

const PARTITIONS = 256;
/** Four move each second, so no test waits until the shares are even. */
const SHARE = 8;

/** Partitions by owner; the owner's epoch counts each change of hands. */
export async function owners(db: pg.Client): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ node: string; count: number }>(
    "select node, count(*)::integer as count from drover.partition_lease where node is not null group by node",
  );
  return new Map(rows.map(({ node, count }) => [node, count]));
}

export async function soleOwner(db: pg.Client): Promise<string> {
  return until("one server owns every partition", async () => {
    const [[node, count] = ["", 0], ...others] = await owners(db);
    return count === PARTITIONS && others.length === 0 ? node : null;
  });
}

/** Both nodes. */
export async function bothShare(db: pg.Client): Promise<readonly string[]> {
  return until("two servers share the partitions", async () => {
    const shares = await owners(db);
    return shares.size === 2 && Math.min(...shares.values()) >= SHARE ? [...shares.keys()] : null;
  });
}

/** Milliseconds from now until the node that is not `lost` owns everything. */
export async function takenOverFrom(db: pg.Client, lost: string): Promise<number> {
  const began = performance.now();
  await until("the other server owns every partition", async () => {
    const shares = await owners(db);
    const [[node, count] = ["", 0]] = shares;
    return shares.size === 1 && node !== lost && count === PARTITIONS ? true : null;
  });
  return performance.now() - began;
}
