/**
 * The outcome of a transaction: it is queried if the answer of a COMMIT is lost, a connection that
 * dies fails its own batch and nothing else, and every unknown outcome is reported as such.
 */
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "../../../server/clock.ts";
import { isRetryable } from "../../../server/store/postgres/failure.ts";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import { createTransact, type Transaction } from "../../../server/store/postgres/transaction.ts";
import { quietLog } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Hand, openHand } from "../control-plane/hand.ts";

let database: TestDatabase;
let hand: Hand;
let pool: pg.Pool;
let transact: ReturnType<typeof createTransact>;
let slept: number[];
let duringSleep: () => Promise<unknown>;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
});
beforeEach(() => {
  slept = [];
  duringSleep = async () => undefined;
  pool = createPool(database.connectionString, "hot", 3, quietLog);
  transact = createTransact(pool, impatient(), "drover");
});
afterEach(async () => {
  vi.restoreAllMocks();
  await pool.end();
});
afterAll(async () => {
  await hand?.close();
  await database?.drop();
});

/** Sleeps take no time, and are counted. */
function impatient(): Clock {
  let aheadMs = 0;
  return {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    async sleep(ms) {
      slept.push(ms);
      aheadMs += ms;
      await duringSleep();
    },
  };
}

const insert =
  (name: string) =>
  ({ query }: Transaction) =>
    query("create_namespace", { name, region: "default" });

/** What `insert` returns: the new namespace. */
const STORED = [{ id: expect.any(Number) }];

async function isStored(name: string): Promise<boolean> {
  return (await hand.query("select from drover.namespace where name = $1", [name])).length === 1;
}

