// What a page shows when something is wrong: with the server, with an address, with the connection.
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, openPage, picture, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };
const NO_RUN = "01a2138a-0000-7000-8000-000000000000";

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(async () => {
  await closeBrowser();
  await shop?.close();
});

test.for([
  [`/runs/${NO_RUN}`, "There is no such run"],
  ["/runs/no/such/page", "There is no such run"],
  ["/no-such-page", "There is no such page"],
  ["/workflows/nowhere", "Could not load the workflow"],
  ["/schedules/nowhere", "Could not load the schedule"],
  ["/queues?agent=00000000000000000000000000000001", "Could not load the agent"],
  [`/escalations/${NO_RUN}/1`, "Could not load the escalation"],
])("what is not there is the heading of its page: %s", async ([path = "", title = ""], context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, path);
  await page.getByText(title).waitFor(WAIT);
  expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual([title]);
});

test("an error of the server is not put down to the person", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/runs");
  // As something between the browser and the server may answer.
  await page.evaluate(`{
    const real = globalThis.fetch;
    globalThis.healed = () => { globalThis.fetch = real; };
    globalThis.fetch = async (to, how) =>
      String(to).endsWith("/ListWorkflows") ? new Response("", { status: 500 }) : real(to, how);
  }`);
  await visit(page, "/workflows");
  const problem = page.getByRole("alert").filter({ hasText: "Could not load the workflows" });
  await problem.getByText("The server had an internal error (HTTP 500).").waitFor(WAIT);
  await problem.getByText("see the log of the server").waitFor(WAIT);
  expect(await page.getByText("Correct it").count()).toBe(0);
  await picture(page, "server-error");
  await page.evaluate("healed()");
  await problem.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("table", { name: "Workflows" }).waitFor(WAIT);
});

test("what takes longer than 300 ms has grey bars in its place", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/runs");
  await page.evaluate(`{
    const real = globalThis.fetch;
    const released = new Promise((resolve) => { globalThis.release = resolve; });
    globalThis.fetch = async (to, how) => {
      if (String(to).endsWith("/ListWorkflows")) await released;
      return real(to, how);
    };
  }`);
  await visit(page, "/workflows");
  const bars = page.locator("main .skeleton[aria-busy=true]");
  await bars.getByText("Loading the workflows").waitFor({ ...WAIT, state: "attached" });
  await page.waitForFunction(`document.querySelector(".skeleton").getAnimations().length > 0`);
  const delay = `document.querySelector(".skeleton").getAnimations()[0].effect.getTiming().delay`;
  expect(await page.evaluate<number>(delay)).toBe(300);
  await checkScreen(page, "skeleton");
  // Nothing moves for a reader who wants no motion; the bars are there all the same.
  await page.emulateMedia({ reducedMotion: "reduce" });
  const style = (of: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector(".skeleton i")).${of}`);
  expect(await style("animationName")).toBe("none");
  await page.emulateMedia({ reducedMotion: "no-preference" });
  expect(await style("animationName")).toBe("breathe");
  await page.evaluate("release()");
  await page.getByRole("table", { name: "Workflows" }).waitFor(WAIT);
  expect(await bars.count()).toBe(0);
});

test("while the connection is lost, buttons that change something say why they do nothing", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/queues/default");
  const pause = page.getByRole("button", { name: "Pause", exact: true });
  await expect.poll(() => pause.isEnabled()).toBe(true);
  await shop.kill();
  await expect.poll(() => pause.isDisabled()).toBe(true);
  expect(await pause.getAttribute("title")).toContain("The connection to the server is lost");
  await page.getByText("nothing can be changed").waitFor(WAIT);
  await shop.restart();
  await expect.poll(() => pause.isEnabled(), { timeout: 30_000 }).toBe(true);
});

test.for(["/runs/orders%2F7", "/runs/orders/7"])(
  "a run is found by its key in the address: %s",
  async (address, context) => {
    const key = "orders/7";
    const { runId } = await shop.client.schedule({ workflow: "asks", key });
    const page = await openPage(context, shop.address);
    await page.goto(address);
    await page.getByRole("heading", { level: 1, name: key }).waitFor(WAIT);
    await page.waitForURL(`**/runs/${runId}`);
  },
);

test("while the connection is lost, nothing can be ordered", async (context) => {
  const { runId } = await shop.client.schedule({ workflow: "order" });
  const page = await sharedPage(context, shop.address);
  await visit(page, `/runs/${runId}`);
  await page.getByRole("button", { name: "Cancel…" }).click();
  const order = page.getByRole("button", { name: "Cancel the run" });
  await expect.poll(() => order.isEnabled()).toBe(true);
  await shop.kill();
  await expect.poll(() => order.isDisabled()).toBe(true);
  await page.getByText("The connection to the server is lost").waitFor(WAIT);
  await checkScreen(page, "dialog-connection-lost");
  await shop.restart();
  await expect.poll(() => order.isEnabled(), { timeout: 30_000 }).toBe(true);
  await order.click();
  await until("the run is stopping, or more", async () =>
    (await shop.client.getRun(runId)).run.state === "RUNNING" ? null : true,
  );
}, 60_000);
