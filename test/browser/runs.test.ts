// The first half of the dashboard in a real browser: Overview, Runs and Run, over a real server.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, picture, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(async () => {
  await closeBrowser();
  await shop.close();
});

const WAIT = { timeout: 15_000 };

async function start(workflow: string, key?: string): Promise<string> {
  const { runId } = await shop.client.schedule({ workflow, ...(key === undefined ? {} : { key }) });
  return runId;
}

async function inState(runId: string, state: string): Promise<void> {
  await until(`${runId} is ${state}`, async () =>
    (await shop.client.getRun(runId)).run.state === state ? true : null,
  );
}

test("every page opens, keeps to the policy, and has no serious finding", async (context) => {
  const held = await start("order", "on-hold");
  const asking = await start("asks", "asking");
  await inState(asking, "ESCALATED");
  const page = await sharedPage(context, shop.address);
  const pages = [
    ["overview", "/", "Needs attention"],
    ["runs", "/runs", "on-hold"],
    ["run-held", `/runs/${held}`, "What it waits for"],
    ["run-escalated", `/runs/${asking}`, "Open escalations"],
    ["run-missing", "/runs/none", "There is no such run"],
    ["no-page", "/no-such-page", "There is no such page"],
  ] as const;
  for (const [name, path, text] of pages) {
    await visit(page, path);
    await page.getByText(text).first().waitFor(WAIT);
    if (name.startsWith("run-") && name !== "run-missing")
      await page.locator(".graph-node").first().waitFor(WAIT);
    await checkScreen(page, name);
  }
  await shop.release(held, "done");
});

test("dialogs and help have no serious finding either", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/runs");
  await page.getByRole("heading", { name: "Runs" }).waitFor(WAIT);
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Shortcuts" }).waitFor(WAIT);
  await checkScreen(page, "keys");
  await page.keyboard.press("Escape");
  await visit(page, "/runs?workflow=order");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByText("What will happen").waitFor(WAIT);
  await checkScreen(page, "bulk");
});

describe("a run", () => {
  test("is followed live from its start to the end of its compensation", async (context) => {
    const runId = await start("order", "sold-out");
    const page = await sharedPage(context, shop.address);
    await visit(page, `/runs/${runId}`);
    const state = page.locator(".page-title .badge");
    await page.getByLabel("pack, with an agent").waitFor(WAIT);
    expect(await state.textContent()).toBe("running");
    // What the agent has reported: 40 %.
    await page.getByText("with an agent, 40 %").waitFor(WAIT);
    await shop.release(runId, "sold-out");
    await state.filter({ hasText: "compensated" }).waitFor(WAIT);
    await page.getByLabel("pay, compensated").waitFor(WAIT);
    await page.getByLabel(/^compensation 1 with shop-1 .*: done/).waitFor(WAIT);
    await picture(page, "run-undone-light");
  });

  test("is followed on by itself when its server has been started again", async (context) => {
    const runId = await start("order", "restarted");
    const page = await sharedPage(context, shop.address);
    await visit(page, `/runs/${runId}`);
    await page.getByLabel("pack, with an agent").waitFor(WAIT);
    await shop.kill();
    await page.getByText("Connection lost, trying again.").waitFor(WAIT);
    await picture(page, "connection-lost-light");
    await shop.restart();
    await page.getByText("Connection lost, trying again.").waitFor({ state: "detached", ...WAIT });
    await shop.release(runId, "done");
    await page.locator(".page-title .badge", { hasText: "completed" }).waitFor({ timeout: 30_000 });
  }, 60_000);

  test("is paused, resumed and cancelled, each after a message about what will happen", async (context) => {
    const runId = await start("order", "steered");
    const page = await sharedPage(context, shop.address);
    await visit(page, `/runs/${runId}`);
    const state = page.locator(".page-title .badge");
    // There is something to be undone then.
    await page.getByLabel("pack, with an agent").waitFor(WAIT);
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByText("No new task of the run is handed out until it is resumed.").waitFor(WAIT);
    await page.getByRole("button", { name: "Pause the run" }).click();
    await state.filter({ hasText: "paused" }).waitFor(WAIT);
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByRole("button", { name: "Resume the run" }).click();
    await state.filter({ hasText: "running" }).waitFor(WAIT);
    await page.getByRole("button", { name: "Cancel…" }).click();
    await page.getByText("compensated in reverse order").waitFor(WAIT);
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await state.filter({ hasText: /stopping|compensating|compensated/ }).waitFor(WAIT);
    await shop.release(runId, "done");
    await state.filter({ hasText: /^compensated$/ }).waitFor(WAIT);
  });

  test("has its question answered from the overview in four clicks", async (context) => {
    const runId = await start("asks", "question");
    await inState(runId, "ESCALATED");
    const page = await sharedPage(context, shop.address);
    await visit(page, "/");
    const line = page.getByRole("listitem").filter({
      hasText: "count of asks: ",
      has: page.locator(`a[href*="${runId}"]`),
    });
    await line.getByRole("link", { name: "Answer it" }).click();
    await page.getByText("the shelf says 3, the list says 4").first().waitFor(WAIT);
    await page.getByRole("button", { name: "It is done" }).click();
    await page.getByLabel("Your name").fill("ada");
    await page.getByLabel("Output, as JSON").fill('{"counted": 4}');
    await page.getByRole("dialog").getByRole("button", { name: "It is done" }).click();
    await page.locator(".page-title .badge", { hasText: "closed" }).waitFor(WAIT);
    await inState(runId, "COMPLETED");
    const { escalations } = await shop.client.getRun(runId, { escalations: true });
    expect(escalations[0]?.answer).toMatchObject({ answer: "succeed", by: "ada" });
  });

  test("of 500 steps is drawn, and one of its steps can be opened", async (context) => {
    const steps = Array.from({ length: 500 }, (_, n) => ({
      id: `step-${n}`,
      task: "pay",
      queue: "no-agents",
      needs:
        n < 20 ? [] : [`step-${n - 20}`, `step-${20 * Math.floor(n / 20) - 20 + ((n * 7) % 20)}`],
    })).map((step) => ({ ...step, needs: [...new Set(step.needs)] }));
    const { runId } = await shop.client.schedule({ workflow: { workflow: "wide", steps } });
    const page = await sharedPage(context, shop.address);
    await visit(page, `/runs/${runId}`);
    await page.locator(".graph-node").first().waitFor(WAIT);
    await picture(page, "run-500-light");
    const list = page.getByRole("list", { name: "Steps of the run" });
    await list.getByRole("button", { name: "step-3", exact: true }).click();
    // The graph follows.
    await page.getByLabel("step-3, ready").waitFor(WAIT);
    await page.getByRole("heading", { name: "Step step-3" }).waitFor(WAIT);
  });
});

