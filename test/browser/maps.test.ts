// A map of many items on the pages of runs: failed items are counted and found, and what is not
// loaded is shown.
import { type Agent, createAgent, PermanentError } from "@drover/sdk";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../support/agent-script.ts";
import { at } from "../support/json-call.ts";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, picture, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };
const BAD = [7, 101, 150];
/** With one attempt each, more than a call returns. */
const MANY = 2_000;

let shop: Shop;
let agent: Agent;
let nightly = "";
let many = "";
beforeAll(async () => {
  shop = await openShop();
  agent = createAgent({
    address: shop.address,
    id: "loader-1",
    queues: ["load"],
    slots: 100,
    log: silentLog,
    handlers: {
      async load(task) {
        const n = Number(at(task.input(), "n"));
        if (BAD.includes(n)) throw new PermanentError("bad-row", `row ${n} has no price`);
        return { loaded: n };
      },
    },
  });
  agent.start();
  [nightly, many] = await Promise.all([loaded("nightly-load", 200), loaded("many", MANY)]);
});
afterAll(async () => {
  await closeBrowser();
  await agent?.stop();
  await shop?.close();
});

async function loaded(workflow: string, items: number): Promise<string> {
  const map = { over: String(items), task: "load", queue: "load", tolerate: 5 };
  const steps = [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
    { id: "load", map, input: { n: "${item}" }, retry: [{ attempts: 1 }] },
    { id: "report", needs: ["load"], task: "pay" },
  ];
  const { runId } = await shop.client.schedule({ workflow: { workflow, steps }, key: workflow });
  await until(`${workflow} is COMPLETED`, async () =>
    (await shop.client.getRun(runId)).run.state === "COMPLETED" ? true : null,
  );
  return runId;
}

/** Whether a text of the graph is cut off. */
const IS_NODE_CUT = `[...document.querySelectorAll(".graph-node span")].some((span) =>
  span.scrollHeight > span.clientHeight || span.scrollWidth > span.clientWidth)`;

async function openRun(page: Page, runId: string): Promise<void> {
  await visit(page, `/runs/${runId}`);
  await page.locator(".graph-node").first().waitFor(WAIT);
}

test("failed items that were tolerated are a warning, and never plain success", async (context) => {
  const page = await sharedPage(context, shop.address);
  await openRun(page, nightly);
  const head = page.locator(".page-title .badge");
  expect(await head.textContent()).toBe("completed, 1 warning");
  expect(await head.getAttribute("data-tone")).toBe("warning");
  const node = page.getByLabel("load, 197 of 200, 3 failed").locator(".graph-node");
  expect(await node.getAttribute("data-tone")).toBe("warning");
  expect(await page.evaluate(IS_NODE_CUT)).toBe(false);
  const warnings = page.getByRole("region", { name: "Warnings" });
  await warnings.getByText("3 of 200 items failed").waitFor(WAIT);
  await checkScreen(page, "run-warning");
  await visit(page, "/runs");
  const row = page.getByRole("row").filter({ hasText: "nightly-load" });
  await row.getByText("completed, 1 warning").waitFor(WAIT);
  expect(await row.locator(".badge").getAttribute("data-tone")).toBe("warning");
  await picture(page, "runs-warning");
});

