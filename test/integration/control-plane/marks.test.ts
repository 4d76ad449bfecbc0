/**
 * Claims start after dead rows, and skip no live row: rows are in the order in
 * which their transactions began, and those end in any order.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import {
  type Agent,
  chain,
  gatedStore,
  newAgent,
  newTask,
  openQuietPlane,
  schedule,
} from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

const gates = gatedStore();
let database: TestDatabase;
let hand: Hand;
let gated: TestPlane;
let plane: TestPlane;
let agent: Agent;
let name: string;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  gated = await openQuietPlane(database.connectionString, gates.wrap);
  plane = await openQuietPlane(database.connectionString);
});
beforeEach(async () => {
  name = newTask();
  agent = newAgent(plane);
  // A lane has a mark once something of it was claimed.
  await schedule(plane, chain(name, 1));
  await agent.take(name);
});
afterAll(async () => {
  await gated?.close();
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

async function positionOf({ runId }: RunRef): Promise<bigint> {
  const [row] = await hand.query<{ ordered_by: string }>(
    "select ordered_by::text from drover.ready where run_id = $1",
    [runId],
  );
  return BigInt(row?.ordered_by ?? 0);
}

it("finds the row of a transaction that began before others and commits after them", async () => {
  const gate = gates.stopNext("schedule");
  const early = schedule(gated, chain(name, 1));
  await gate.reached;
  const late = await schedule(plane, chain(name, 1));
  const latePosition = await positionOf(late);
  expect(await agent.take(name)).toMatchObject({ runId: late.runId });
  await plane.pollTick.runOnce();
  gate.open();
  const run = await early;
  expect(await positionOf(run)).toBeLessThan(latePosition);
  expect(await agent.take(name)).toMatchObject({ runId: run.runId });
});

it("finds the row that another claim had locked when the mark was moved, and gave up", async () => {
  const run = await schedule(plane, chain(name, 1));
  const gate = gates.stopNext("claim");
  const polled = newAgent(gated)
    .poll(name, { waitMs: 0 })
    .catch(() => "its claim has failed");
  await gate.reached;
  await plane.pollTick.runOnce();
  await hand.endIdleTransaction();
  gate.open();
  await polled;
  await until("the row is free", async () => {
    const text = "select from drover.ready where run_id = $1 for update skip locked";
    return (await hand.query(text, [run.runId])).length > 0 || null;
  });
  expect(await agent.take(name)).toMatchObject({ runId: run.runId });
});

it("begins behind what was claimed, and sees each row that comes", async () => {
  await plane.pollTick.runOnce();
  const [lane] = await hand.query<{ id: number }>("select id from drover.lane where task = $1", [
    name,
  ]);
  const watermarks = [{ lane: lane?.id ?? 0, priority: 5, from: 1n }];
  const { watermarks: seen } = await plane.store.pollQuery({ lanes: [], runs: [], watermarks });
  expect(seen?.watermarks).toEqual([{ lane: lane?.id, priority: 5, first: null }]);
  for (const priority of [5, 9, 1, 5]) {
    const run = await schedule(plane, chain(name, 1), { priority });
    expect(await agent.take(name)).toMatchObject({ runId: run.runId });
    await plane.pollTick.runOnce();
  }
});
