/**
 * A message of one run to another is durable: the process that wrote it may die after its commit,
 * and the owner of the target's partition delivers it, once.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Message } from "../../../server/core/model/message.ts";
import { emptyView } from "../../../server/core/model/model.ts";
import type { RunRef } from "../../../server/store/store.ts";
import { openPlane, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  chain,
  gatedStore,
  newAgent,
  newTask,
  openQuietPlane,
  schedule,
  stateOf,
} from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

const gates = gatedStore();
let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString, gates.wrap);
});
afterAll(async () => {
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

/**
 * The commit of a process that then dies: the message is there, and no server was notified of it.
 */
async function writeAndDie(from: RunRef, to: RunRef, message: Message): Promise<void> {
  const laneOf = () => {
    throw new Error("no lane is asked for");
  };
  await plane.store.transact({ name: "a dying sender" }, async (tx) => {
    const [head] = await tx.lockRuns([from], true);
    if (!head) throw new Error("the sender is open");
    const view = emptyView(head.run);
    const effects = [{ kind: "message-sent", to: to.runId, message }] as const;
    await tx.write([{ head, before: view, after: view, effects, laneOf, actor: null }]);
  });
}

const waiting = async ({ runId }: RunRef) =>
  (await hand.query("select from drover.message where run_id = $1", [runId])).length;

describe("a message whose sender died after its commit", () => {
  it("is brought to its run by the owner of the run's partition", async () => {
    const from = await schedule(plane, chain(newTask(), 1));
    const to = await schedule(plane, chain(newTask(), 1));
    await writeAndDie(from, to, { kind: "pause" });
    expect(await stateOf(plane, to)).toBe("RUNNING");
    const owner = await openPlane(database.connectionString);
    await expect.poll(() => stateOf(plane, to), { timeout: 5_000 }).toBe("PAUSED");
    await owner.close();
    expect(await waiting(to)).toBe(0);
    expect(await stateOf(plane, from)).toBe("RUNNING");
  });

  it("is applied once, however many bring it at the same time", async () => {
    const name = newTask();
    const from = await schedule(plane, chain(newTask(), 1));
    const to = await schedule(plane, chain(name, 1));
    const other = await openQuietPlane(database.connectionString);
    await writeAndDie(from, to, { kind: "pause" });
    await writeAndDie(from, to, { kind: "resume" });
    const gate = gates.stopNext("advance");
    const first = plane.advance.submit(to, { kind: "messages" });
    await gate.reached;
    const second = other.advance.submit(to, { kind: "messages" });
    await hand.untilWaiting("for no key update of p");
    gate.open();
    expect(await Promise.all([first, second])).toEqual([{ kind: "done" }, { kind: "done" }]);
    await other.close();
    expect(await waiting(to)).toBe(0);
    expect(await stateOf(plane, to)).toBe("RUNNING");
    expect((await newAgent(plane).take(name)).runId).toBe(to.runId);
  });

  it("waits with its run while that is being changed, and is found by the next pass", async () => {
    const from = await schedule(plane, chain(newTask(), 1));
    const to = await schedule(plane, chain(newTask(), 1));
    const gate = gates.stopNext("advance");
    const paused = plane.scheduler.command(to, { kind: "pause", note: "" });
    await gate.reached;
    await writeAndDie(from, to, { kind: "cancel", undo: false });
    gate.open();
    await paused;
    expect(await stateOf(plane, to)).toBe("PAUSED");
    await plane.advance.submit(to, { kind: "messages" });
    expect(await stateOf(plane, to)).toBe("CANCELLED");
  });
});
