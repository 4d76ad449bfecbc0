// One transaction of a batch, and what became of it.
//
// Statements that nobody waits for leave together: BEGIN with the first lock, the writes with the
// read that follows them, the last of them with COMMIT. PostgreSQL works them off in their order,
// and what one that failed would be followed by is refused by it, COMMIT included; so whoever waits
// for one has waited for all before it. Only what a row count has yet to allow keeps COMMIT back.
//
// A COMMIT whose answer never came may or may not have counted. The transaction's id is asked for
// at its begin, and PostgreSQL is asked on another connection what became of it (pg_xact_status),
// so one rule serves every kind of batch: one that did not count is sent again by its caller, and
// only if the question stays unanswered is "not known" said. A database that crashed, or the
// standby that follows it, may have lost the id with its tail and given it to somebody else: an
// answer counts only of the incarnation in which the transaction began.
//
// An optimistic transaction may be sent whole, COMMIT with it, before PostgreSQL has answered: what
// it is decided by is checked by statements of its own (expect_known), which fail it otherwise, and
// then its work is done once more, by what is read under locks.
import pg from "pg";
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/attempt.ts";
import type { TransactOptions } from "../store.ts";
import { createDatabaseTime, type DatabaseTime } from "./database-time.ts";
import { isAway, isOutdated, isRefused, rolledBack, storeFailure } from "./failure.ts";
import { INCARNATION } from "./pool.ts";
import { statement } from "./sql.ts";

/** How long the fate of a COMMIT is asked for. */
const FATE_MS_MAX = 2_000;
const FATE_PAUSE_MS = 200;

interface TransactionId {
  readonly xid: string;
  readonly incarnation: string | null;
}

export type Query = <Row extends pg.QueryResultRow>(
  name: string,
  values: readonly unknown[],
) => Promise<readonly Row[]>;

/**
 * Sends a statement without waiting for it: the next `query` does, and the commit, and either fails
 * if it has failed or if `check` throws at its rows. Who needs the rows may wait for them.
 */
export type Send = <Row extends pg.QueryResultRow>(
  name: string,
  values: readonly unknown[],
  check?: (rows: readonly Row[]) => void,
) => Promise<readonly Row[]>;

export interface Begun {
  /** Of a transaction that leads with a lock, known from its first answer on. */
  readonly now: EpochMs;
  readonly query: Query;
  readonly send: Send;
  /** What was known before may decide it: see `TransactOptions`. */
  readonly optimistic: boolean;
  /** From here on `now` is known, before the first answer; false: nothing is known of the time. */
  assumeNow(): boolean;
}

type Use = Pick<TransactOptions, "fate" | "lockTimeoutMs" | "leadsWithLock" | "optimistic">;

