/**
 * Take-over. Each batch of a supervisor holds its own writer row, so its successor waits for
 * the batch in flight, and the former owner's later batches change nothing. Nor does a write of an
 * owner in a partition that its node does not own by the lease row.
 */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { PartitionSession } from "../../../server/store/partition-session.ts";
import type { Actor } from "../../../server/store/pass-record.ts";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { moveTimers } from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  chain,
  gatedStore,
  historyOf,
  newAgent,
  newTask,
  openQuietPlane,
  schedule,
  stateOf,
  success,
} from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

const gates = gatedStore();
let database: TestDatabase;
let hand: Hand;
let holder: Hand;
let plane: TestPlane;
const sessions: PartitionSession[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  holder = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString, gates.wrap);
});
afterEach(async () => {
  await holder.query("rollback");
  for (const session of sessions.splice(0)) await session.leave();
});
afterAll(async () => {
  await plane?.close();
  await holder?.close();
  await hand?.close();
  await database?.drop();
});

async function join(): Promise<PartitionSession> {
  const session = await plane.store.partitions.join({ node: randomUUID(), address: "test" });
  sessions.push(session);
  return session;
}

/** An owner of the run's partition, and the actor that its batches name. */
async function ownerOf({ partition }: RunRef) {
  const session = await join();
  const [taken] = await session.takeOver([partition]);
  return { session, actor: { node: session.node, epoch: taken?.epoch ?? 0 } };
}

/** A backoff that is over: the supervisor makes the step ready again. */
async function overdue(): Promise<RunRef> {
  const name = newTask();
  const run = await schedule(plane, chain(name, 1));
  const agent = newAgent(plane);
  await agent.report(await agent.take(name), {
    kind: "failure",
    class: "transient",
    code: "busy",
    message: "later",
    retryAfterMs: null,
    noEffect: true,
  });
  await moveTimers(hand, run.runId);
  return run;
}

/** In another partition. */
async function overdueBeside({ partition }: RunRef): Promise<RunRef> {
  const run = await overdue();
  return run.partition === partition ? overdueBeside(run) : run;
}

const backoff = { kind: "due-timer", step: 0, on: "backoff" } as const;
const rulesOf = async (run: RunRef) =>
  (await historyOf(plane, run)).interventions.map(({ rule, node, epoch }) => ({
    rule,
    node,
    epoch,
  }));

describe("a take-over", () => {
  it("waits for the batch that the former owner has in flight, which commits", async () => {
    const run = await overdue();
    const { session, actor } = await ownerOf(run);
    const gate = gates.stopNext("advance");
    const batch = plane.advance.submit(run, backoff, actor);
    await gate.reached;
    const next = await join();
    const taking = next.takeOver([run.partition]);
    await hand.untilWaiting("delete from drover.writer");
    gate.open();
    expect(await batch).toEqual({ kind: "done" });
    expect(await taking).toEqual([{ partition: run.partition, epoch: actor.epoch + 1 }]);
    expect(await rulesOf(run)).toEqual([
      { rule: "backoff", node: session.node, epoch: actor.epoch },
    ]);
  });

  it("fences every later batch of the former owner: it changes nothing and gets an error", async () => {
    const run = await overdue();
    const { actor } = await ownerOf(run);
    const next = await join();
    const [taken] = await next.takeOver([run.partition]);
    expect(await plane.advance.submit(run, backoff, actor)).toEqual({ kind: "fenced" });
    expect(await rulesOf(run)).toEqual([]);
    const successor = { node: next.node, epoch: taken?.epoch ?? 0 };
    expect(await plane.advance.submit(run, backoff, successor)).toEqual({ kind: "done" });
    expect(await rulesOf(run)).toEqual([{ rule: "backoff", ...successor }]);
  });

  it("leaves no gap: a batch that waits for a run when it begins commits before it, never after", async () => {
    const run = await overdue();
    const { actor } = await ownerOf(run);
    await holder.query("begin");
    await holder.query("select from drover.run_page where run_id = $1 and no = 0 for update", [
      run.runId,
    ]);
    const batch = plane.advance.submit(run, backoff, actor);
    await hand.untilWaiting("for no key update of p");
    const next = await join();
    let isTaken = false;
    const taking = next.takeOver([run.partition]).then(() => {
      isTaken = true;
    });
    await hand.untilWaiting("delete from drover.writer");
    expect(isTaken).toBe(false);
    await holder.query("rollback");
    expect(await batch).toEqual({ kind: "done" });
    await taking;
    expect(await plane.advance.submit(run, backoff, actor)).toEqual({ kind: "fenced" });
  });

  it("leaves no gap: a batch that comes while it waits finds its writer row gone", async () => {
    const run = await overdue();
    const other = await overdue();
    const { actor } = await ownerOf(run);
    // The fence is set, its transaction is still open: another session's commit is slow.
    await holder.query("begin");
    await holder.query("delete from drover.writer where node = $1", [actor.node]);
    const batch = plane.advance.submit(run, backoff, actor);
    await hand.untilWaiting("join drover.writer");
    await holder.query("commit");
    expect(await batch).toEqual({ kind: "fenced" });
    expect(await plane.advance.submit(other, backoff, actor)).toEqual({ kind: "fenced" });
    expect([await rulesOf(run), await rulesOf(other)]).toEqual([[], []]);
  });

  it("of one supervisor leaves the batches of another alone, and all reports of agents", async () => {
    const run = await overdue();
    const other = await overdueBeside(run);
    const mine = await ownerOf(run);
    const theirs = await ownerOf(other);
    const next = await join();
    await next.takeOver([run.partition]);
    const name = newTask();
    const free = await schedule(plane, chain(name, 1));
    const agent = newAgent(plane);
    const answers = await Promise.all([
      plane.advance.submit(run, backoff, mine.actor),
      plane.advance.submit(other, backoff, theirs.actor),
      agent.report(await agent.take(name), success),
    ]);
    expect(answers).toEqual([{ kind: "fenced" }, { kind: "done" }, "accepted"]);
    expect(await stateOf(plane, free)).toBe("COMPLETED");
  });
});

