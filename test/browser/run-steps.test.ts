// The steps on the page of a run: the timeline with its waits, the list, the graph, the drawer and
// the history.
import { readFile } from "node:fs/promises";
import { type Agent, createAgent, PermanentError } from "@drover/sdk";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../support/agent-script.ts";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, picture, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };
const MANY = 500;
const BAD = 333;

let shop: Shop;
let agent: Agent;
let chain = "";
let waiting = "";
beforeAll(async () => {
  shop = await openShop();
  agent = createAgent({
    address: shop.address,
    id: "steps-1",
    queues: ["steps"],
    slots: 100,
    log: silentLog,
    handlers: {
      step: async () => ({}),
      bad: async () => {
        throw new PermanentError("no-stock", "the shelf is empty");
      },
      busy: async () => {
        throw new Error("421 too many connections");
      },
    },
  });
  agent.start();
  const queue = "steps";
  await shop.client.registerWorkflow({
    workflow: "child",
    steps: [{ id: "ever", signal: { name: "never" } }],
  });
  ({ runId: waiting } = await shop.client.schedule({
    workflow: {
      workflow: "waits",
      steps: [
        { id: "first", task: "step", queue },
        { id: "paid", needs: ["first"], signal: { name: "payment" } },
        { id: "approve", needs: ["first"], approval: { approvers: ["ada"] } },
        { id: "later", needs: ["first"], wait: "3h" },
        {
          id: "mail",
          needs: ["first"],
          task: "busy",
          queue,
          retry: [{ attempts: 9, initial: "1s", factor: 100, max: "1h" }],
        },
        { id: "film", needs: ["first"], task: "film", queue: "gpu" },
        { id: "child", needs: ["first"], run: "child" },
        { id: "ship", needs: ["paid"], task: "step", queue },
      ],
    },
    input: { order: 17 },
  }));
  ({ runId: chain } = await shop.client.schedule({
    workflow: {
      workflow: "chain",
      // After the first step there are chains of 25.
      steps: Array.from({ length: MANY }, (_, n) => ({
        id: `s${n}`,
        ...(n === 0 ? {} : { needs: [(n - 1) % 25 === 0 ? "s0" : `s${n - 1}`] }),
        ...(n === BAD ? { onFailure: "continue" as const, retry: [{ attempts: 1 }] } : {}),
        task: n === BAD ? "bad" : "step",
        queue,
      })),
    },
  }));
  await until("the chain has ended", async () =>
    (await shop.client.getRun(chain)).run.state === "COMPLETED" ? true : null,
  );
}, 60_000);
afterAll(async () => {
  await closeBrowser();
  await agent?.stop();
  await shop?.close();
});

async function open(page: Page, path: string): Promise<void> {
  await visit(page, `/runs/${path}`);
  await page.locator(".graph-node").first().waitFor(WAIT);
}

const rowOf = (page: Page, step: string) =>
  page
    .locator(".timeline-row")
    .filter({ has: page.getByRole("button", { name: step, exact: true }) });

test("the timeline shows what each step waits for, and a step without an attempt", async (context) => {
  const page = await sharedPage(context, shop.address);
  await open(page, waiting);
  for (const [step, words] of [
    ["paid", /^waited for a signal for/],
    ["approve", /^waited for approval for/],
    ["later", /^waited for a timer for/],
    ["mail", /^waited for its next attempt for/],
    ["film", /^waited for an agent for/],
    ["child", /^waited for a child run for/],
  ] as const)
    await rowOf(page, step).getByLabel(words).first().waitFor(WAIT);
  await rowOf(page, "ship").waitFor(WAIT);
  // An attempt of a few milliseconds is seen, and no mark covers it.
  const bar = rowOf(page, "mail").locator(".timeline-bar").first();
  expect((await bar.boundingBox())?.width).toBeGreaterThanOrEqual(3);
  const level = (name: string) =>
    page.evaluate<number>(`Number(getComputedStyle(document.querySelector("${name}")).zIndex)`);
  expect(await level(".timeline .timeline-bar")).toBeGreaterThan(
    await level(".timeline-legend .timeline-mark"),
  );
  const children = page.getByRole("region", { name: "Child runs" });
  await children.getByText("child v1").waitFor(WAIT);
  await checkScreen(page, "run-waits");
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
});

