/**
 * A run is deleted after its retention while an event of it arrives: the first transaction that
 * locks its row wins, and no run is left half deleted.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  chain,
  gatedStore,
  historyOf,
  lose,
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

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  holder = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString, gates.wrap);
});
afterEach(async () => {
  await holder.query("rollback");
});
afterAll(async () => {
  await plane?.close();
  await holder?.close();
  await hand?.close();
  await database?.drop();
});

/** As if a minute had passed since each of them ended. */
function forget(): Promise<unknown> {
  const old = { namespaceId: plane.namespace.id, keptMs: -60_000 };
  return plane.store.namespaces.forgetRuns({ ...old, after: null, limit: 1_000 });
}

/** Of each table that forgetting empties; none of them has a row of the run: it is gone. */
async function rowsOf({ runId }: RunRef): Promise<readonly string[]> {
  const [row] = await hand.query<{ tables: string[] }>(
    `select array_remove(array[
       (select 'run' from drover.run where id = $1),
       (select 'run_page' from drover.run_page where run_id = $1 limit 1),
       (select 'payload' from drover.payload where run_id = $1 limit 1),
       (select 'attempt_log' from drover.attempt_log where run_id = $1 limit 1),
       (select 'intervention' from drover.intervention where run_id = $1 limit 1)
     ], null) as tables`,
    [runId],
  );
  return row?.tables ?? [];
}

/** A run that has ended, and the report of an attempt of it that was lost before. */
async function endedWithLateReport() {
  const name = newTask();
  const run = await schedule(plane, chain(name, 1));
  const lost = newAgent(plane);
  const next = newAgent(plane);
  const late = await lost.take(name);
  await lose(plane, hand, late);
  expect(await next.report(await next.take(name), success)).toBe("accepted");
  expect(await stateOf(plane, run)).toBe("COMPLETED");
  return { run, report: () => lost.report(late, success) };
}

const evidence = async (run: RunRef) =>
  (await historyOf(plane, run)).attempts.filter(({ kind }) => kind === "late");

describe("a run whose time is over", () => {
  it("stays while a late report of it is under way, which is stored, and goes afterwards", async () => {
    const { run, report } = await endedWithLateReport();
    const gate = gates.stopNext("advance");
    const reported = report();
    await gate.reached;
    await forget();
    gate.open();
    expect(await reported).toBe("LEASE_LOST");
    expect(await evidence(run)).toHaveLength(1);
    await forget();
    expect(await rowsOf(run)).toEqual([]);
  });

  it("while it goes makes a late report wait, which then finds nothing and leaves nothing", async () => {
    const { run, report } = await endedWithLateReport();
    await holder.query("begin");
    await holder.query("select from drover.intervention where run_id = $1 for update", [run.runId]);
    const forgotten = forget();
    await hand.untilWaiting("delete from drover.payload as t");
    const reported = report();
    await hand.untilWaiting("for no key update of p");
    await holder.query("rollback");
    await forgotten;
    expect(await reported).toBe("TASK_NOT_FOUND");
    expect(await rowsOf(run)).toEqual([]);
  });
});

describe("a run that is ending", () => {
  it("stays whole while the pass that ends it is under way, and its report is accepted", async () => {
    const name = newTask();
    const run = await schedule(plane, chain(name, 1));
    const agent = newAgent(plane);
    const task = await agent.take(name);
    const gate = gates.stopNext("advance");
    const reported = agent.report(task, success);
    await gate.reached;
    await forget();
    gate.open();
    expect(await reported).toBe("accepted");
    const { attempts, steps } = await historyOf(plane, run);
    expect(attempts).toMatchObject([{ outcome: success }]);
    expect(steps.get(0)?.forward.kind).toBe("SUCCEEDED");
    expect(await stateOf(plane, run)).toBe("COMPLETED");
  });
});
