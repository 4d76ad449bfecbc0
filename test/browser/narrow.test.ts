// Pages on a phone and on a wide screen, and what a finger has to hit.
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

const paths = [
  "/",
  "/runs",
  "/runs/key",
  "/workflows",
  "/workflows/order",
  "/queues",
  "/queues/default",
  "/supervisors",
  "/escalations",
  "/schedules",
  "/triggers",
  "/hooks",
  "/namespaces",
  "/interventions",
  "/audit",
];

test.for(paths.flatMap((path) => [320, 390, 1_440].map((width) => [path, width] as const)))(
  "nothing of %s scrolls sideways on a screen of %i px",
  async ([path, width], context) => {
    const page = await sharedPage(context, shop.address);
    await page.setViewportSize({ width, height: 640 });
    await visit(page, path === "/runs/key" ? `/runs/${asking}` : path);
    await page.getByRole("heading", { level: 1 }).waitFor(WAIT);
    await expect.poll(() => page.getByText(/^Loading/).count()).toBe(0);
    await expect
      .poll(() => page.evaluate<number>("document.documentElement.scrollWidth"))
      .toBeLessThanOrEqual(width);
    const wide = `[...document.querySelectorAll("[role=table]")]
      .filter((table) => table.scrollWidth > table.clientWidth)
      .map((table) => table.ariaLabel)`;
    await expect.poll(() => page.evaluate(wide)).toEqual([]);
    await picture(page, `narrow${path.replaceAll("/", "-")}-${width}`);
  },
);

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

test("rows are cards on a phone, each as high as its content, and 32 px high elsewhere", async (context) => {
  const keys = Array.from({ length: 30 }, (_, n) => `card-${n}${" and a long name".repeat(n % 4)}`);
  await Promise.all(keys.map((key) => shop.client.schedule({ workflow: "asks", key })));
  const page = await sharedPage(context, shop.address);
  await visit(page, "/runs");
  const rows = page.locator(".table-rows [role=row]");
  await expect.poll(async () => (await rows.first().boundingBox())?.height).toBe(32);
  await page.setViewportSize({ width: 390, height: 844 });
  const heading = page.getByRole("columnheader", { name: "State" });
  await expect.poll(async () => (await heading.boundingBox())?.width).toBe(1);
  // What a screen reader gets is the same table.
  await rows.first().getByRole("cell", { name: "escalated" }).waitFor(WAIT);
  const gaps = `(() => {
    const boxes = [...document.querySelectorAll(".table-rows [role=row]")]
      .map((row) => row.getBoundingClientRect())
      .sort((one, other) => one.top - other.top);
    return boxes.slice(1).map(({ top }, at) => Math.round(top - boxes[at].bottom));
  })()`;
  await expect.poll(async () => [...new Set(await page.evaluate<number[]>(gaps))]).toEqual([0]);
  await page.locator(".table").evaluate("document.querySelector('.table').scrollTop = 1e6");
  // The last row of all, which was not drawn before.
  await expect.poll(() => rows.last().getAttribute("aria-rowindex")).toBe("32");
  await expect.poll(async () => [...new Set(await page.evaluate<number[]>(gaps))]).toEqual([0]);
  await checkScreen(page, "narrow-cards");
});

test("an id as a title is short, and is copied whole", async (context) => {
  const { runId } = await shop.client.schedule({ workflow: "order" });
  // The client makes a key up.
  const { key } = (await shop.client.getRun(runId)).run;
  const page = await sharedPage(context, shop.address);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await visit(page, `/runs/${runId}`);
  const title = page.getByRole("heading", { level: 1, name: key });
  await title.getByText(`…${key.slice(-6)}`).waitFor(WAIT);
  await page.getByRole("button", { name: "Copy this id" }).click();
  await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe(key);
});
