// A schedule whose workflow is paused: its pages and the overview say that it is held, and which
// run keeps the next ones from starting.
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(async () => {
  await closeBrowser();
  await shop?.close();
});

test("a schedule is held by the pause of its workflow, and skips while a run is open", async (context) => {
  const { client } = shop;
  await client.pauseWorkflow("order", { reason: "wrong prices" });
  await client.schedules.create("hourly-order", { workflow: "order", calendar: { every: "10s" } });
  const skipped = await until(
    "an occurrence is skipped",
    async () => {
      const { last } = await client.schedules.get("hourly-order");
      return last.find(({ outcome }) => outcome === "OVERLAPPED") ?? null;
    },
    40_000,
  );
  expect(skipped.message).toMatch(/^overlap is skip, and the run \S+ is still open$/);

  const page = await sharedPage(context, shop.address);
  await visit(page, "/schedules");
  await page.getByText("held: workflow is paused").waitFor(WAIT);
  await page.getByText("skipped").first().waitFor(WAIT);
  await checkScreen(page, "schedules-held");
  await visit(page, "/schedules/hourly-order");
  await page.getByText("held: workflow is paused").waitFor(WAIT);
  await page.getByText("wrong prices").waitFor(WAIT);
  await page.getByText("overlap is skip, and the run").first().waitFor(WAIT);
  await checkScreen(page, "schedule-held");
  await visit(page, "/");
  await page.getByText(/Workflow order, since .*, holds 1 schedule: wrong prices\./).waitFor(WAIT);
});