describe("a supervisor whose writer row is there changes nothing in a partition", () => {
  const refusedTo = async (run: RunRef, actor: Actor) => {
    expect(await plane.advance.submit(run, backoff, actor)).toEqual({ kind: "fenced" });
    expect(await rulesOf(run)).toEqual([]);
  };

  it("that it has handed back", async () => {
    const run = await overdue();
    const { session, actor } = await ownerOf(run);
    await session.unlock([run.partition]);
    await refusedTo(run, actor);
  });

  it("that it owns in another epoch by now", async () => {
    const run = await overdue();
    const { session, actor } = await ownerOf(run);
    await session.takeOver([run.partition]);
    await refusedTo(run, actor);
  });

  it("whose take-over the database has lost, while it acts in its other partitions", async () => {
    const run = await overdue();
    const other = await overdueBeside(run);
    const { session, actor } = await ownerOf(run);
    const [retained] = await session.takeOver([other.partition]);
    // A standby without the newest transactions was promoted: the lease is the former owner's.
    await hand.query(
      "update drover.partition_lease set node = $1, epoch = epoch - 1 where partition = $2",
      [randomUUID(), run.partition],
    );
    const still = { node: session.node, epoch: retained?.epoch ?? 0 };
    const [refused, done] = await Promise.all([
      plane.advance.submit(run, backoff, actor),
      plane.advance.submit(other, backoff, still),
    ]);
    expect([refused, done]).toEqual([{ kind: "fenced" }, { kind: "done" }]);
    expect(await rulesOf(run)).toEqual([]);
    expect(await rulesOf(other)).toEqual([{ rule: "backoff", ...still }]);
  });
});

describe("a supervisor that was fenced", () => {
  it("forgets everything, joins under a new id and takes its share again", async () => {
    const watched = await openQuietPlane(database.connectionString);
    await watched.ownership.start();
    const before = watched.ownership.node();
    expect(watched.ownership.owned()).toHaveLength(256);
    const intruder = await join();
    await intruder.takeOver([0]);
    const run = await overdue();
    watched.timers.taken([run.partition]);
    await watched.timers.scanOnce();
    expect(watched.ownership.node()).not.toBe(before);
    await expect.poll(() => watched.ownership.owned().length, { timeout: 10_000 }).toBe(256);
    expect(await rulesOf(run)).toEqual([]);
    await watched.timers.scanOnce();
    const node = watched.ownership.node();
    expect(await rulesOf(run)).toMatchObject([{ rule: "backoff", node }]);
    await watched.close();
  });

  it("that stops cleanly leaves nothing behind: no lock, no writer, no node", async () => {
    const watched = await openQuietPlane(database.connectionString);
    await watched.ownership.start();
    const node = watched.ownership.node();
    await watched.close();
    const left = await hand.query(
      `select id::text as id from drover.node where id = $1
       union all select node::text from drover.writer where node = $1
       union all select node::text from drover.partition_lease where node = $1`,
      [node],
    );
    expect(left).toEqual([]);
    const locks = await hand.query(
      `select from pg_locks where locktype = 'advisory' and objsubid = 2
         and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(locks).toEqual([]);
  });
});
