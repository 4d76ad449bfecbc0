// SIGTERM at an agent of the SDK, as a process manager sends it in a deployment.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { startDroverServer } from "../support/drover-server.ts";
import { at, callJson } from "../support/json-call.ts";

test("an agent that is asked to end finishes what it does, reports it, and ends by itself", async () => {
  const server = await startDroverServer();
  onTestFinished(() => server.stop());
  const program = fileURLToPath(new URL("../support/draining-agent.ts", import.meta.url));
  const agent = spawn(process.execPath, [program, server.address], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void agent.kill("SIGKILL"));
  let output = "";
  agent.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const definition = { workflow: "drain", steps: [{ id: "a", task: { name: "a" } }] };
  const run = { key: "one" };
  await callJson(server.address, "SchedulerService/Schedule", { definition, ...run });
  await once(agent.stdout, "data");
  agent.kill("SIGTERM");
  const [code] = await once(agent, "close");
  expect([code, output]).toEqual([0, "working\ndrained\n"]);
  const { body } = await callJson(server.address, "SchedulerService/GetRun", { run });
  expect(at(body, "run", "state")).toBe("RUN_STATE_COMPLETED");
  expect(at(body, "steps", 0, "output", "json")).toBe('"finished"');
});
