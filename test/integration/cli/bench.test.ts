// drover bench: a real server measured by runs that do nothing, and left as it was found.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../../sdk/typescript/client.ts";
import { drover } from "../../support/drover-process.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
});
afterAll(() => server?.stop());

const bench = (...args: readonly string[]) =>
  drover(["bench", ...args], { env: { DROVER_ADDRESS: server.address } });

test("all runs complete, each wait is printed in order, and no open run is left", async () => {
  const { code, stdout } = await bench("--runs", "30", "--concurrency", "5", "-o", "json");
  expect(code).toBe(0);
  const report: unknown = JSON.parse(stdout);
  expect(report).toMatchObject({ runs: 30, notCompleted: 0, firstError: "" });
  const { scheduleToTask, hop, wholeRun, stepsPerSecond } = Object(report);
  expect(stepsPerSecond).toBeGreaterThan(0);
  for (const { p50Ms, p99Ms, maxMs } of [scheduleToTask, hop, wholeRun]) {
    expect(p50Ms).toBeGreaterThan(0);
    expect(p99Ms).toBeGreaterThanOrEqual(p50Ms);
    expect(maxMs).toBeGreaterThanOrEqual(p99Ms);
  }
  expect(wholeRun.p50Ms).toBeGreaterThan(scheduleToTask.p50Ms);

  const client = createClient({ address: server.address, namespace: "drover-bench" });
  const { runs } = await client.listRuns({ states: ["RUNNING", "PENDING"] });
  client.close();
  expect(runs).toEqual([]);
});

test("a time instead of a number of runs ends when it is over, as a table for people", async () => {
  const { code, stdout } = await bench("--duration", "1s", "--concurrency", "2");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^steps a second +\d+\.\d$/m);
  expect(stdout).toMatch(/^from one step to the next +\d+\.\d\dms +\d+\.\d\dms +\d+\.\d\dms$/m);
});
