/**
 * Runs whose stored definition cannot be read: no event of them can be decided, ever. They back off
 * alone, and all others are supervised as before. Other background work that has to fail alone.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../server/clock.ts";
import { SUPERVISOR_DEFAULTS } from "../../../server/config.ts";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { RunRef } from "../../../server/store/store.ts";
import { recordFailing } from "../../../server/supervisor/failing.ts";
import { createTimerScan } from "../../../server/supervisor/timers.ts";
import { schemaUrl } from "../../support/citus.ts";
import { openPlane, quietLog, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  historyOf,
  newAgent,
  newTask,
  openQuietPlane,
  request,
  schedule,
  stateOf,
} from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

/** More than one scan takes, in all and of a partition. */
const BAD = 600;
let database: TestDatabase;
let hand: Hand;
let quiet: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  quiet = await openQuietPlane(database.connectionString);
});
afterAll(async () => {
  await quiet?.close();
  await hand?.close();
  await database?.drop();
});

const timer = (workflow: string, forMs: number): Definition => ({
  workflow,
  steps: [{ id: "a", needs: [], kind: "wait", forMs }],
});

async function spoil(workflow: string): Promise<void> {
  await hand.query("update drover.definition set body = $2 where body like $1", [
    `%"${workflow}"%`,
    JSON.stringify({ workflow }),
  ]);
}

describe("600 timers that always fail", () => {
  it("hold up no timer of another run", async () => {
    const bad = await schedule(quiet, timer("odd", 1));
    const requests = Array.from({ length: BAD - 1 }, () => request(quiet, timer("odd", 1)));
    await Promise.all(requests.map((one) => quiet.scheduler.schedule(one)));
    await spoil("odd");
    const plane = await openPlane(database.connectionString);
    try {
      await expect.poll(() => plane.timers.failedRows(), { timeout: 20_000 }).toBeGreaterThan(0);
      const run: RunRef = await schedule(plane, timer("healthy", 100));
      await expect.poll(() => stateOf(plane, run), { timeout: 8_000 }).toBe("COMPLETED");
      const failing = async () => {
        const { interventions } = await historyOf(plane, bad);
        return interventions.find(({ rule }) => rule === "failing");
      };
      await expect.poll(failing, { timeout: 20_000 }).toMatchObject({
        saw: expect.stringMatching(/^its handling has failed 2 times in a row: /),
        did: "tries it again in 2 s; nothing else waits for it",
      });
    } finally {
      await plane.close();
    }
  }, 60_000);
});

describe("timers that always fail, twelve times as many as can back off", () => {
  it("hold up no timer of another run", async () => {
    const { store, advance, beginDue, ownership, ...plane } = await openQuietPlane(
      database.connectionString,
    );
    const timers = createTimerScan({
      store,
      advance,
      beginDue,
      clock: systemClock,
      log: quietLog,
      failedRowsMax: BAD / 12,
      settings: SUPERVISOR_DEFAULTS,
      owner: () => ({ node: ownership.node(), owned: ownership.owned() }),
      onFenced: () => undefined,
      onOutside: () => undefined,
      onFailing: (failed, backoff) => {
        if (backoff.isCrowded)
          recordFailing({ store, clock: systemClock, log: quietLog })(failed, backoff);
      },
    });
    try {
      const bad = await schedule(quiet, timer("odder", 1));
      const requests = Array.from({ length: BAD - 1 }, () => request(quiet, timer("odder", 1)));
      await Promise.all(requests.map((one) => quiet.scheduler.schedule(one)));
      await spoil("odder");
      await ownership.start();
      timers.start();
      for (let at = 0; at < 3; at++) {
        const run = await schedule(quiet, timer("healthy", 100));
        await expect.poll(() => stateOf(quiet, run), { timeout: 8_000 }).toBe("COMPLETED");
      }
      const rules = async () =>
        (await historyOf(quiet, bad)).interventions.map(({ rule, did }) => `${rule}: ${did}`);
      await expect
        .poll(rules, { timeout: 20_000 })
        .toEqual([expect.stringMatching(/^failing: tries it again in 300 s, or longer/)]);
      expect(timers.failedRows()).toBeLessThanOrEqual(BAD / 12);
    } finally {
      await timers.stop();
      await plane.close();
    }
  }, 60_000);
});

describe("a poll tick", () => {
  it("asks for lost wake-ups though the query before it fails", async () => {
    let polls = 0;
    const plane = await openQuietPlane(database.connectionString, (store) => ({
      ...store,
      markPolled: () => Promise.reject(new Error("it cannot be written")),
      pollQuery(asked) {
        polls++;
        return store.pollQuery(asked);
      },
    }));
    try {
      const polled = newAgent(plane).poll(newTask(), { waitMs: 500 });
      await expect.poll(() => plane.parked()).toBe(1);
      await plane.pollTick.runOnce();
      expect(polls).toBe(1);
      await polled;
    } finally {
      await plane.close();
    }
  });
});

describe("housekeeping", () => {
  it("does each part by itself", async () => {
    const owner = await openHand(schemaUrl(database.connectionString));
    await owner.query("alter table drover.agent_session rename to agent_session_away");
    try {
      const failures = new Map<string, unknown>();
      await quiet.store.forgetOld(100, {}, failures);
      expect([...failures.keys()]).toEqual(["release_sessions", "forget_sessions"]);
      // Nothing else was left out, and what has failed is not tried again in the same minute.
      await quiet.store.forgetOld(100, {}, failures);
      expect(failures.size).toBe(2);
      await expect(quiet.store.forgetOld(100)).rejects.toThrow();
    } finally {
      await owner.query("alter table drover.agent_session_away rename to agent_session");
      await owner.close();
    }
  });
});
