// One transaction of a batch, and its result.
//
// Statements whose answers are not waited for are sent together: BEGIN with the first lock, the
// writes with the read that follows them, the last of them with COMMIT. PostgreSQL executes them in
// order, and after one that failed it refuses all others, COMMIT included. So a caller that waits
// for one statement has waited for all before it. Only statements whose row counts must be checked
// hold COMMIT back.
//
// A COMMIT whose answer never came may or may not have taken effect. The transaction's id is read
// at its begin, and PostgreSQL is asked on another connection what became of it (pg_xact_status).
// So one rule serves every kind of batch: the caller repeats one that did not take effect, and only
// if the question stays unanswered is the result "not known". A database that crashed, or the
// standby that follows it, may have lost the id with its last transactions and given it to another
// one: an answer counts only if it is of the incarnation in which the transaction began.
//
// An optimistic transaction may be sent whole, with COMMIT, before PostgreSQL has answered.
// Statements of its own (expect_known) check what it is decided by, and fail it if that is
// outdated. Then its work is done once more, by what is read under locks.
import type pg from "pg";
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { TransactOptions } from "../store.ts";
import { createDatabaseTime, type DatabaseTime } from "./database-time.ts";
import { isConnectionLost, isOutdated, isRefused, rolledBack, storeFailure } from "./failure.ts";
import { INCARNATION } from "./pool.ts";
import { createSent, type TransactionId } from "./sent-statements.ts";
import { bind, type Values } from "./sql.ts";

/** How long the result of a COMMIT is asked for, in milliseconds. */
const FATE_MS_MAX = 2_000;
const FATE_PAUSE_MS = 200;

export type Query = <Row extends pg.QueryResultRow>(
  name: string,
  values: Values,
) => Promise<readonly Row[]>;

/**
 * Sends a statement without waiting for it. The next `query` waits for it, and so does the commit;
 * either fails if the statement has failed or `check` throws for its rows. A caller that needs the
 * rows may wait for them.
 */
export type Send = <Row extends pg.QueryResultRow>(
  name: string,
  values: Values,
  check?: (rows: readonly Row[]) => void,
) => Promise<readonly Row[]>;

export interface Transaction {
  /** In a transaction that leads with a lock: known from the first answer on. */
  readonly now: EpochMs;
  readonly query: Query;
  readonly send: Send;
  /** What was known before may decide it: see `TransactOptions`. */
  readonly optimistic: boolean;
  /** Makes `now` known before the first answer; false: nothing is known of the time. */
  assumeNow(): boolean;
}

export type TransactUse = Pick<
  TransactOptions,
  "fate" | "lockTimeoutMs" | "leadsWithLock" | "optimistic"
>;

export function createTransact(
  pool: pg.Pool,
  clock: Clock,
  schema: string,
  time: DatabaseTime = createDatabaseTime(clock),
) {
  return async function transact<T>(
    options: TransactUse,
    work: (transaction: Transaction) => Promise<T>,
  ): Promise<T> {
    try {
      return await once(options, work);
    } catch (error) {
      if (!options.optimistic || !isOutdated(error)) throw error;
      time.forget();
      return await once({ ...options, optimistic: false }, work);
    }
  };

  async function once<T>(
    options: TransactUse,
    work: (transaction: Transaction) => Promise<T>,
  ): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw storeFailure(error);
    });
    let broken: Error | undefined;
    const sent = createSent(client, { ask: queryOn(client, schema), use: options, time });
    try {
      const begin = sent.begin();
      if (!options.leadsWithLock) await sent.checked();
      const result = await work(sent.transaction);
      await sent.checked();
      await sent.commit().catch(async (error: unknown) => {
        if (!isConnectionLost(error)) throw error;
        broken = error instanceof Error ? error : new Error(String(error));
        const { id } = await begin;
        const fate = id === null ? null : await commitResultOf(pool, clock, id);
        if (fate === false) throw rolledBack(error);
        if (fate === null) throw error;
      });
      return result;
    } catch (error) {
      sent.close();
      if (isConnectionLost(error))
        broken = error instanceof Error ? error : new Error(String(error));
      else if (!broken)
        await client.query("rollback").catch((failed: unknown) => {
          broken = failed instanceof Error ? failed : new Error(String(failed));
        });
      throw storeFailure(broken ? error : causeOf(error, await sent.firstFailure()));
    } finally {
      client.release(broken);
    }
  }
}

export type Transact = ReturnType<typeof createTransact>;

/**
 * A caller that waits for one statement alone sees only that PostgreSQL refuses it because an
 * earlier one has failed; and work that is decided by outdated knowledge may fail by that. The
 * first failure is then the cause.
 */
function causeOf(error: unknown, firstFailure: unknown): unknown {
  return isRefused(error) || isOutdated(firstFailure) ? (firstFailure ?? error) : error;
}

/** All that `work` reads is of one snapshot, however many statements it takes. */
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
    // A connection whose state is not known is not used again.
    client.release(failed);
  }
}

/**
 * Runs statements by name on this connection. The row type is the statement's contract in its .sql
 * file.
 */
export function queryOn(client: Pick<pg.ClientBase, "query"> | pg.Pool, schema: string): Query {
  return async <Row extends pg.QueryResultRow>(name: string, values: Values) => {
    const result = await client.query<Row>(bind(name, values, schema));
    return result.rows;
  };
}

/** true: committed; false: rolled back; null: not known. */
async function commitResultOf(
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
      if (!isConnectionLost(error)) return null;
    }
    await clock.sleep(FATE_PAUSE_MS);
  }
  return null;
}
