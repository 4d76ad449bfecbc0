/**
 * Why a batch locks a row of its own. The same interleaving is played twice on PostgreSQL: with
 * the statement as it is, and with a twin of its text in which one rule is another. By a plain read
 * of the epoch a server that was frozen writes after the take-over; by a shared lock on the lease
 * row the take-over starves for as long as batches overlap.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { PartitionSession, TakenPartition } from "../../../server/store/partition-session.ts";
import { statement } from "../../../server/store/postgres/sql.ts";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { moveTimers } from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  busy,
  chain,
  gatedStore,
  historyOf,
  newAgent,
  newTask,
  openQuietPlane,
  schedule,
  settledOf,
} from "../control-plane/fixture.ts";
import { type Hand, openHand } from "../control-plane/hand.ts";

const LOCK = "for no key update of w";
const REAL = statement("hold_writer").text;
const PLAIN_READ = REAL.replace(LOCK, "");
/** The lease row is what batches share and a take-over changes. */
const SHARED = REAL.replace(LOCK, "for share of l");

const gates = gatedStore();
let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;
const sessions: PartitionSession[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString, gates.wrap);
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const session of sessions.splice(0)) await session.leave();
});
afterAll(async () => {
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

/** From now on batches send this text for the statement; all else is as it is. */
function holdWriterBy(text: string): void {
  const query = pg.Client.prototype.query;
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    const [what, ...more] = args;
    const isHold =
      typeof what === "object" && what !== null && "name" in what && what.name === "hold_writer";
    // Without its name: the connection may have prepared the other text by it.
    const sent = isHold ? { ...what, name: undefined, text } : what;
    return Reflect.apply(query, this, [sent, ...more]);
  });
}

async function join(): Promise<PartitionSession> {
  const session = await plane.store.partitions.join({ node: randomUUID(), address: "test" });
  sessions.push(session);
  return session;
}

/** A run with a backoff that is over, the owner of its partition, and who comes after. */
async function twoOwners() {
  const name = newTask();
  const run = await schedule(plane, chain(name, 1));
  const agent = newAgent(plane);
  await agent.report(await agent.take(name), busy);
  await moveTimers(hand, run.runId);
  const former = await join();
  const next = await join();
  const taken = await former.takeOver([run.partition]);
  return { run, former, next, taken, epoch: taken[0]?.epoch ?? 0 };
}

async function leaseOf({ partition }: RunRef): Promise<string | null> {
  const [row] = await hand.query<{ node: string }>(
    "select node from drover.partition_lease where partition = $1",
    [partition],
  );
  return row?.node ?? null;
}

const backoff = { kind: "due-timer", step: 0, on: "backoff" } as const;

/**
 * The owner is frozen once it has asked and written, before its COMMIT; another server takes over.
 */
async function frozenBatch() {
  const { run, former, next, epoch } = await twoOwners();
  const gate = gates.stopNext("advance");
  const batch = plane.advance.submit(run, backoff, { node: former.node, epoch });
  await gate.reached;
  const takeOver = next.takeOver([run.partition]);
  return { run, former, next, epoch, batch, takeOver, wake: gate.open };
}

async function writersOf(run: RunRef) {
  return (await historyOf(plane, run)).interventions.map(({ node, epoch }) => ({ node, epoch }));
}

describe("a server that wakes after it was relieved", () => {
  it("by a plain read of the epoch writes in the epoch of before", async () => {
    holdWriterBy(PLAIN_READ);
    const { run, former, next, epoch, batch, takeOver, wake } = await frozenBatch();
    expect(await takeOver).toEqual([{ partition: run.partition, epoch: epoch + 1 }]);
    wake();
    expect(await batch).toEqual({ kind: "done" });
    // The stale write: by its lease row the partition was another owner's before it was committed.
    expect(await leaseOf(run)).toBe(next.node);
    expect(await writersOf(run)).toEqual([{ node: former.node, epoch }]);
  });

  it("by the lock on its writer row delays the take-over until it has committed", async () => {
    holdWriterBy(REAL);
    const { run, former, epoch, batch, takeOver, wake } = await frozenBatch();
    const isTaken = settledOf(takeOver);
    await hand.untilWaiting("delete from drover.writer");
    expect([isTaken(), await leaseOf(run)]).toEqual([false, former.node]);
    wake();
    expect(await batch).toEqual({ kind: "done" });
    await takeOver;
    expect(await writersOf(run)).toEqual([{ node: former.node, epoch }]);
  });

  it("by that lock has lost its batch, where it sleeps for longer than a session may", async () => {
    holdWriterBy(REAL);
    const { run, next, epoch, batch, takeOver, wake } = await frozenBatch();
    await hand.untilWaiting("delete from drover.writer");
    // As idle_in_transaction_session_timeout does, after 2 s.
    await hand.endIdleTransaction();
    expect(await takeOver).toEqual([{ partition: run.partition, epoch: epoch + 1 }]);
    wake();
    // Its transaction has not counted: it was sent again, and found its writer row gone.
    expect(await batch).toEqual({ kind: "fenced" });
    expect(await leaseOf(run)).toBe(next.node);
    expect(await writersOf(run)).toEqual([]);
  });
});

describe("a take-over while batches overlap without a gap", () => {
  /** A batch that has asked, and waits until it may be sent. */
  async function batchOf(
    { node }: PartitionSession,
    taken: readonly TakenPartition[],
    number: number,
  ) {
    const held = Promise.withResolvers<readonly TakenPartition[]>();
    const release = Promise.withResolvers<void>();
    const over = plane.store.transact({ name: "batch" }, async (tx) => {
      held.resolve(await tx.holdWriter({ node, number }, taken));
      await release.promise;
    });
    return {
      held: held.promise,
      async commit() {
        release.resolve();
        await over;
      },
    };
  }

  it("by a shared lock on the lease row starves for as long as they come", async () => {
    holdWriterBy(SHARED);
    const { run, former, next, taken } = await twoOwners();
    let batch = await batchOf(former, taken, 0);
    expect(await batch.held).toEqual(taken);
    const takeOver = next.takeOver([run.partition]);
    const isTaken = settledOf(takeOver);
    await hand.untilWaiting("partition_lease");
    for (let nth = 1; nth <= 5; nth++) {
      const after = await batchOf(former, taken, nth % 2);
      expect(await after.held).toEqual(taken);
      await batch.commit();
      batch = after;
      expect([isTaken(), await leaseOf(run)]).toEqual([false, former.node]);
    }
    await batch.commit();
    await takeOver;
    expect(await leaseOf(run)).toBe(next.node);
  });

  it("by their own rows waits for those that are out, and the next one is refused", async () => {
    holdWriterBy(REAL);
    const { run, former, next, taken } = await twoOwners();
    const batch = await batchOf(former, taken, 0);
    expect(await batch.held).toEqual(taken);
    const takeOver = next.takeOver([run.partition]);
    await hand.untilWaiting("delete from drover.writer");
    const after = await batchOf(former, taken, 0);
    await hand.untilWaiting("join drover.writer");
    await batch.commit();
    await takeOver;
    expect(await after.held).toEqual([]);
    await after.commit();
    expect(await leaseOf(run)).toBe(next.node);
  });
});
