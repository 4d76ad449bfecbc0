// What a run does, waits for, or ended with, without opening more than its page.
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
  await shop.client.registerWorkflow({
    workflow: "pays-later",
    steps: [{ id: "paid", signal: "payment" }],
  });
});
afterAll(async () => {
  await closeBrowser();
  await shop.close();
});

const WAIT = { timeout: 15_000 };

async function start(workflow: string, key: string): Promise<string> {
  return (await shop.client.schedule({ workflow, key })).runId;
}

test("open runs are found by what they do or wait for", async (context) => {
  const working = await start("order", "packs");
  await start("pays-later", "waits");
  await until("the order is with an agent", async () => {
    const { run, steps } = await shop.client.getRun(working);
    const isHeld = steps.some(({ id, state }) => id === "pack" && state === "LEASED");
    return isHeld && run.substates.some(({ substate }) => substate === "WORKING") ? true : null;
  });
  const page = await sharedPage(context, shop.address);
  await visit(page, "/runs");
  const row = (key: string) => page.getByRole("row").filter({ hasText: key });
  await row("packs").getByText("working").waitFor(WAIT);
  await row("waits").getByText("waiting for a signal").waitFor(WAIT);
  await page.getByLabel("Substate").selectOption({ label: "waiting for a signal" });
  await row("packs").waitFor({ ...WAIT, state: "detached" });
  await row("waits").waitFor(WAIT);
  expect(new URL(page.url()).searchParams.get("substate")).toBe("waiting-for-signal");
  await checkScreen(page, "runs-by-substate");
  await visit(page, "/runs?substate=asleep");
  await page.getByText('This filter cannot be read: there is no substate "asleep".').waitFor(WAIT);
  await visit(page, "/");
  await page.getByRole("link", { name: "1 waiting for a signal" }).click();
  await row("waits").waitFor(WAIT);
  await shop.release(working, "done");
});

test("a run that did not complete says why, in the list and at the top of its page", async (context) => {
  const runId = await start("order", "sells-out");
  await shop.release(runId, "sold-out");
  await until("it is compensated", async () =>
    (await shop.client.getRun(runId)).run.state === "COMPENSATED" ? true : null,
  );
  const cause = '"pack" failed after 1 attempt: sold-out: nothing is left of it.';
  const page = await sharedPage(context, shop.address);
  await visit(page, "/runs");
  await page
    .getByRole("row")
    .filter({ hasText: "sells-out" })
    .getByText(`${cause} 1 step was compensated.`)
    .waitFor(WAIT);
  await visit(page, `/runs/${runId}`);
  await page.getByRole("paragraph").getByText(`${cause} "pay" was compensated.`).waitFor(WAIT);
  await checkScreen(page, "run-compensated");
  await visit(page, "/");
  const failing = page.getByRole("listitem").filter({ hasText: "pack of order: sold-out" });
  await failing.getByText(/^\d failed$/).waitFor(WAIT);
  await failing.getByText("nothing is left of it").waitFor(WAIT);
  await checkScreen(page, "overview-failing");
  await failing.getByRole("button", { name: "Rerun all…" }).click();
  await page.getByText("Filter: workflow:order step:pack error:sold-out").waitFor(WAIT);
  await page.getByText(/^\d runs? counted just now/).waitFor(WAIT);
  await page.getByRole("button", { name: /^Rerun \d runs?$/ }).waitFor(WAIT);
  await page.keyboard.press("Escape");
  await failing.getByRole("link", { name: "See all" }).click();
  await page.getByRole("row").filter({ hasText: "sells-out" }).waitFor(WAIT);
  await visit(page, "/");
  await failing.getByRole("link", { name: "See the last run" }).click();
  await page.getByRole("paragraph").getByText(`${cause} "pay" was compensated.`).waitFor(WAIT);
});