export function createTransact(
  pool: pg.Pool,
  clock: Clock,
  schema: string,
  time: DatabaseTime = createDatabaseTime(clock),
) {
  return async function transact<T>(options: Use, work: (begun: Begun) => Promise<T>): Promise<T> {
    try {
      return await once(options, work);
    } catch (error) {
      if (!options.optimistic || !isOutdated(error)) throw error;
      time.forget();
      return await once({ ...options, optimistic: false }, work);
    }
  };

  async function once<T>(options: Use, work: (begun: Begun) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw storeFailure(error);
    });
    let broken: Error | undefined;
    const sent = sentOn(client, schema, options, time);
    try {
      const begin = sent.begin();
      if (!options.leadsWithLock) await sent.checked();
      const result = await work(sent.begun);
      await sent.checked();
      await sent.commit().catch(async (error: unknown) => {
        if (!isAway(error)) throw error;
        broken = error instanceof Error ? error : new Error(String(error));
        const { id } = await begin;
        const fate = id === null ? null : await fateOf(pool, clock, id);
        if (fate === false) throw rolledBack(error);
        if (fate === null) throw error;
      });
      return result;
    } catch (error) {
      sent.close();
      if (isAway(error)) broken = error instanceof Error ? error : new Error(String(error));
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

/** What has been sent on a connection within one transaction, and whether it has been answered. */
function sentOn(client: pg.PoolClient, schema: string, use: Use, time: DatabaseTime) {
  const ask = queryOn(client, schema);
  let now: EpochMs | null = null;
  let over = false;
  let unheard: Promise<unknown>[] = [];
  let unchecked = false;
  const all: Promise<unknown>[] = [];

  /** All that nobody has waited for yet. Whoever takes it waits for it. */
  function hear(): Promise<unknown>[] {
    const heard = unheard;
    [unheard, unchecked] = [[], false];
    return heard;
  }

  function keep<T>(promise: Promise<T>, mustBeSeen: boolean): Promise<T> {
    // It is heard of by who waits next, and if nobody comes to wait, another has failed before.
    promise.catch(() => undefined);
    all.push(promise);
    unheard.push(promise);
    unchecked ||= mustBeSeen;
    return promise;
  }

  function live(): void {
    if (over) throw new Error("a statement was asked of a transaction that is over");
  }

  const query: Query = async <Row extends pg.QueryResultRow>(
    name: string,
    values: readonly unknown[],
  ) => {
    live();
    const answer = keep(ask<Row>(name, values), false);
    await inOrder(hear());
    return answer;
  };

  const send: Send = <Row extends pg.QueryResultRow>(
    name: string,
    values: readonly unknown[],
    check?: (rows: readonly Row[]) => void,
  ) => {
    live();
    const answer = ask<Row>(name, values).then((rows) => {
      check?.(rows);
      return rows;
    });
    return keep(answer, check !== undefined);
  };

  return Object.freeze({
    begun: Object.freeze({
      get now() {
        if (now === null) throw new Error("the time of a transaction is known by its first answer");
        return now;
      },
      query,
      send,
      optimistic: use.optimistic ?? false,
      assumeNow() {
        now ??= time.assumed();
        return now !== null;
      },
    } satisfies Begun),
    begin(): Promise<{ now: EpochMs; id: TransactionId | null }> {
      const begun = begin(client, use).then((answer) => {
        time.heard(answer.now);
        now ??= answer.now;
        return answer;
      });
      return keep(begun, !(use.optimistic && use.leadsWithLock));
    },
    /** Waits if there is anything that might still say no. */
    async checked(): Promise<void> {
      while (unchecked) await inOrder(hear());
    },
    /** Goes out behind what is on its way. From here on its fate may be unknown. */
    async commit(): Promise<void> {
      over = true;
      const committed = keep(client.query("commit"), false);
      await inOrder(hear());
      const { command } = await committed;
      if (command !== "COMMIT") throw new Error(`commit was answered by ${command}`);
    },
    close(): void {
      over = true;
    },
    /** In the order of the statements, once all are answered; null: none has failed. */
    async firstFailure(): Promise<unknown> {
      const answers = await Promise.allSettled(all);
      return answers.find((answer) => answer.status === "rejected")?.reason ?? null;
    },
  });
}

/**
 * Whoever waits for one statement alone hears only that PostgreSQL refuses it, as one before it has
 * failed; and whoever decides by what is no longer so may fail by that.
 */
function causeOf(error: unknown, firstFailure: unknown): unknown {
  return isRefused(error) || isOutdated(firstFailure) ? (firstFailure ?? error) : error;
}

/** The first that has failed is the one to tell of: PostgreSQL refuses what follows it. */
async function inOrder(answers: readonly Promise<unknown>[]): Promise<void> {
  for (const answer of answers) await answer;
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
  { fate = "asked", lockTimeoutMs }: Use,
): Promise<{ now: EpochMs; id: TransactionId | null }> {
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
): row is { now: EpochMs; xid: string | null; incarnation: string | null } {
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
export function queryOn(client: Pick<pg.ClientBase, "query"> | pg.Pool, schema: string): Query {
  return async <Row extends pg.QueryResultRow>(name: string, values: readonly unknown[]) => {
    const { text } = statement(name, schema);
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
