/**
 * Ready rows are handed out in the order of transaction numbers. After a dump was restored into
 * another cluster, its rows have numbers that this one will not give for long: they must not be
 * behind everything that becomes ready until then.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { newAgent, newTask, openTwoServers, schedule, type TwoServers, wide } from "./fixture.ts";

let servers: TwoServers;
beforeAll(async () => {
  servers = await openTwoServers();
});
afterAll(() => servers?.close());

it("tasks of a database that was restored into another cluster are handed out before later ones", async () => {
  const { here, hand } = servers;
  const task = newTask();
  const restored = await schedule(here, wide(task, 3));
  await hand.query(
    "update drover.ready set ordered_by = (900000000000 - step_no)::text::xid8 where run_id = $1",
    [restored.runId],
  );
  const before = await schedule(here, wide(task, 1));
  await here.store.forgetOld(2);
  const after = await schedule(here, wide(task, 1));
  const tasks = await newAgent(here).poll(task, { maxTasks: 10 });
  expect(tasks.map(({ runId, stepId }) => [runId, stepId])).toEqual([
    [before.runId, "s0"],
    [restored.runId, "s2"],
    [restored.runId, "s1"],
    [restored.runId, "s0"],
    [after.runId, "s0"],
  ]);
});

it("a server that comes later scans again, and finds nothing to change", async () => {
  const { there, hand } = servers;
  const run = await schedule(there, wide(newTask(), 2));
  const rows = () =>
    hand.query(
      "select ordered_by, ordinal, lane from drover.ready where run_id = $1 order by step_no",
      [run.runId],
    );
  const before = await rows();
  await there.store.forgetOld(10);
  expect(await rows()).toEqual(before);
});
