// One transaction of a flight, and what became of it.
//
// A COMMIT whose answer never came may or may not have counted. The transaction's id is asked for
// at its begin, and PostgreSQL is asked on another connection what became of it (pg_xact_status),
// so one rule serves every kind of flight: one that did not count is sent again by its caller, and
// only if the question stays unanswered is "not known" said. A database that crashed, or the
// standby that follows it, may have lost the id with its tail and given it to somebody else: an
// answer counts only of the incarnation in which the transaction began.
import pg from "pg";
import type { Clock } from "../../clock.ts";
import type { Moment } from "../../core/attempt.ts";
import type { TransactOptions } from "../store.ts";
import { isAway, rolledBack, storeFailure } from "./failure.ts";
import { statement } from "./sql.ts";

/** How long the fate of a COMMIT is asked for. */
const FATE_MS_MAX = 2_000;
const FATE_PAUSE_MS = 200;

/**
 * Differs after a crash (which resets the statistics), after a restart, and on another server. Both
 * parts may be read by every role.
 */
const INCARNATION =
  "(select concat_ws(' ', pg_postmaster_start_time(), stats_reset) from pg_stat_wal)";

interface TransactionId {
  readonly xid: string;
  readonly incarnation: string | null;
}

export type Query = <Row extends pg.QueryResultRow>(
  name: string,
  values: readonly unknown[],
) => Promise<readonly Row[]>;

export interface Begun {
  readonly now: Moment;
  readonly query: Query;
}

export function createTransact(pool: pg.Pool, clock: Clock) {
  return async function transact<T>(
    options: Pick<TransactOptions, "fate" | "lockTimeoutMs">,
    work: (begun: Begun) => Promise<T>,
  ): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw storeFailure(error);
    });
    let broken: Error | undefined;
    try {
      const begun = await begin(client, options);
      const result = await work({ now: begun.now, query: queryOn(client) });
      await client.query("commit").catch(async (error: unknown) => {
        if (!isAway(error)) throw error;
        broken = error instanceof Error ? error : new Error(String(error));
        const fate = begun.id === null ? null : await fateOf(pool, clock, begun.id);
        if (fate === false) throw rolledBack(error);
        if (fate === null) throw error;
      });
      return result;
    } catch (error) {
      if (isAway(error)) broken = error instanceof Error ? error : new Error(String(error));
      else if (!broken)
        await client.query("rollback").catch((failed: unknown) => {
          broken = failed instanceof Error ? failed : new Error(String(failed));
        });
      throw storeFailure(error);
    } finally {
      client.release(broken);
    }
  };
}

/** However many statements it takes: all that `work` reads is of one moment. */
export async function inSnapshot<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let failed = true;
  try {
    await client.query("begin isolation level repeatable read read only");
    const result = await work(client);
    await client.query("commit");
    failed = false;
    return result;
  } finally {
    // A connection of which nobody knows how it stands is not used again.
    client.release(failed);
  }
}

async function begin(
  client: pg.PoolClient,
  { fate = "asked", lockTimeoutMs }: Pick<TransactOptions, "fate" | "lockTimeoutMs">,
): Promise<{ now: Moment; id: TransactionId | null }> {
  const lock =
    lockTimeoutMs === undefined ? "" : `set local lock_timeout = ${Math.round(lockTimeoutMs)};`;
  const id =
    fate === "asked"
      ? `pg_current_xact_id()::text as xid, ${INCARNATION} as incarnation`
      : "null as xid, null as incarnation";
  const results: unknown = await client.query(`begin; ${lock} select ${id}, now() as now`);
  const last: unknown = Array.isArray(results) ? results.at(-1) : results;
  if (!(last instanceof pg.Result)) throw new Error("begin gave no result");
  const row: unknown = last.rows[0];
  if (!isBeginRow(row)) throw new Error("begin gave no transaction id");
  const { now, xid, incarnation } = row;
  return { now, id: xid === null ? null : { xid, incarnation } };
}

function isBeginRow(
  row: unknown,
): row is { now: Moment; xid: string | null; incarnation: string | null } {
  return (
    typeof row === "object" &&
    row !== null &&
    "now" in row &&
    typeof row.now === "number" &&
    "xid" in row &&
    (typeof row.xid === "string" || row.xid === null) &&
    "incarnation" in row &&
    (typeof row.incarnation === "string" || row.incarnation === null)
  );
}

/**
 * Statements by name on this connection. The row type is the statement's contract in its .sql file.
 */
export function queryOn(client: Pick<pg.ClientBase, "query"> | pg.Pool): Query {
  return async <Row extends pg.QueryResultRow>(name: string, values: readonly unknown[]) => {
    const { text } = statement(name);
    const result = await client.query<Row>({ name, text, values: [...values] });
    return result.rows;
  };
}

/** true: committed; false: rolled back; null: nobody could say in time. */
async function fateOf(
  pool: pg.Pool,
  clock: Clock,
  { xid, incarnation }: TransactionId,
): Promise<boolean | null> {
  const until = clock.monotonicMs() + FATE_MS_MAX;
  while (clock.monotonicMs() < until) {
    try {
      const result = await pool.query<{ fate: string | null; incarnation: string | null }>(
        `select pg_xact_status($1::xid8) as fate, ${INCARNATION} as incarnation`,
        [xid],
      );
      if (result.rows[0]?.incarnation !== incarnation) return null;
      const { fate } = result.rows[0];
      if (fate === "committed") return true;
      if (fate === "aborted") return false;
      if (fate === null) return null;
    } catch (error) {
      if (!isAway(error)) return null;
    }
    await clock.sleep(FATE_PAUSE_MS);
  }
  return null;
}
