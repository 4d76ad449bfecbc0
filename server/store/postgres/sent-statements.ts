// What one transaction sends on its connection: BEGIN, its statements, and COMMIT. Whether they
// have been answered is in answers.ts; why they are sent together, in transaction.ts.
import pg from "pg";
import type { EpochMs } from "../../core/model/attempt.ts";
import { type Answers, createAnswers } from "./answers.ts";
import type { DatabaseTime } from "./database-time.ts";
import { INCARNATION } from "./pool.ts";
import type { Values } from "./sql.ts";
import type { Query, Transaction, TransactUse } from "./transaction.ts";

export interface TransactionId {
  readonly xid: string;
  readonly incarnation: string | null;
}

interface BeginAnswer {
  readonly now: EpochMs;
  /** null: the transaction's result is not asked for. */
  readonly id: TransactionId | null;
}

interface Sent {
  readonly transaction: Transaction;
  begin(): Promise<BeginAnswer>;
  /** Waits if an answer may still fail the transaction. */
  checked(): Promise<void>;
  /** Is sent behind all that was sent before. From here on the result may be unknown. */
  commit(): Promise<void>;
  /** From here on no statement is sent. */
  close(): void;
  /** The first failure in the order of the statements, once all are answered; null: none. */
  firstFailure(): Promise<unknown>;
}

interface Given {
  /** Runs statements by name on the connection. */
  readonly ask: Query;
  readonly use: TransactUse;
  readonly time: DatabaseTime;
}

interface State extends Given {
  readonly client: pg.PoolClient;
  readonly answers: Answers;
  /** null: no answer has contained it yet, and it is not assumed. */
  now: EpochMs | null;
  over: boolean;
}

export function createSent(client: pg.PoolClient, { ask, use, time }: Given): Sent {
  const answers = createAnswers();
  const state: State = { client, ask, use, time, answers, now: null, over: false };
  return Object.freeze({
    transaction: transactionOn(state),
    begin: () => begin(state),
    checked: answers.checked,
    commit: () => commit(state),
    close() {
      state.over = true;
    },
    firstFailure: answers.firstFailure,
  } satisfies Sent);
}

function transactionOn(state: State): Transaction {
  const { use, time } = state;
  return Object.freeze({
    get now() {
      const { now } = state;
      if (now === null) throw new Error("the time of a transaction is known by its first answer");
      return now;
    },
    query: (name, values) => query(state, name, values),
    send: (name, values, check) => send(state, name, values, check),
    optimistic: use.optimistic ?? false,
    assumeNow() {
      state.now ??= time.assumed();
      return state.now !== null;
    },
  } satisfies Transaction);
}

async function query<Row extends pg.QueryResultRow>(
  state: State,
  name: string,
  values: Values,
): Promise<readonly Row[]> {
  live(state);
  const { ask, answers } = state;
  const answer = answers.keep(ask<Row>(name, values), false);
  await answers.awaitPending();
  return answer;
}

function send<Row extends pg.QueryResultRow>(
  state: State,
  name: string,
  values: Values,
  check?: (rows: readonly Row[]) => void,
): Promise<readonly Row[]> {
  live(state);
  const { ask, answers } = state;
  const answer = ask<Row>(name, values).then((rows) => {
    check?.(rows);
    return rows;
  });
  return answers.keep(answer, check !== undefined);
}

function live({ over }: State): void {
  if (over) throw new Error("a statement was asked of a transaction that is over");
}

function begin(state: State): Promise<BeginAnswer> {
  const { client, use, time, answers } = state;
  const began = sendBegin(client, use).then((answer) => {
    time.observe(answer.now);
    state.now ??= answer.now;
    return answer;
  });
  return answers.keep(began, !(use.optimistic && use.leadsWithLock));
}

async function commit(state: State): Promise<void> {
  const { client, answers } = state;
  state.over = true;
  const committed = answers.keep(client.query("commit"), false);
  await answers.awaitPending();
  const { command } = await committed;
  if (command !== "COMMIT") throw new Error(`commit was answered by ${command}`);
}

async function sendBegin(
  client: pg.PoolClient,
  { fate = "asked", lockTimeoutMs }: TransactUse,
): Promise<BeginAnswer> {
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
