// Pages on a phone, and what a finger has to hit.
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, picture, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };

let shop: Shop;
let asking = "";
beforeAll(async () => {
  shop = await openShop();
  asking = (await shop.client.schedule({ workflow: "asks", key: "asking" })).runId;
  await until("a person is asked", async () =>
    (await shop.client.getRun(asking)).run.state === "ESCALATED" ? true : null,
  );
});
afterAll(async () => {
  await closeBrowser();
  await shop?.close();
});

test.for([
  "/runs",
  "/workflows",
  "/workflows/order",
  "/queues",
  "/queues/default",
  "/supervisors",
  "/escalations",
  "/schedules",
  "/interventions",
  "/audit",
])("%s fits a screen of 320 px", async (path, context) => {
  const page = await sharedPage(context, shop.address);
  await page.setViewportSize({ width: 320, height: 640 });
  await visit(page, path);
  await page.getByRole("heading", { level: 1 }).waitFor(WAIT);
  await expect.poll(() => page.getByText(/^Loading/).count()).toBe(0);
  await expect
    .poll(() => page.evaluate<number>("document.documentElement.scrollWidth"))
    .toBeLessThanOrEqual(320);
  await picture(page, `narrow${path.replaceAll("/", "-")}`);
});

test("the times of a timeline do not overlap on a phone", async (context) => {
  const page = await sharedPage(context, shop.address);
  await page.setViewportSize({ width: 390, height: 844 });
  await visit(page, `/runs/${asking}`);
  const axis = page.locator(".timeline-axis .timeline-track span:visible");
  await axis.first().waitFor(WAIT);
  const boxes = await Promise.all((await axis.all()).map((one) => one.boundingBox()));
  const ends = boxes.map((box) => [box?.x ?? 0, (box?.x ?? 0) + (box?.width ?? 0)] as const);
  for (const [at, [left]] of ends.entries())
    if (at > 0) expect(left).toBeGreaterThan((ends[at - 1]?.[1] ?? 0) + 4);
});

test("links and boxes of rows are large enough to be hit", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/runs");
  const row = page.getByRole("row").filter({ hasText: "asking" });
  const link = row.getByRole("link");
  await link.waitFor(WAIT);
  expect((await link.boundingBox())?.height).toBeGreaterThanOrEqual(24);
  // All of that height is its own, and no cell cuts it off.
  await link.click({ position: { x: 5, y: 1 } });
  await page.getByRole("heading", { name: "asking" }).waitFor(WAIT);
  await visit(page, "/runs");
  const box = row.getByRole("checkbox");
  await box.waitFor(WAIT);
  const { x, y, width, height } = (await box.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const middleX = x + width / 2;
  const middleY = y + height / 2;
  await page.mouse.click(middleX - 11, middleY - 11);
  await expect.poll(() => box.isChecked()).toBe(true);
  await page.mouse.click(middleX + 11, middleY + 11);
  await expect.poll(() => box.isChecked()).toBe(false);
  await checkScreen(page, "runs-rows");
});
