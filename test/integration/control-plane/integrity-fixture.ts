// What the tests of the integrity sweep share: a control plane that sweeps only when it is told to,
// a hand in its tables, and what the sweep has said of the run that was broken.
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { Definition } from "../../../server/core/definition.ts";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Agent, type Hand, newAgent, openHand, openQuietPlane, schedule } from "./fixture.ts";

export interface SweptWorld {
  readonly connectionString: string;
  readonly plane: TestPlane;
  readonly hand: Hand;
  readonly agent: Agent;
  /** The one that is broken. */
  readonly run: RunRef;
  /** Schedules the run that is to be broken. */
  begin(definition: Definition, more?: Parameters<typeof schedule>[2]): Promise<RunRef>;
  /** A statement by hand, whose $1 is the run. */
  change(sql: string, ...more: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** What the sweep has said of the run. */
  told(): Promise<readonly string[]>;
  /** One round that finds one run, and one that finds none; what the sweep has said. */
  swept(): Promise<readonly string[]>;
}

/** A database for the tests of a file, and a plane for each test. */
export function sweptWorld(): SweptWorld {
  let database: TestDatabase;
  let hand: Hand;
  let plane: TestPlane;
  let agent: Agent;
  let run: RunRef;

  beforeAll(async () => {
    database = await createTestDatabase();
    hand = await openHand(database.connectionString);
  });
  beforeEach(async () => {
    plane = await openQuietPlane(database.connectionString);
    await plane.ownership.start();
    agent = newAgent(plane);
  });
  afterEach(async () => {
    await plane.close();
    await hand.query(
      `truncate run, run_open, step, ready, lease, due, attempt, escalation, message, slot,
         intervention`,
    );
  });
  afterAll(async () => {
    await hand?.close();
    await database?.drop();
  });

  const change: SweptWorld["change"] = (sql, ...more) => hand.query(sql, [run.runId, ...more]);
  const told: SweptWorld["told"] = async () => {
    const rows = await hand.query<{ saw: string }>(
      "select saw from intervention where run_id = $1 and rule = 19 order by step_no",
      [run.runId],
    );
    return rows.map(({ saw }) => saw);
  };

  return {
    get connectionString() {
      return database.connectionString;
    },
    get plane() {
      return plane;
    },
    get hand() {
      return hand;
    },
    get agent() {
      return agent;
    },
    get run() {
      return run;
    },
    async begin(definition, more) {
      run = await schedule(plane, definition, more);
      return run;
    },
    change,
    told,
    async swept() {
      expect(await plane.sweep.roundOnce()).toBe(1);
      const saw = await told();
      const again = await plane.sweep.roundOnce();
      expect({ again, saw: await told() }).toEqual({ again: 0, saw });
      return saw;
    },
  };
}

/** One step, of the task `a`. */
export const SHORT: Definition = {
  workflow: "short",
  steps: [{ id: "a", needs: [], task: "a" }],
};
