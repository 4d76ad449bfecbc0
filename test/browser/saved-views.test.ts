// Saved views: filters of the runs list that a browser keeps by name, for each namespace.
import { afterAll, beforeAll, expect, test } from "vitest";
import { callJson } from "../support/json-call.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
  await callJson(shop.address, "OperatorService/CreateNamespace", { name: "payments" });
});
afterAll(async () => {
  await closeBrowser();
  await shop.close();
});

test("a filter is saved by name, opened again after a reload, and deleted", async (context) => {
  const page = await sharedPage(context, shop.address);
  const views = page.getByRole("list", { name: "Saved views" });
  const save = page.getByRole("button", { name: "Save view" });
  await visit(page, "/runs");
  await page.getByRole("heading", { name: "Runs" }).waitFor(WAIT);
  // There is nothing to save.
  await expect.poll(() => save.count()).toBe(0);
  await page.getByLabel("State", { exact: true }).selectOption("FAILED");
  await page.getByLabel("Filter", { exact: true }).fill("label.team=blue");
  await page.getByLabel("Filter", { exact: true }).press("Enter");
  await save.click(WAIT);
  await page.getByRole("dialog").getByLabel("Name").fill("Failed of team blue");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  const view = views.getByRole("link", { name: "Failed of team blue" });
  await view.waitFor(WAIT);
  // What is saved needs no second name.
  await expect.poll(() => save.count()).toBe(0);
  await checkScreen(page, "saved-view");

  await visit(page, "/runs");
  await page.reload();
  await view.click(WAIT);
  await page.waitForURL("**/runs?state=FAILED&filter=label.team%3Dblue");
  expect(await page.getByLabel("State", { exact: true }).inputValue()).toBe("FAILED");
  await visit(page, "/ns/payments/runs");
  await page.getByRole("heading", { name: "Runs" }).waitFor(WAIT);
  await expect.poll(() => views.count()).toBe(0);

  await visit(page, "/runs");
  await page.setViewportSize({ width: 390, height: 844 });
  await view.waitFor(WAIT);
  await checkScreen(page, "narrow-saved-view");
  await page.getByRole("button", { name: "Delete the view Failed of team blue" }).click();
  await expect.poll(() => views.count()).toBe(0);
  await page.reload();
  await page.getByRole("heading", { name: "Runs" }).waitFor(WAIT);
  await expect.poll(() => views.count()).toBe(0);
});
