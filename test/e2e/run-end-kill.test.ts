// A server is killed between the end of a run and its trigger: another server starts the run, once.
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../sdk/typescript/index.ts";
import { openHand } from "../integration/control-plane/hand.ts";
import { spawnDroverServer } from "../support/drover-server.ts";
import { createTestDatabase } from "../support/postgres.ts";

test("what a run's end sets off survives SIGKILL, and happens once", async () => {
  const { connectionString, drop } = await createTestDatabase();
  onTestFinished(drop);
  const hand = await openHand(connectionString);
  onTestFinished(hand.close);
  // A transaction sees who waits as it was at its first query, so another session queries.
  const holder = await openHand(connectionString);
  onTestFinished(holder.close);
  const doomed = await spawnDroverServer(connectionString);
  onTestFinished(() => doomed.signal("SIGKILL"));
  const client = createClient({ address: doomed.address });
  await client.registerWorkflow("workflow: build\nsteps: [{ id: a, wait: 10ms }]\n");
  await client.registerWorkflow("workflow: deploy\nsteps: [{ id: a, wait: 10ms }]\n");
  const schedule = { workflow: "deploy", input: `\${run.id}` };
  await client.triggers.put({ trigger: "next", runEnd: { workflow: "build" }, schedule });

  // The server that starts the next run has to wait here, with the run ended and its row written.
  await holder.query("begin");
  await holder.query("lock table drover.triggered in exclusive mode");
  const { runId } = await client.schedule({ workflow: "build" });
  await hand.untilWaiting("insert into drover.triggered");
  await doomed.signal("SIGKILL");
  client.close();
  await holder.query("rollback");
  expect(await hand.query("select from drover.trigger_end")).toHaveLength(1);
  expect(await hand.query("select from drover.run where workflow = 'deploy'")).toEqual([]);

  const other = await spawnDroverServer(connectionString);
  onTestFinished(() => other.signal("SIGTERM"));
  const waiting = () => hand.query("select from drover.trigger_end");
  await expect.poll(waiting, { interval: 50, timeout: 20_000 }).toEqual([]);
  const started = await hand.query(
    "select key, input_json from drover.run where workflow = 'deploy'",
  );
  expect(started).toEqual([{ key: `trigger:next:${runId}`, input_json: `"${runId}"` }]);
});
