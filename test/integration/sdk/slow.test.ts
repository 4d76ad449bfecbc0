/**
 * A real agent whose attempts take about as long as ever, until one does not come to an end: it is
 * marked as suspect, at the time when that was learned, and continues.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import type { Handler } from "../../../sdk/typescript/handler.ts";
import { silentLog } from "../../support/agent-script.ts";
import { drover as droverProcess } from "../../support/drover-process.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";

/** More than half as much again as an attempt takes on a busy machine. */
const LEAST_MS = 4_000;

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer(undefined, {
    settings: { slowMs: LEAST_MS, learnEveryMs: 100 },
  });
});
afterAll(() => server.stop());

test("the attempt that never ends is suspect, with its evidence, and what was learned is listed", async () => {
  const { address } = server;
  const gate = Promise.withResolvers<void>();
  const client = createClient({ address });
  const quick: Handler = (task) => (task.input() === 1 ? gate.promise : 1);
  const handlers = { quick };
  const agent = createAgent({ address, id: "worker", slots: 20, handlers, log: silentLog });
  agent.start();
  const steps = [{ id: "call", task: "quick" }];
  await client.registerWorkflow({ workflow: "calls", steps });
  const start = async (input: number) =>
    (await client.schedule({ workflow: "calls", input })).runId;
  for (const runId of await Promise.all(Array.from({ length: 40 }, () => start(0))))
    expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
  await expect
    .poll(async () => (await drover("workflow", "durations", "calls")).split("\n")[1], {
      // Each poll is a process of its own, and a busy machine takes a second for one.
      timeout: 20_000,
    })
    .toMatch(/^call +40 +[\d.]+m?s +[\d.]+m?s +[\d.]+m?s +4\.0s$/);

  // What is ready before this server has asked anew is not watched: so until one is.
  let hung = "";
  await expect
    .poll(
      async () => {
        hung ||= await start(1);
        const { steps: seen } = await client.getRun(hung);
        return seen[0]?.suspectTime ?? null;
      },
      { timeout: 20_000 },
    )
    .not.toBeNull();
  const { steps: seen, interventions } = await client.getRun(hung, { interventions: true });
  expect(seen).toMatchObject([{ state: "LEASED", agentId: "worker", attempt: 1 }]);
  const [slow, ...others] = interventions;
  expect(others).toEqual([]);
  expect(slow).toMatchObject({
    rule: "slow",
    saw: expect.stringMatching(/of 4\d successful ones/),
  });
  expect(await drover("run", "why", hung)).toContain("suspect");
  expect(await drover("run", "show", hung)).toContain("suspect since");
  gate.resolve();
  expect(await client.waitRun(hung)).toMatchObject({ state: "COMPLETED" });
  await agent.stop();
  client.close();
}, 60_000);

async function drover(...args: string[]): Promise<string> {
  return (await droverProcess(args, { env: { DROVER_ADDRESS: server.address } })).stdout;
}