test("steps are found by their id, and those that failed alone", async (context) => {
  const page = await sharedPage(context, shop.address);
  await open(page, chain);
  const list = page.getByRole("list", { name: "Steps of the run" }).getByRole("listitem");
  await expect.poll(() => list.count()).toBe(MANY);
  await page.getByLabel("Failed only").check();
  await expect.poll(() => list.allTextContents()).toEqual([`s${BAD}failed`]);
  await page.getByText("1 of 500 steps").waitFor(WAIT);
  await page.getByLabel("Failed only").uncheck();
  await page.getByLabel("Search for a step").fill("s49");
  await expect.poll(() => list.count()).toBe(11);
  await picture(page, "run-steps");
});

test("Fit shows all of 500 steps, and the wheel scrolls the page", async (context) => {
  const page = await sharedPage(context, shop.address);
  await open(page, chain);
  const drawn = () => page.locator(".graph-node").count();
  expect(await drawn()).toBeLessThan(MANY);
  // The first step is in sight when the page opens.
  await page.getByLabel("s0, succeeded").waitFor(WAIT);
  await page.getByRole("button", { name: "Fit View" }).click();
  await expect.poll(drawn).toBe(MANY);
  await page.locator(".graph").hover();
  const before = await page.evaluate<number>("scrollY");
  await page.mouse.wheel(0, 300);
  await expect.poll(() => page.evaluate<number>("scrollY")).not.toBe(before);
  expect(await drawn()).toBe(MANY);
});

test("a step opens in a drawer that is part of the address", async (context) => {
  const page = await sharedPage(context, shop.address);
  await open(page, chain);
  const opener = page
    .getByRole("region", { name: "Warnings" })
    .getByRole("button", { name: `s${BAD}` });
  await opener.click();
  const drawer = page.getByRole("dialog", { name: `Step s${BAD}` });
  await drawer.getByText("no-stock: the shelf is empty").first().waitFor(WAIT);
  await drawer.getByText("Attempt 1").waitFor(WAIT);
  const focused =
    "document.activeElement.getAttribute('role') ?? document.activeElement.textContent";
  expect(await page.evaluate(focused)).toBe("dialog");
  expect(new URL(page.url()).search).toBe(`?step=s${BAD}`);
  await picture(page, "run-drawer");
  await page.reload();
  await drawer.waitFor(WAIT);
  await page.keyboard.press("Escape");
  await expect.poll(() => drawer.count()).toBe(0);
  expect(new URL(page.url()).search).toBe("");
  await opener.click();
  await drawer.waitFor(WAIT);
  await page.keyboard.press("Escape");
  await expect.poll(() => page.evaluate(focused)).toBe(`s${BAD}`);
  await opener.click();
  await drawer.waitFor(WAIT);
  await page.goBack();
  await expect.poll(() => drawer.count()).toBe(0);
});

test("the drawer is beside the page, and on a phone takes the whole width", async (context) => {
  const page = await sharedPage(context, shop.address);
  await open(page, `${waiting}?step=mail`);
  const drawer = page.getByRole("dialog", { name: "Step mail" });
  await drawer.getByText("421 too many connections").first().waitFor(WAIT);
  await checkScreen(page, "run-drawer-beside");
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await drawer.boundingBox()).toEqual({ x: 0, y: 0, width: 390, height: 844 });
  await checkScreen(page, "run-drawer-phone");
});

test("an address with an unknown step says so", async (context) => {
  const page = await sharedPage(context, shop.address);
  await open(page, `${waiting}?step=nope`);
  await page.getByText("No step of this run has the id “nope”.").waitFor(WAIT);
});

test("the history lists events, and is downloaded as JSON", async (context) => {
  const page = await sharedPage(context, shop.address);
  await open(page, waiting);
  const history = page.getByRole("table", { name: "History" });
  await history.getByText("run accepted").waitFor(WAIT);
  const ofMail = history.getByRole("row").filter({ hasText: "mail" });
  await ofMail
    .filter({ hasText: "attempt outcome unknown" })
    .getByText(/421 too many/)
    .first()
    .waitFor(WAIT);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download JSON" }).click(),
  ]);
  expect(file.suggestedFilename()).toBe(`run-${waiting}.json`);
  const text = await readFile(await file.path(), "utf8");
  expect(JSON.parse(text)).toMatchObject({
    run: { runId: waiting, input: { json: '{"order":17}' } },
    attempts: expect.arrayContaining([expect.objectContaining({ stepId: "mail" })]),
    attemptsTotal: 3,
    definition: { workflow: "waits" },
  });
});
