// Workflows: runs of a day, what failed, the definition and its changes, and a run from a form.
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };
const REFUND = (timeout: string) => `
workflow: refund
timeout: ${timeout}
input_schema:
  type: object
  required: [customer, cents]
  properties:
    customer: { type: string }
    cents: { type: integer, minimum: 1 }
    iban: { type: string, pattern: "^[A-Z]{2}" }
    speed: { enum: [fast, slow] }
steps:
  - { id: a, task: never, when: "\${false}", retry: { attempts: 3 }, timeouts: { total: 1m } }
`;

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
  for (const timeout of ["1h", "2h"]) await shop.client.registerWorkflow(REFUND(timeout));
});
afterAll(async () => {
  await closeBrowser();
  await shop.close();
});

test("the list has the runs of a day, and a workflow's page what failed in them", async (context) => {
  const { runId } = await shop.client.schedule({ workflow: "order", key: "sells-out" });
  await shop.release(runId, "sold-out");
  await until("it is compensated", async () =>
    (await shop.client.getRun(runId)).run.state === "COMPENSATED" ? true : null,
  );
  const page = await sharedPage(context, shop.address);
  await visit(page, "/workflows");
  await page.getByRole("row").filter({ hasText: "order" }).getByText("0.0 %").waitFor(WAIT);
  await checkScreen(page, "workflows");
  await visit(page, "/workflows/order");
  const failures = page.getByRole("table", { name: "Failures by step" });
  await failures.getByRole("row").filter({ hasText: "sold-out" }).waitFor(WAIT);
  const graph = page.getByRole("region", { name: "Graph of the steps" });
  await graph.getByRole("img", { name: "1 failure in 24 hours" }).waitFor(WAIT);
  await expect.poll(() => graph.getByRole("img", { name: "in 24 hours" }).count()).toBe(1);
  await checkScreen(page, "workflow");
});

test("the definition is shown as YAML, and what changed from another version", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/workflows/refund");
  const definition = page.getByRole("region", { name: "Definition" });
  await definition.getByText("timeout: 2h").waitFor(WAIT);
  await definition.getByLabel("Compare with").selectOption({ label: "Changes from v1" });
  await definition.getByRole("deletion").filter({ hasText: "- timeout: 1h" }).waitFor(WAIT);
  await definition.getByRole("insertion").filter({ hasText: "+ timeout: 2h" }).waitFor(WAIT);
  await checkScreen(page, "workflow-diff");
});

test("a run is started from the input schema", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/workflows/refund");
  await page.getByRole("button", { name: "Start a run" }).click(WAIT);
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("customer", { exact: true }).fill("ada");
  await dialog.getByLabel("Labels").fill("tenant=acme\nnote=two words");
  await checkScreen(page, "start-run");
  await dialog.getByLabel("cents").fill("250");
  await dialog.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/, WAIT);
  const runId = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const { run } = await shop.client.getRun(runId);
  expect(run.labels).toEqual({ tenant: "acme", note: "two words" });
});

test("an input that the server refuses is named at its field, and can be corrected", async (context) => {
  const page = await sharedPage(context, shop.address);
  await visit(page, "/workflows/refund");
  await page.getByRole("button", { name: "Start a run" }).click(WAIT);
  const dialog = page.getByRole("dialog");
  const problem = (of: string) =>
    dialog.locator(".field", { hasText: of }).locator(".field-problem");
  const start = () => dialog.getByRole("button", { name: "Start" }).click();
  await dialog.getByLabel("customer", { exact: true }).fill("ada");
  await dialog.getByLabel("cents").fill("0");
  await dialog.getByLabel("iban").fill("17");
  await start();
  await problem("cents").getByText("cents must be >= 1").waitFor(WAIT);
  // There and nowhere else.
  await expect.poll(() => dialog.getByText("cents must be").count()).toBe(1);
  await checkScreen(page, "start-run-refused");
  // The server names the first value that it refuses.
  await dialog.getByLabel("cents").fill("250");
  await start();
  await problem("iban").getByText("iban must match pattern").waitFor(WAIT);
  await expect.poll(() => problem("cents").count()).toBe(0);
  await dialog.getByLabel("iban").fill("DE17");
  await start();
  await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/, WAIT);
});