async function backendOf({ query }: Transaction): Promise<number> {
  await query("find_namespace", { name: "default" });
  const rows = await hand.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database()
     and application_name = 'drover-hot' and state = 'idle in transaction'`,
  );
  const [row] = rows;
  if (!row || rows.length > 1) throw new Error(`${rows.length} transactions are open, not one`);
  return row.pid;
}

/** Returns when it has ended. */
const terminate = (pid: number) =>
  hand.query("select pg_terminate_backend($1::integer, 10000::bigint)", [pid]);

/** The next COMMIT is carried out by `commit`, and its answer is lost. */
function loseAnswerOfCommit(commit: (really: () => Promise<unknown>) => Promise<unknown>): void {
  const query = pg.Client.prototype.query;
  let lost = false;
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(async function (
    this: pg.Client,
    ...asked: unknown[]
  ) {
    const really = () => Reflect.apply(query, this, asked);
    if (asked[0] !== "commit" || lost) return really();
    lost = true;
    await commit(really);
    throw new Error("Connection terminated unexpectedly");
  });
}

describe("a COMMIT whose answer is lost", () => {
  it("is found to have been committed, and the batch succeeds", async () => {
    loseAnswerOfCommit((really) => really());
    await expect(transact({}, insert("committed"))).resolves.toEqual(STORED);
    expect(await isStored("committed")).toBe(true);
    expect(pool.totalCount).toBe(1);
  });

  it("and that was rolled back is distinguished: the batch may be sent again as it is", async () => {
    const backend = Promise.withResolvers<number>();
    loseAnswerOfCommit(async () => terminate(await backend.promise));
    const failed = transact({}, async (transaction) => {
      await insert("aborted")(transaction);
      backend.resolve(await backendOf(transaction));
    }).catch((error: unknown) => error);
    const error = await failed;
    expect(error).toMatchObject({ reason: "STORE_UNAVAILABLE" });
    expect(isRetryable(error)).toBe(true);
    expect(await isStored("aborted")).toBe(false);
    await transact({}, insert("aborted"));
    expect(await isStored("aborted")).toBe(true);
  });

  it("is asked about until it is over, while the server still works on it", async () => {
    const sent = Promise.withResolvers<() => Promise<unknown>>();
    loseAnswerOfCommit(async (really) => sent.resolve(really));
    duringSleep = async () => {
      if (slept.length === 3) await (await sent.promise)();
    };
    await expect(transact({}, insert("slow"))).resolves.toEqual(STORED);
    expect(slept).toHaveLength(3);
    expect(await isStored("slow")).toBe(true);
  });

  it("without any answer is unknown, and is not sent again blindly", async () => {
    loseAnswerOfCommit((really) => really());
    vi.spyOn(pool, "query").mockImplementation(() => {
      throw new Error("Connection terminated unexpectedly");
    });
    const error = await transact({}, insert("unknown")).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ reason: "STORE_UNAVAILABLE" });
    expect(isRetryable(error)).toBe(false);
    expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(2_000);
  });

  it("of a batch that does not ask is not known at once", async () => {
    loseAnswerOfCommit((really) => really());
    const error = await transact({ fate: "unasked" }, insert("unasked")).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ reason: "STORE_UNAVAILABLE" });
    expect(isRetryable(error)).toBe(false);
    expect(slept).toEqual([]);
  });
});

describe("a connection that dies in the middle of a batch", () => {
  it("while the batch thinks fails the batch and not the process", async () => {
    const batch = transact({}, async (transaction) => {
      await insert("dies-idle")(transaction);
      const pid = await backendOf(transaction);
      await terminate(pid);
      await expect
        .poll(() => hand.query("select from pg_stat_activity where pid = $1", [pid]))
        .toEqual([]);
      await new Promise(setImmediate);
      return transaction.query("find_namespace", { name: "default" });
    });
    await expect(batch).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    expect(await isStored("dies-idle")).toBe(false);
    await expect(transact({}, insert("after-idle"))).resolves.toEqual(STORED);
  });

  it("while a statement waits fails the batch and not the process", async () => {
    await hand.query("begin");
    await hand.query("insert into drover.namespace (name) values ('dies-waiting')");
    const failing = expect(transact({}, insert("dies-waiting"))).rejects.toMatchObject({
      reason: "STORE_UNAVAILABLE",
    });
    const other = await openHand(database.connectionString);
    await other.untilWaiting("insert into drover.namespace");
    await other.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'drover-hot'`,
    );
    await failing;
    await hand.query("rollback");
    await other.close();
    expect(await isStored("dies-waiting")).toBe(false);
  });

  it("between two batches costs neither of them", async () => {
    await transact({}, insert("before"));
    await hand.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'drover-hot'`,
    );
    await expect.poll(() => pool.totalCount).toBe(0);
    await expect(transact({}, insert("after"))).resolves.toEqual(STORED);
  });
});

describe("a batch that fails by itself", () => {
  it("is rolled back, and its connection serves the next", async () => {
    const failed = transact({}, async (transaction) => {
      await insert("rolled-back")(transaction);
      throw new Error("changed its mind");
    });
    await expect(failed).rejects.toThrow("changed its mind");
    expect(await isStored("rolled-back")).toBe(false);
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
  });

  it("by a lock that it waited for too long may be sent again as it is", async () => {
    await hand.query("begin");
    await hand.query("insert into drover.namespace (name) values ('locked')");
    const error = await transact({ lockTimeoutMs: 20 }, insert("locked")).catch(
      (reason: unknown) => reason,
    );
    await hand.query("rollback");
    expect(isRetryable(error)).toBe(true);
    const [setting] = await transact({}, ({ query }) =>
      query("find_namespace", { name: "default" }),
    );
    expect(setting).toMatchObject({ name: "default" });
  });
});

/** What is sent on connections, in its order, and `=` where an answer has come. */
function watchTheWire(): string[] {
  const wire: string[] = [];
  const query = pg.Client.prototype.query;
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: pg.Client,
    ...asked: unknown[]
  ) {
    const [what] = asked;
    const named = typeof what === "object" && what !== null && "name" in what ? what.name : what;
    const name = String(named).split(";")[0] ?? "";
    wire.push(name);
    const answer: unknown = Reflect.apply(query, this, asked);
    if (answer instanceof Promise)
      void answer.then(
        () => wire.push(`= ${name}`),
        () => wire.push(`! ${name}`),
      );
    return answer;
  });
  return wire;
}

describe("statements that no caller waits for", () => {
  const sendInsert = ({ send }: Transaction, name: string) =>
    void send("create_namespace", { name, region: "default" });

  it("leave together, the last of them with COMMIT", async () => {
    await transact({}, async () => undefined);
    const wire = watchTheWire();
    await transact({}, async (transaction) => {
      sendInsert(transaction, "sent-first");
      sendInsert(transaction, "sent-second");
    });
    expect(wire).toEqual([
      "begin",
      "= begin",
      "create_namespace",
      "create_namespace",
      "commit",
      "= create_namespace",
      "= create_namespace",
      "= commit",
    ]);
    expect(await isStored("sent-second")).toBe(true);
  });

  it("are waited for by the next statement that a caller waits for", async () => {
    const seen = await transact({}, async (transaction) => {
      sendInsert(transaction, "sent-before");
      return transaction.query("find_namespace", { name: "sent-before" });
    });
    expect(seen).toMatchObject([{ name: "sent-before" }]);
  });

  it("fail the batch with what went wrong first, COMMIT or not", async () => {
    const failing = (transaction: Transaction) => {
      sendInsert(transaction, "half-done");
      void transaction.send("find_version", {
        namespace_id: "not a number",
        name: "x",
        version: 0,
      });
    };
    const atCommit = transact({}, async (transaction) => failing(transaction));
    await expect(atCommit).rejects.toMatchObject({ code: "22P02" });
    const atQuery = transact({}, async (transaction) => {
      failing(transaction);
      await transaction.query("find_namespace", { name: "default" });
    });
    await expect(atQuery).rejects.toMatchObject({ code: "22P02" });
    expect(await isStored("half-done")).toBe(false);
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
  });

  it("keep COMMIT back while a check may still refuse", async () => {
    const wire = watchTheWire();
    const batch = transact({}, async ({ send }) => {
      void send("create_namespace", { name: "checked", region: "default" }, (rows) => {
        throw new Error(`met ${rows.length} rows`);
      });
    });
    await expect(batch).rejects.toThrow("met 1 rows");
    expect(wire).not.toContain("commit");
    expect(await isStored("checked")).toBe(false);
    await expect(transact({}, insert("after-check"))).resolves.toEqual(STORED);
  });

  it("and whose answer is lost beside that of COMMIT may have counted: it is asked about", async () => {
    const query = pg.Client.prototype.query;
    let over: Promise<unknown> = Promise.resolve();
    vi.spyOn(pg.Client.prototype, "query").mockImplementation(async function (
      this: pg.Client,
      ...asked: unknown[]
    ) {
      const [what] = asked;
      const really: unknown = Reflect.apply(query, this, asked);
      if (what === "commit") over = Promise.resolve(really);
      if (typeof what !== "object" || what === null || !("name" in what)) return really;
      if (what.name !== "create_namespace") return really;
      await really;
      await over;
      throw new Error("Connection terminated unexpectedly");
    });
    await expect(
      transact({}, async (transaction) => sendInsert(transaction, "both-lost")),
    ).resolves.toBe(undefined);
    vi.restoreAllMocks();
    expect(await isStored("both-lost")).toBe(true);
  });

  it("cannot be asked of a transaction that is over", async () => {
    const transaction = await transact({}, async (it) => it);
    await expect(transaction.query("find_namespace", { name: "default" })).rejects.toThrow(
      "is over",
    );
    expect(() => transaction.send("find_namespace", { name: "default" })).toThrow("is over");
  });
});

describe("a transaction that leads with a lock", () => {
  const leads = { leadsWithLock: true };

  it("sends it with BEGIN, and knows the time when it is answered", async () => {
    await transact({}, async () => undefined);
    const wire = watchTheWire();
    const now = await transact(leads, async (transaction) => {
      expect(() => transaction.now).toThrow("first answer");
      await transaction.query("find_namespace", { name: "default" });
      return transaction.now;
    });
    expect(wire).toEqual([
      "begin",
      "find_namespace",
      "= begin",
      "= find_namespace",
      "commit",
      "= commit",
    ]);
    expect(Math.abs(now - Date.now())).toBeLessThan(60_000);
  });

  it("fails if BEGIN has failed, whatever the first answer is", async () => {
    const query = pg.Client.prototype.query;
    vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
      this: pg.Client,
      ...asked: unknown[]
    ) {
      if (String(asked[0]).startsWith("begin")) return Promise.reject(new Error("no transaction"));
      return Reflect.apply(query, this, asked);
    });
    const batch = transact(leads, ({ query: ask }) => ask("find_namespace", { name: "default" }));
    await expect(batch).rejects.toThrow("no transaction");
  });
});

describe("an optimistic transaction", () => {
  const optimistic = { leadsWithLock: true, optimistic: true };
  const NO_RUN = "0198c0de-0000-7000-8000-00000000002a";

  /** `known`: of a run that is not there. */
  function hold({ now, send }: Transaction, known: readonly number[] = []): void {
    void send("hold_known_runs", {
      partition: known.map(() => 0),
      run_id: known.map(() => NO_RUN),
      known,
      now,
      off_max: 2_000,
    });
  }

  it("goes out whole, COMMIT with it, once the time is known", async () => {
    await transact({}, async () => undefined);
    const wire = watchTheWire();
    await transact(optimistic, async (transaction) => {
      expect(transaction.assumeNow()).toBe(true);
      hold(transaction);
      void transaction.send("create_namespace", { name: "whole", region: "default" });
      expect(Math.abs(transaction.now - Date.now())).toBeLessThan(60_000);
    });
    const sent = ["begin", "hold_known_runs", "create_namespace", "commit"];
    expect(wire).toEqual([...sent, ...sent.map((name) => `= ${name}`)]);
    expect(await isStored("whole")).toBe(true);
  });

  it("is worked once more, by what it reads, where what was known is no longer so", async () => {
    await transact({}, async () => undefined);
    const tries: boolean[] = [];
    await transact(optimistic, async (transaction) => {
      tries.push(transaction.optimistic);
      if (transaction.optimistic && transaction.assumeNow()) hold(transaction, [1]);
      void transaction.send("create_namespace", { name: `try-${tries.length}`, region: "default" });
      await transaction.query("find_namespace", { name: "default" });
    });
    expect(tries).toEqual([true, false]);
    expect([await isStored("try-1"), await isStored("try-2")]).toEqual([false, true]);
  });

  it("is worked once more also where its work waits for another statement, or fails meanwhile", async () => {
    await transact({}, async () => undefined);
    const tries: boolean[] = [];
    const ways = [
      async (transaction: Transaction) =>
        void (await transaction.send("find_namespace", { name: "default" })),
      async () => {
        throw new Error("what was known makes no sense any more");
      },
    ];
    for (const fails of ways)
      await transact(optimistic, async (transaction) => {
        tries.push(transaction.optimistic);
        if (!transaction.optimistic) return;
        await transact({}, async () => undefined);
        expect(transaction.assumeNow()).toBe(true);
        hold(transaction, [1]);
        await fails(transaction);
      });
    expect(tries).toEqual([true, false, true, false]);
  });

  it("is refused by a time that is far from the database's", async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    const ahead = createTransact(pool, clock, "drover");
    await ahead({}, async () => undefined);
    aheadMs = 5_000;
    const tries: boolean[] = [];
    await ahead(optimistic, async (transaction) => {
      tries.push(transaction.optimistic);
      if (transaction.optimistic && transaction.assumeNow()) hold(transaction);
    });
    expect(tries).toEqual([true, false]);
  });

  it("changes nothing where BEGIN alone has failed: its session ends before the next statement", async () => {
    await transact({}, async () => undefined);
    const query = pg.Client.prototype.query;
    vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
      this: pg.Client,
      ...asked: unknown[]
    ) {
      const isBegin = String(asked[0]).startsWith("begin");
      return Reflect.apply(query, this, isBegin ? ["select 1 / 0"] : asked);
    });
    const batch = transact(optimistic, async (transaction) => {
      expect(transaction.assumeNow()).toBe(true);
      hold(transaction);
      void transaction.send("create_namespace", { name: "alone", region: "default" });
    });
    // Which of the two it receives first, the error or the end of its session, is chance.
    await expect(batch).rejects.toThrow(/division by zero|does not answer/);
    vi.restoreAllMocks();
    await expect.poll(() => hand.query(OPEN_SESSIONS)).toEqual([]);
    expect(await isStored("alone")).toBe(false);
  });
});

/** Of the pool. */
const OPEN_SESSIONS = `select from pg_stat_activity
  where datname = current_database() and application_name = 'drover-hot'`;

describe("a partition session", () => {
  it("that cannot join leaves no session behind that could bring the process down", async () => {
    const store = createPostgresStore({
      connectionString: database.connectionString,
      log: quietLog,
    });
    const node = "00000000-0000-4000-8000-000000000001";
    const first = await store.partitions.join({ node, address: "test" });
    // The same node twice: the second join fails after its session was opened.
    await expect(store.partitions.join({ node, address: "test" })).rejects.toThrow();
    const sessions = () =>
      hand.query(
        `select from pg_stat_activity
         where datname = current_database() and application_name = 'drover-session'`,
      );
    await expect.poll(sessions).toHaveLength(1);
    await first.leave();
    await store.close();
  });
});
