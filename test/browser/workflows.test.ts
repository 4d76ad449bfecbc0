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
