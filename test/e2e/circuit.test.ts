/**
 * A remote service goes down for longer than the retries of any step would last. Two agents of the
 * SDK see it, on a real server: the circuit opens, one task at a time probes the
 * service, and once it is up again every run completes.
 */
import { expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../sdk/typescript/agent.ts";
import { createClient } from "../../sdk/typescript/client.ts";
import { silentLog } from "../support/agent-script.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { at, callJson, listAt } from "../support/json-call.ts";
import { until } from "../support/until.ts";

const RUNS = 30;
const COOLDOWN_MS = 2_000;
/** All tries of a step are over 5 s after its first. */
const RETRY = { attempts: 6, initial: "1s", factor: 1, max: "1s", jitter: 0 };

test("retries wait behind an open circuit, and are not used up", async () => {
  const server = await startDroverServer(undefined, { circuits: { cooldownMs: COOLDOWN_MS } });
  const { address } = server;
  const remote = { isUp: false, calls: 0 };
  const handlers = {
    charge: () => {
      remote.calls++;
      if (!remote.isUp) throw new Error("the bank is down");
      return "charged";
    },
  };
  const client = createClient({ address });
  const agents = ["one", "two"].map((id) =>
    createAgent({ address, id, queues: ["bank"], handlers, log: silentLog }),
  );
  for (const agent of agents) agent.start();
  onTestFinished(async () => {
    for (const agent of agents) await agent.stop();
    client.close();
    await server.stop();
  });
  const circuit = async () => {
    const { body } = await callJson(address, "OperatorService/ListCircuits", {});
    const [found] = listAt(body, "circuits");
    return found === undefined
      ? "closed"
      : `${at(found, "state")} ${at(found, "cooldowns")}`.replace("CIRCUIT_STATE_", "");
  };
  const leased = async () => {
    const { body } = await callJson(address, "OperatorService/ListQueues", {});
    return at(listAt(body, "queues")[0], "leased") ?? 0;
  };

  const steps = [{ id: "pay", task: "charge", queue: "bank", retry: RETRY }];
  const runs = await Promise.all(
    Array.from({ length: RUNS }, () => client.schedule({ workflow: { workflow: "w", steps } })),
  );
  await until("the circuit is open", async () => (await circuit()) === "OPEN 1" || null);
  await until("no call is under way", async () => (await leased()) === 0 || null);
  const callsBefore = remote.calls;
  await until("one task has tried", async () => (await circuit()) === "OPEN 2" || null);
  expect(remote.calls - callsBefore).toBe(1);
  remote.isUp = true;
  for (const { runId } of runs)
    expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
  await until("the circuit is closed", async () => (await circuit()) === "closed" || null);
}, 60_000);
