// What is done to many runs at once: only to those that a filter names or a person has chosen, and
// only after the person has read which runs these are.
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

async function start(workflow: string, key: string): Promise<string> {
  return (await shop.client.schedule({ workflow, key })).runId;
}

async function inState(runId: string, state: string): Promise<void> {
  await until(`${runId} is ${state}`, async () =>
    (await shop.client.getRun(runId)).run.state === state ? true : null,
  );
}

test("runs that failed are retried together, as many as were counted", async (context) => {
  const failing = { workflow: "failing", steps: [{ id: "count", task: "fail" }] };
  for (let n = 0; n < 7; n++) {
    const { runId } = await shop.client.schedule({ workflow: failing, labels: { shelf: "a" } });
    await inState(runId, "FAILED");
  }
  const page = await sharedPage(context, shop.address);
  await visit(page, "/runs?state=FAILED&filter=label.shelf%3Da");
  await page.getByText("7 runs").first().waitFor(WAIT);
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await page.getByText("7 runs counted just now").waitFor(WAIT);
  await page.getByRole("button", { name: "Retry 7 runs" }).click();
  await page.getByText("7 runs retried.").waitFor(WAIT);
  const { runs } = await shop.client.listRuns({ labels: { shelf: "a" } });
  expect(runs).toHaveLength(14);
});

describe("what is done to many runs", () => {
  test.for([
    ["filter=tenant%3Aglobex", 'column 1: there is no field "tenant"'],
    ["filter=state%3Afailed+acme", 'column 14: "acme" is no condition'],
    ["state=FALED", 'there is no state "FALED"'],
  ])(
    "is not offered for a filter that cannot be read: %s",
    async ([search = "", problem = ""], context) => {
      const page = await sharedPage(context, shop.address);
      await visit(page, `/runs?${search}`);
      await page.getByRole("alert").filter({ hasText: problem }).waitFor(WAIT);
      await page.getByText("No run is shown").waitFor(WAIT);
      expect(await page.getByRole("table", { name: "Runs" }).count()).toBe(0);
      expect(await page.getByRole("button", { name: "Cancel", exact: true }).count()).toBe(0);
    },
  );

  test("is not offered without a filter, and repeats a filter in words with its first runs", async (context) => {
    await inState(await start("order", "filtered"), "RUNNING");
    const page = await sharedPage(context, shop.address);
    await visit(page, "/runs");
    await page.getByText("Select or filter runs").waitFor(WAIT);
    expect(await page.getByRole("button", { name: "Cancel", exact: true }).count()).toBe(0);
    await visit(page, "/runs?workflow=order");
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByText("Filter: workflow order").waitFor(WAIT);
    const first = page.getByRole("list", { name: "The first runs" }).getByRole("listitem");
    await first.first().waitFor(WAIT);
    await picture(page, "bulk-filter");
  });
});

test("the first runs of a filter are those that will be hit, however old they are", async (context) => {
  const old = await start("order", "paused-long-ago");
  await shop.client.pauseRun(old);
  await inState(old, "PAUSED");
  // More than the list of runs loads at first.
  const newer = Array.from({ length: 201 }, (_, n) => ({ workflow: "order", key: `newer-${n}` }));
  for (const spec of newer) await shop.client.schedule(spec);
  const page = await sharedPage(context, shop.address);
  await visit(page, "/runs?workflow=order");
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByRole("button", { name: "Resume 1 run" }).waitFor(WAIT);
  const first = page.getByRole("list", { name: "The first runs" }).getByRole("listitem");
  await expect
    .poll(() => first.allTextContents())
    .toEqual([expect.stringContaining("paused-long-ago")]);
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByText(/^and [0-9]+ more$/).waitFor(WAIT);
  expect(await first.count()).toBe(6);
  await checkScreen(page, "bulk-many");
});
