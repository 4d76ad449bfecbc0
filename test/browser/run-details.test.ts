// What the page of a run shows on request: the evaluated input of a step, the tree of child
// runs, and the trace; and what a compensated run looks like.
import { type Agent, createAgent, PermanentError } from "@drover/sdk";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../sdk/typescript/client.ts";
import type { StepSpec } from "../../sdk/typescript/workflow.ts";
import { silentLog } from "../support/agent-script.ts";
import { callDrover } from "../support/drover-call.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, openPage, picture, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };

let shop: Shop;
let agent: Agent;
beforeAll(async () => {
  shop = await openShop();
  agent = createAgent({
    address: shop.address,
    id: "details-1",
    queues: ["details"],
    slots: 20,
    log: silentLog,
    handlers: {
      work: async () => ({ nights: 2 }),
      fail: async () => {
        throw new PermanentError("no-room", "the hotel is full");
      },
    },
  });
  agent.start();
});
afterAll(async () => {
  await closeBrowser();
  await agent?.stop();
  await shop?.close();
});

const queue = "details";

async function started(steps: readonly StepSpec[], input: object, state: string): Promise<string> {
  const { runId } = await shop.client.schedule({ workflow: { workflow: "details", steps }, input });
  await until(`${runId} is ${state}`, async () =>
    (await shop.client.getRun(runId)).run.state === state ? true : null,
  );
  return runId;
}

test("the drawer shows the input as the task got it, and the template on request", async (context) => {
  const steps: readonly StepSpec[] = [
    { id: "book", task: "work", queue, input: { hotel: `\${input.city} Palace` } },
    {
      id: "each",
      map: { over: '["sea", "pool"]', task: "work", queue },
      input: { view: `\${item}` },
    },
    { id: "wrong", task: "work", queue, input: { first: `\${input.hotels[3]}` } },
    { id: "later", needs: ["wrong"], task: "work", queue, input: { n: `\${input.city}` } },
  ];
  const runId = await started(steps, { city: "Rome", hotels: [] }, "ESCALATED");
  const page = await sharedPage(context, shop.address);
  const drawer = page.getByRole("dialog");
  await visit(page, `/runs/${runId}?step=book`);
  await drawer.getByText('"Rome Palace"').waitFor(WAIT);
  expect(await drawer.getByText("input.city").count()).toBe(0);
  await drawer.getByText("As in the definition").click();
  await drawer.getByText(`"\${input.city} Palace"`).waitFor(WAIT);
  await checkScreen(page, "run-step-input");
  await visit(page, `/runs/${runId}?step=each&item=1`);
  await drawer.getByText('"pool"').waitFor(WAIT);
  await visit(page, `/runs/${runId}?step=wrong`);
  await drawer.getByText("The input could not be evaluated: input.first").waitFor(WAIT);
  // The other parts of the drawer are there all the same.
  await drawer.getByText("Task", { exact: true }).waitFor(WAIT);
  await visit(page, `/runs/${runId}?step=later`);
  await drawer.getByText("The step has not started.").waitFor(WAIT);
  await drawer.getByText(`"\${input.city}"`).waitFor(WAIT);
});

/** More than one page of them; the first fails, and has started a run itself. */
const CHILDREN = 52;

async function startTree(): Promise<string> {
  const { client } = shop;
  await client.registerWorkflow({
    workflow: "leaf",
    steps: [{ id: "go", signal: { name: "go" } }],
  });
  await client.registerWorkflow({ workflow: "branch", steps: [{ id: "deeper", run: "leaf" }] });
  await client.registerWorkflow({
    workflow: "full",
    steps: [{ id: "book", task: "fail", queue, retry: [{ attempts: 1 }] }],
  });
  const steps: readonly StepSpec[] = [
    ...Array.from({ length: CHILDREN - 2 }, (_, n) => ({ id: `leaf${n}`, run: "leaf" })),
    { id: "branch", run: "branch" },
    { id: "full", run: "full", onFailure: "continue" },
  ];
  const { runId } = await client.schedule({ workflow: { workflow: "tree", steps } });
  await until("the child runs have started, and one has failed", async () => {
    const { runs } = await client.listRuns({ parentRunId: runId, pageSize: 100 });
    const failed = runs.some(({ state }) => state === "FAILED");
    return runs.length === CHILDREN && failed ? true : null;
  });
  return runId;
}

