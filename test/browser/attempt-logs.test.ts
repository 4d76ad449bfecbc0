// What handlers logged, on the page of their run: with their attempt, as it comes, and safely.
import { type Agent, createAgent } from "@drover/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aGate, silentLog } from "../support/agent-script.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };
const EVIL = "\u001b[31mred \u202eabc";
const VISIBLE = "\\u001b[31mred \\u202eabc";

const asked = aGate<string>();
let shop: Shop;
let agent: Agent;
beforeAll(async () => {
  shop = await openShop();
  agent = createAgent({
    address: shop.address,
    id: "talks-1",
    queues: ["talks"],
    log: silentLog,
    handlers: {
      charge: async ({ attempt }, { log }) => {
        log.debug({ attempt }, "the card is read");
        log.info({ card: "visa 42", euros: 120 }, "the bank is asked");
        if (attempt === 1) {
          log.error({ status: 503 }, `the bank refused: ${EVIL}`);
          throw new Error("the bank is closed");
        }
        log.warn({}, `the bank is slow ${"very ".repeat(40)}`);
        await asked.ended;
        log.info({}, "charged");
      },
    },
  });
  agent.start();
});
afterAll(async () => {
  await closeBrowser();
  await agent?.stop();
  await shop?.close();
});

test("the lines of an attempt come while it runs, and those of an earlier one are opened", async (context) => {
  const retry = { initial: "1ms", jitter: 0 };
  const steps = [{ id: "pay", task: "charge", queue: "talks", retry }];
  const { runId } = await shop.client.schedule({ workflow: { workflow: "pays", steps } });
  const page = await sharedPage(context, shop.address);
  await visit(page, `/runs/${runId}`);
  await page
    .getByLabel(/^pay, /)
    .first()
    .click();
  // The newest comes first.
  const attempts = page.locator("ol.attempts");
  const lines = attempts.getByRole("list", { name: "Lines of the handler" });
  await lines.getByText("the bank is slow").waitFor(WAIT);
  await attempts.getByText("Logs").last().click();
  const first = lines.last();
  await first.getByText(`the bank refused: ${VISIBLE}`).waitFor(WAIT);
  expect(await first.getByText("card=visa 42").count()).toBe(1);
  expect(await page.evaluate<string>("document.body.innerText")).not.toContain("\u202e");
  await checkScreen(page, "attempt-logs");
  asked.end("yes");
  await lines.getByText("charged", { exact: true }).waitFor(WAIT);
});
