/**
 * What the overview shows of runs, all of which it counts; of steps that are tried again and again;
 * and of steps, the items of a map as well, that take far longer than others of their kind have.
 */
import { type Agent, createAgent, PermanentError, TransientError } from "@drover/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../sdk/typescript/client.ts";
import { silentLog } from "../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { at, callJson, listAt } from "../support/json-call.ts";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";

const SAMPLES = 10;
const SHELVES = `workflow: count-shelves
steps:
  - id: shelves
    map: { over: "\${input.shelves}", task: count, queue: shop }
    input: \${item}
  - id: order
    needs: [shelves]
    task: order
    queue: shop
    retry: { attempts: 9, initial: 10ms }
`;

const FAILED = 18;
const BATCHES = 2;
const BATCH = 500;
/** Its only step is skipped: it ends as soon as it begins. */
const SWEEP = `workflow: sweep\nsteps: [{ id: floor, task: order, when: '\${false}' }]\n`;
const SPOILED = `workflow: spoiled
steps: [{ id: smell, task: smell, queue: shop, retry: { attempts: 1 } }]
`;

let server: TestServer;
let agent: Agent;
let client: ReturnType<typeof createClient>;
beforeAll(async () => {
  const settings = { learnEveryMs: 100, slowSamples: SAMPLES, slowMs: 50 };
  server = await startDroverServer(undefined, { settings });
  client = createClient({ address: server.address });
  const tries = new Map<string, number>();
  agent = createAgent({
    address: server.address,
    id: "shop-1",
    slots: 20,
    grace: 0,
    log: silentLog,
    queues: ["shop"],
    handlers: {
      count: ({ input }, { signal }) =>
        new Promise<void>((resolve, reject) => {
          if (input() !== "lost") resolve();
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
      smell: async () => {
        throw new PermanentError("spoiled", "it smells");
      },
      order: async ({ runId }) => {
        const before = tries.get(runId) ?? 0;
        tries.set(runId, before + 1);
        if (before < 3) throw new TransientError("busy", "the line is engaged");
      },
    },
  });
  agent.start();
  for (const text of [SHELVES, SWEEP, SPOILED]) await client.registerWorkflow(text);
});
afterAll(async () => {
  await closeBrowser();
  await agent.stop();
  client.close();
  await server.stop();
});

async function start(shelves: readonly string[]): Promise<string> {
  const { runId } = await client.schedule({ workflow: "count-shelves", input: { shelves } });
  return runId;
}

test("runs that failed stay in sight when a thousand younger ones complete", async (context) => {
  const spoiled = Array.from({ length: FAILED }, () => client.schedule({ workflow: "spoiled" }));
  for (const { runId } of await Promise.all(spoiled)) await client.waitRun(runId);
  const runs = Array.from({ length: BATCH }, () => ({ workflow: { name: "sweep" } }));
  for (let batch = 0; batch < BATCHES; batch++)
    await callJson(server.address, "SchedulerService/ScheduleBatch", { runs });
  await until(
    "all of them have ended",
    async () => {
      const { body } = await callJson(server.address, "OperatorService/GetOverview", {});
      const ended = listAt(at(body, "activity"), "minutes").map((one) =>
        Number(at(one, "completed") ?? 0),
      );
      return ended.reduce((sum, n) => sum + n, 0) >= BATCHES * BATCH ? true : null;
    },
    60_000,
  );

  const page = await sharedPage(context, server.address);
  await visit(page, "/");
  const ended = (word: string) => page.locator(".standings li").filter({ hasText: word });
  await ended("completed").getByText("1,000", { exact: true }).waitFor();
  await ended("failed").getByText("18", { exact: true }).waitFor();
  for (const word of ["compensated", "cancelled"])
    await ended(word).getByText("0", { exact: true }).waitFor();
  const completed = page.locator(".tile").filter({ hasText: "1,000 of 1,018 runs" });
  await completed.getByText("98.2 %", { exact: true }).waitFor();
  // The chart, for those who do not see it.
  const caption = page.getByRole("table", { name: /: 18 failed, .*, 1000 completed\.$/ });
  await caption.waitFor({ state: "attached" });
  await checkScreen(page, "overview-counts");
  const line = page.getByRole("listitem").filter({ hasText: "spoiled: 18 failed" });
  await line.getByRole("link", { name: "See the runs" }).click();
  await page.waitForURL("**/runs?state=FAILED&workflow=spoiled");
}, 90_000);

test("a step that is retried is among what fails, once, and leads to its last run", async (context) => {
  const runs = [await start(["a"]), await start(["b"])];
  for (const runId of runs) await client.waitRun(runId);
  const page = await sharedPage(context, server.address);
  await visit(page, "/");
  const retries = page.locator(".tile").filter({
    has: page.getByRole("heading", { name: "Retries" }),
  });
  await retries.getByText("6", { exact: true }).waitFor();
  const line = page.getByRole("listitem").filter({ hasText: "order of count-shelves" });
  await line.getByText("6 failed attempts").waitFor();
  await expect.poll(() => line.count()).toBe(1);
  await checkScreen(page, "overview-retries");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForFunction("document.documentElement.scrollWidth <= innerWidth");
  await checkScreen(page, "narrow-overview");
  await line.getByRole("link", { name: "See the last run" }).click();
  await page.waitForURL(({ pathname }) => runs.some((runId) => pathname === `/runs/${runId}`));
});

test("an item of a map that takes far longer than typical is named, as long as it does", async (context) => {
  await client.waitRun(await start(Array.from({ length: 2 * SAMPLES }, (_, n) => `shelf-${n}`)));
  await until("it is known how long a shelf takes", async () => {
    const asked = { name: "count-shelves", includeDurations: true };
    const { body } = await callJson(server.address, "SchedulerService/GetWorkflow", asked);
    return listAt(body, "durations").some((of) => Number(at(of, "samples")) >= SAMPLES) || null;
  });
  const runId = await start(["a", "b", "lost"]);
  await until("the supervisor has found it", async () => {
    const asked = { rules: ["slow"] };
    const { body } = await callJson(server.address, "OperatorService/ListInterventions", asked);
    return listAt(body, "interventions").length > 0 || null;
  });
  const page = await sharedPage(context, server.address);
  await visit(page, "/");
  const line = page.getByRole("listitem").filter({ hasText: "shelves[2]" });
  await line.getByText("takes far longer than usual").waitFor();
  await checkScreen(page, "overview-suspect");
  await line.getByRole("link", { name: "See the run" }).click();
  await page.waitForURL(`**/runs/${runId}`);
});