test("child runs are a tree that is opened by the keyboard, a page at a time", async (context) => {
  const runId = await startTree();
  const page = await sharedPage(context, shop.address);
  await visit(page, `/runs/${runId}`);
  const panel = page.getByRole("region", { name: "Child runs" });
  await panel.getByText("The newest 50 child runs").waitFor(WAIT);
  await panel.getByRole("button", { name: "Show more" }).click();
  await panel.getByText("52 child runs, 1 failed or cancelled").waitFor(WAIT);
  const failed = panel.locator('[data-tone="bad"].child-run');
  await failed.getByText("no-room: the hotel is full").waitFor(WAIT);

  const branch = panel.locator(".child-run", { hasText: "branch v1, by branch" });
  const opener = branch.getByRole("button", { name: /^Child runs of / });
  await opener.focus();
  await page.keyboard.press("Enter");
  await panel.getByText("1 child run", { exact: true }).waitFor(WAIT);
  expect(await opener.getAttribute("aria-expanded")).toBe("true");
  await panel.getByText("leaf v1, by deeper").waitFor(WAIT);
  await checkScreen(page, "run-children");
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, "run-children-narrow");
  const width = await page.evaluate<number>("document.documentElement.scrollWidth");
  expect(width).toBeLessThanOrEqual(390);
  await page.keyboard.press("Enter");
  await panel.getByText("1 child run", { exact: true }).waitFor({ ...WAIT, state: "detached" });
});

test("the head and the drawer link to the trace, if the server knows its address", async (context) => {
  const traced = await startDroverServer(undefined, {
    // Nothing listens there: only spans are lost.
    trace: { url: "http://127.0.0.1:9/v1/traces", protocol: "http", ratio: 1 },
    traceLink: "http://localhost:16686/trace/{trace_id}",
  });
  const client = createClient({ address: traced.address });
  onTestFinished(async () => {
    client.close();
    await traced.stop();
  });
  const steps = [{ id: "paid", signal: { name: "payment" } }];
  const { runId } = await client.schedule({ workflow: { workflow: "traced", steps } });
  const page = await openPage(context, traced.address);
  await page.goto(`/runs/${runId}?step=paid`);
  const links = page.getByRole("link", { name: "Open trace" });
  await page.getByRole("dialog").getByRole("link", { name: "Open trace" }).waitFor(WAIT);
  expect(await links.count()).toBe(2);
  for (const link of await links.all()) {
    const href = `http://localhost:16686/trace/${runId.replaceAll("-", "")}`;
    expect(await link.getAttribute("href")).toBe(href);
    expect(await link.getAttribute("target")).toBe("_blank");
    expect(await link.getAttribute("rel")).toBe("noreferrer");
  }
  await picture(page, "run-trace-link");
  const env = { DROVER_ADDRESS: traced.address };
  const { stdout } = await callDrover(["run", "show", runId], { env });
  expect(stdout).toMatch(/^trace +http:\/\/localhost:16686\/trace\/[0-9a-f]{32}$/m);

  const untraced = await sharedPage(context, shop.address);
  const plain = await started([{ id: "book", task: "work", queue }], {}, "COMPLETED");
  await visit(untraced, `/runs/${plain}?step=book`);
  await untraced.getByRole("dialog").getByText("nights").waitFor(WAIT);
  expect(await untraced.getByRole("link", { name: "Open trace" }).count()).toBe(0);
});

test("of a compensated run, what never started did not wait, and each try has its name", async (context) => {
  const { runId } = await shop.client.schedule({ workflow: "order" });
  await shop.release(runId, "sold-out");
  await until("the run is compensated", async () =>
    (await shop.client.getRun(runId)).run.state === "COMPENSATED" ? true : null,
  );
  const page = await sharedPage(context, shop.address);
  await visit(page, `/runs/${runId}`);
  const timeline = page.getByRole("region", { name: "Timeline" });
  await timeline.getByText("verification or compensation").waitFor(WAIT);
  const never = timeline.locator(".timeline-row", { hasText: "ship" });
  expect(await never.getByRole("img").count()).toBe(0);
  const history = page.getByRole("region", { name: "History" });
  await history.getByText("compensation done").waitFor(WAIT);
  // No person has changed it, so there is nothing to say about who did.
  expect(await page.getByRole("region", { name: "Who did what" }).count()).toBe(0);
  await page.getByLabel("pay, compensated").click();
  await page.getByRole("dialog").getByText("Compensation 1").waitFor(WAIT);
  await checkScreen(page, "run-compensated");
});
