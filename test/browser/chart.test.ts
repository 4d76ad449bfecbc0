// Charts are drawn on a canvas: what they show is a table too, for those who do not see it.
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { closeBrowser, sharedPage, visit } from "./browser.ts";
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

test("the chart of the overview is a table as well", async (context) => {
  const steps = [{ id: "pay", task: "pay" }];
  const { runId } = await shop.client.schedule({ workflow: { workflow: "paid", steps } });
  await until("the run is COMPLETED", async () =>
    (await shop.client.getRun(runId)).run.state === "COMPLETED" ? true : null,
  );
  const page = await sharedPage(context, shop.address);
  await visit(page, "/");
  const figure = page.getByRole("figure");
  const table = figure.getByRole("table");
  await table.waitFor({ ...WAIT, state: "attached" });
  const names = await table.getByRole("columnheader").allTextContents();
  expect(names).toEqual(["From", "failed", "compensated", "cancelled", "completed"]);
  // A row for each minute in which there was something.
  const rows = table.getByRole("row").filter({ has: page.getByRole("rowheader") });
  await expect
    .poll(() => rows.allTextContents())
    .toContainEqual(expect.stringMatching(/^\d\d:\d\d0001$/));
  expect(await table.getByRole("caption").textContent()).not.toBe("");
});