test("the items of a map are a table, those that failed first, each with its error", async (context) => {
  const page = await sharedPage(context, shop.address);
  await openRun(page, nightly);
  await page.getByRole("region", { name: "Warnings" }).getByRole("button").click();
  const drawer = page.getByRole("dialog", { name: "Step load" });
  await drawer.getByText("Showing 103 of 200 items, failed ones first").waitFor(WAIT);
  const table = drawer.getByRole("table", { name: "Items of load" });
  const rows = table.getByRole("row").filter({ has: page.getByRole("cell") });
  await rows.first().waitFor(WAIT);
  const listed = async () => (await rows.allTextContents()).slice(0, 5);
  await expect
    .poll(listed)
    .toEqual([
      expect.stringMatching(/^load\[7\].*failed.*bad-row: row 7 has no price/),
      expect.stringMatching(/^load\[101\].*failed.*bad-row: row 101 has no price/),
      expect.stringMatching(/^load\[150\].*failed/),
      expect.stringMatching(/^load\[0\].*succeeded/),
      expect.stringMatching(/^load\[1\].*succeeded/),
    ]);
  await checkScreen(page, "run-items");
  await table.getByRole("button", { name: "load[101]" }).click();
  const item = page.getByRole("dialog", { name: "Item load[101]" });
  await item.getByText("row 101 has no price").first().waitFor(WAIT);
  await item.getByText("loader-1").waitFor(WAIT);
  expect(new URL(page.url()).search).toBe("?step=load&item=101");
  await page.goBack();
  await table.getByRole("button", { name: "load[0]" }).click();
  await page
    .getByRole("dialog", { name: "Item load[0]" })
    .getByText("loaded")
    .first()
    .waitFor(WAIT);
});

test("an item whose attempts the history of the run leaves out shows them", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, `/runs/${many}?step=load&item=7`);
  const item = page.getByRole("dialog", { name: "Item load[7]" });
  await item.getByText("Attempt 1").waitFor(WAIT);
  await item.getByText("bad-row: row 7 has no price").first().waitFor(WAIT);
  await visit(page, `/runs/${many}?step=load&item=${MANY}`);
  await page.getByText("This item has not started").waitFor(WAIT);
});

test("items are one row of the timeline, and what is not loaded is mentioned", async (context) => {
  const page = await sharedPage(context, shop.address);
  await openRun(page, many);
  const timeline = page.getByRole("region", { name: "Timeline" });
  // Of items the newest 1,000, and those of the other steps.
  await timeline.getByText("the last 1,002 of 2,002 attempts").waitFor(WAIT);
  await timeline.getByText("1,997 of 2,000, 3 failed").waitFor(WAIT);
  expect(await timeline.locator(".timeline-row button").allTextContents()).toEqual([
    "load",
    "report",
  ]);
  const height = await page.evaluate<number>("document.documentElement.scrollHeight");
  expect(height).toBeLessThan(2_500);
  expect(await page.evaluate(IS_NODE_CUT)).toBe(false);
  await page.getByLabel("load, 1,997 of 2,000, 3 failed").click();
  const table = page.getByRole("table", { name: "Items of load" });
  await table.getByRole("button", { name: "load[7]" }).waitFor(WAIT);
  await page.getByText("Showing 103 of 2,000 items").waitFor(WAIT);
  await table.hover();
  await page.mouse.wheel(0, 3_000);
  await page.getByText(/Showing (?:15|20)\d of 2,000 items/).waitFor(WAIT);
  await checkScreen(page, "run-map-many");
  await page.setViewportSize({ width: 390, height: 844 });
  await checkScreen(page, "run-map-many-phone");
  const drawn = await page.evaluate<number>("document.documentElement.scrollWidth");
  expect(drawn).toBeLessThanOrEqual(390);
});

test("failed items are marked in the row of their map", async (context) => {
  const page = await sharedPage(context, shop.address);
  await openRun(page, nightly);
  const timeline = page.getByRole("region", { name: "Timeline" });
  await timeline.locator(".timeline-density[data-tone=bad]").first().waitFor(WAIT);
  expect(await timeline.getByLabel(/3 attempts failed|failed: load\[/).count()).toBeGreaterThan(0);
});

test("what went in and came out is above the timeline", async (context) => {
  const page = await sharedPage(context, shop.address);
  await openRun(page, nightly);
  await page.getByRole("heading", { name: "Output of report" }).waitFor(WAIT);
  const titles = await page.getByRole("heading", { level: 2 }).allTextContents();
  const positionOf = (title: string) => titles.indexOf(title);
  expect(positionOf("Input")).toBeGreaterThan(-1);
  expect(positionOf("Output of report")).toBeGreaterThan(-1);
  expect(positionOf("Timeline")).toBeGreaterThan(
    Math.max(positionOf("Input"), positionOf("Output of report")),
  );
});
