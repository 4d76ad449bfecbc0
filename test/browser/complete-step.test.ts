// A deferred step whose callback does not come: the run's page says so, and a person completes it.
import { type Agent, createAgent, deferred } from "@drover/sdk";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../support/agent-script.ts";
import { checkScreen, closeBrowser, picture, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };

let shop: Shop;
let agent: Agent;
beforeAll(async () => {
  shop = await openShop();
  agent = createAgent({
    address: shop.address,
    id: "courier-1",
    queues: ["parcels"],
    slots: 5,
    log: silentLog,
    handlers: { ship: () => deferred() },
  });
  agent.start();
});
afterAll(async () => {
  await closeBrowser();
  await agent?.stop();
  await shop?.close();
});

/** The dialog of the only step that waits for its callback. */
async function openDialog(page: Page, runId: string) {
  await visit(page, `/runs/${runId}`);
  const waits = page.getByRole("region", { name: "What it waits for" });
  await waits.getByText("waits for the outcome that courier-1 has deferred").waitFor(WAIT);
  await waits.getByText("report the outcome, if the callback does not come").waitFor(WAIT);
  await waits.getByRole("button", { name: "Complete" }).click();
  return page.getByRole("dialog", { name: "Complete" });
}

const stateOf = async (runId: string) => (await shop.client.getRun(runId)).run.state;

test("a step is completed with the output that the callback should have brought", async (context) => {
  const steps = [{ id: "ship", task: "ship", queue: "parcels" }];
  const { runId } = await shop.client.schedule({ workflow: { workflow: "parcel", steps } });
  const page = await sharedPage(context, shop.address);
  const dialog = await openDialog(page, runId);
  await dialog.getByLabel("Your name").fill("ada");
  await dialog.getByLabel("Reason").fill("the courier called");
  await dialog.getByLabel("Output, as JSON").fill("{parcel");
  await checkScreen(page, "run-complete");
  await dialog.getByRole("button", { name: "Complete the step" }).click();
  await dialog.getByRole("alert").or(dialog.locator(".field-problem")).first().waitFor(WAIT);
  await picture(page, "run-complete-refused");
  await dialog.getByLabel("Output, as JSON").fill('{"parcel":"p-7"}');
  await dialog.getByRole("button", { name: "Complete the step" }).click();
  await page.getByText("The outcome of ship is reported.").waitFor(WAIT);
  await expect.poll(() => stateOf(runId), WAIT).toBe("COMPLETED");
  await page.getByRole("region", { name: "Output of ship" }).getByText("p-7").first().waitFor(WAIT);
  await page.getByText("completed a deferred step").first().waitFor(WAIT);
  await page.getByText("the courier called").first().waitFor(WAIT);
});

test("an item of a map is completed as failed, for good", async (context) => {
  const steps = [{ id: "load", map: { over: `\${input}`, task: "ship", queue: "parcels" } }];
  const { runId } = await shop.client.schedule({
    workflow: { workflow: "parcels", steps },
    input: ["a"],
  });
  const page = await sharedPage(context, shop.address);
  const dialog = await openDialog(page, runId);
  await dialog.getByLabel("Outcome").selectOption("The work failed");
  await dialog.getByLabel("Error code").fill("lost-parcel");
  await dialog.getByLabel("Message").fill("The courier lost it.");
  await dialog.getByLabel("Trying again cannot help").check();
  await dialog.getByLabel("Your name").fill("ada");
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, "run-complete-failed-narrow");
  await dialog.getByRole("button", { name: "Complete the step" }).click();
  await expect.poll(() => stateOf(runId), WAIT).toBe("FAILED");
});
