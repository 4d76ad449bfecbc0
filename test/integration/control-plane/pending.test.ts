/**
 * Runs that are to start later, on several servers: each begins once, in time, whichever server
 * scans.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlane, type TestPlane } from "../../support/control-plane.ts";
import { moveRunTime } from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  chain,
  historyOf,
  newAgent,
  newTask,
  openQuietPlane,
  schedule,
  stateOf,
  success,
} from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString);
});
afterAll(async () => {
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

const inMs = (ms: number) => ({ startAt: Date.now() + ms });
const HOUR = 3_600_000;

describe("a run that is to start later", () => {
  it("is handed to no agent before, and to an agent that waits once it is due", async () => {
    const name = newTask();
    const run = await schedule(plane, chain(name, 1), inMs(HOUR));
    const agent = newAgent(plane);
    expect(await agent.poll(name, { waitMs: 0 })).toEqual([]);
    expect(await stateOf(plane, run)).toBe("PENDING");
    const { run: record } = await historyOf(plane, run);
    expect(record.startAt).toBeGreaterThan(record.createdAt + HOUR / 2);
    await moveRunTime(hand, run.runId);
    await Promise.all([
      plane.advance.submit(run, { kind: "run-timer" }),
      plane.advance.submit(run, { kind: "run-timer" }),
    ]);
    expect(await agent.report(await agent.take(name), success)).toBe("accepted");
    const { run: ended, interventions } = await historyOf(plane, run);
    expect(ended).toMatchObject({ state: "COMPLETED", startAt: null });
    expect(interventions.map(({ rule }) => rule)).toEqual(["start"]);
  });

  it("begins by itself, with the owner of its partition", async () => {
    const name = newTask();
    const owner = await openPlane(database.connectionString);
    const run = await schedule(owner, chain(name, 1), inMs(300));
    const task = await newAgent(owner).take(name);
    expect(task.runId).toBe(run.runId);
    await owner.close();
  });

  it("and is cancelled before ends at once, and never begins", async () => {
    const name = newTask();
    const run = await schedule(plane, chain(name, 1), inMs(HOUR));
    const cancel = { kind: "cancel", undo: true, note: "no need" } as const;
    expect(await plane.scheduler.command(run, cancel)).toEqual({ kind: "done" });
    await plane.advance.submit(run, { kind: "run-timer" });
    const { run: ended, steps } = await historyOf(plane, run);
    expect(ended).toMatchObject({ state: "CANCELLED", reason: "NEVER_STARTED" });
    expect(ended.cancelNote).toBe("no need");
    expect(steps.size).toBe(0);
  });

  it("is one run for its key, however often it is asked for", async () => {
    const definition = chain(newTask(), 1);
    const asked = { ...inMs(HOUR), key: `later-${newTask()}` };
    const first = await schedule(plane, definition, asked);
    const second = await schedule(plane, definition, asked);
    expect(second).toEqual(first);
  });
});