test("the overview shows what is paused as long as it is, without being loaded again", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/");
  await page.getByText("live", { exact: true }).waitFor(WAIT);
  await shop.client.queues.pause("shelf", { reason: "stocktaking" });
  const line = page.getByRole("listitem").filter({ hasText: "Queue shelf" });
  await line.filter({ hasText: "stocktaking" }).waitFor(WAIT);
  expect(await line.getByRole("link").getAttribute("href")).toBe("/queues/shelf");
  await shop.client.queues.resume("shelf");
  await line.waitFor({ state: "detached", ...WAIT });
});

test.for([
  ["wide", 1_440],
  ["narrow", 390],
] as const)("a message that is one long word fits a %s page", async ([, width], context) => {
  const runId = await start("babbles");
  await inState(runId, "ESCALATED");
  const page = await sharedPage(context, shop.address);
  await page.setViewportSize({ width, height: 900 });
  for (const path of ["/", `/runs/${runId}`, "/escalations"]) {
    await visit(page, path);
    await page.getByText("xxxxxxxxxx").first().waitFor(WAIT);
    const drawn = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect(drawn, path).toBeLessThanOrEqual(width);
  }
  await picture(page, `long-word-${width}`);
});

test("an approval that has a form is given with it", async (context) => {
  const form = {
    type: "object",
    required: ["reason"],
    properties: { reason: { type: "string" }, cents: { type: "integer" } },
  };
  const steps = [{ id: "release", approval: { approvers: ["ada"], form } }];
  const { runId } = await shop.client.schedule({ workflow: { workflow: "funds", steps } });
  const page = await sharedPage(context, shop.address);
  await visit(page, `/runs/${runId}`);
  await page.getByRole("button", { name: "Approve or reject…" }).click();
  await page.getByLabel("reason").fill("the invoice is right");
  await page.getByLabel("cents").fill("1200");
  await page.getByLabel("Your name").fill("ada");
  await picture(page, "approval-form");
  await page.getByRole("button", { name: "Decide" }).click();
  await page.getByText("The decision is recorded.").waitFor(WAIT);
  await inState(runId, "COMPLETED");
  const [release] = (await shop.client.getRun(runId)).steps;
  expect(release?.output).toMatchObject({
    form: { reason: "the invoice is right", cents: 1_200 },
  });
});

test("a list that is too much is reported, and is there once it is not", async (context) => {
  const hand = new pg.Client({ connectionString: shop.connectionString });
  await hand.connect();
  try {
    // Longer than a statement may take, each time that the page asks.
    await hand.query("begin");
    await hand.query("lock table drover.run in access exclusive mode");
    const page = await sharedPage(context, shop.address);
    await visit(page, "/runs");
    await page.getByText("ask for less, such as a shorter time").waitFor({ timeout: 25_000 });
    await picture(page, "runs-too-much-light");
    expect(await page.getByText("Connection lost").count()).toBe(0);
    expect(await page.getByText("loaded so far").count()).toBe(0);
    // What was sent is not asked for again by itself.
    await page.getByRole("button", { name: "Try again" }).click();
    await hand.query("rollback");
    await page.getByRole("table", { name: "Runs" }).waitFor(WAIT);
  } finally {
    await hand.end();
  }
}, 60_000);

test("the keyboard leads from page to page, and to the search", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/");
  await page.getByRole("heading", { name: "Overview" }).waitFor(WAIT);
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.getByRole("table", { name: "Runs" }).waitFor(WAIT);
  await page.keyboard.press("/");
  await page.keyboard.type("sold-out");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "sold-out" }).waitFor(WAIT);
});
