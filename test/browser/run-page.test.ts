// What the page of a run shows of things that came from outside: signals, and messages of agents.
import { type Agent, createAgent, PermanentError } from "@drover/sdk";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../support/agent-script.ts";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, picture, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };
/** Colours a terminal, rings its bell, and turns what follows it round. */
const EVIL = "\u001b[31mred\u0007 \u202eabc";
const VISIBLE = "\\u001b[31mred\\u0007 \\u202eabc";
const LONG = Array.from({ length: 200 }, (_, n) => `reason ${n}`).join(" ");

let shop: Shop;
let agent: Agent;
beforeAll(async () => {
  shop = await openShop();
  agent = createAgent({
    address: shop.address,
    id: "evil-1",
    queues: ["evil"],
    slots: 5,
    log: silentLog,
    handlers: {
      evil: async () => {
        throw new PermanentError("evil", EVIL);
      },
      talk: async () => {
        throw new PermanentError("talk", LONG);
      },
      give: async () => ({ answer: EVIL }),
    },
  });
  agent.start();
});
afterAll(async () => {
  await closeBrowser();
  await agent?.stop();
  await shop?.close();
});

test("signals are listed with the step that took them, or that none does", async (context) => {
  const steps = [
    { id: "paid", signal: { name: "payment" } },
    { id: "sent", needs: ["paid"], signal: { name: "parcel" } },
  ];
  const { runId } = await shop.client.schedule({ workflow: { workflow: "paid", steps } });
  const page = await sharedPage(context, shop.address);
  await visit(page, `/runs/${runId}`);
  await page.getByLabel("paid, waiting").waitFor(WAIT);
  // The page is open by then: it receives each of them.
  await shop.client.signal(runId, "payment", { payload: { cents: 1_200 } });
  const signals = page.getByRole("region", { name: "Signals" }).getByRole("listitem");
  const first = signals.filter({ hasText: "taken by paid" });
  await first.waitFor(WAIT);
  await shop.client.signal(runId, "payment");
  await signals.getByText("no step can take it any more").waitFor(WAIT);
  expect(await signals.count()).toBe(2);
  await page
    .getByRole("region", { name: "What it waits for" })
    .getByText(/^The signal "payment" came .* ago, and no step takes it any more\.$/)
    .waitFor(WAIT);
  await first.getByText("Payload").click();
  await first.getByText("1200").waitFor(WAIT);
  await checkScreen(page, "run-signals");
});

async function startFailing(task: string, onFailure: "escalate" | "continue"): Promise<string> {
  const steps = [{ id: "say", task, queue: "evil", retry: [{ attempts: 1 }], onFailure }] as const;
  const { runId } = await shop.client.schedule({ workflow: { workflow: task, steps } });
  const ended = onFailure === "escalate" ? "ESCALATED" : "COMPLETED";
  await until(`${runId} is ${ended}`, async () =>
    (await shop.client.getRun(runId)).run.state === ended ? true : null,
  );
  return runId;
}

/** Characters of EVIL that are there as they are, by their numbers. */
async function hiddenIn(page: Page, what: string): Promise<readonly string[]> {
  const text = await page.evaluate<string>(`document.${what}`);
  return ["\u001b", "\u0007", "\u202e"]
    .filter((one) => text.includes(one))
    .map((one) => JSON.stringify(one));
}

test("control characters of messages are shown, and turn nothing round", async (context) => {
  const asking = await startFailing("evil", "escalate");
  const page = await sharedPage(context, shop.address);
  for (const path of [`/runs/${asking}`, `/escalations/${asking}/1`]) {
    await visit(page, path);
    const message = page.locator("bdi", { hasText: VISIBLE }).locator("visible=true").first();
    await message.waitFor(WAIT);
    expect(await hiddenIn(page, "body.innerText"), path).toEqual([]);
  }
  await visit(page, `/runs/${asking}`);
  await page.getByLabel("say, escalated").click();
  await page.getByRole("dialog", { name: "Step say" }).getByText(VISIBLE).first().waitFor(WAIT);
  await picture(page, "run-control-characters");
  // Titles and labels have it too.
  expect(await hiddenIn(page, "documentElement.outerHTML")).toEqual([]);
});

test("a step that failed and was continued after is a warning with its error", async (context) => {
  const runId = await startFailing("evil", "continue");
  const page = await sharedPage(context, shop.address);
  await visit(page, `/runs/${runId}`);
  await page.locator(".page-title").getByText("completed, 1 warning").waitFor(WAIT);
  const warnings = page.getByRole("region", { name: "Warnings" });
  await warnings.getByText("The run continued after a failure:").waitFor(WAIT);
  await warnings.getByText(`evil: ${VISIBLE}`).waitFor(WAIT);
});

test("control characters of payloads are shown too", async (context) => {
  const steps = [{ id: "give", task: "give", queue: "evil" }];
  const { runId } = await shop.client.schedule({
    workflow: { workflow: "give", steps },
    input: { [EVIL]: EVIL },
  });
  const page = await sharedPage(context, shop.address);
  await visit(page, `/runs/${runId}`);
  for (const name of ["Input", "Output of give"]) {
    const panel = page.getByRole("region", { name });
    await panel.locator("summary").first().click();
    await panel.locator(".payload").getByText(VISIBLE).first().waitFor(WAIT);
  }
  expect(await hiddenIn(page, "body.innerText")).toEqual([]);
});

test.for([1_440, 390])(
  "a long message is cut until one wants all of it, %s px wide",
  async (width, context) => {
    const asking = await startFailing("talk", "escalate");
    const page = await sharedPage(context, shop.address);
    await page.setViewportSize({ width, height: 900 });
    await visit(page, `/runs/${asking}`);
    const panel = page.getByRole("region", { name: "Open escalations" });
    const message = panel.locator("bdi").filter({ hasText: "reason 199" });
    await message.waitFor(WAIT);
    const height = async () => (await message.boundingBox())?.height ?? 0;
    await panel.getByRole("button", { name: "more" }).waitFor(WAIT);
    const cut = await height();
    expect(cut).toBeLessThan(70);
    await checkScreen(page, `run-long-message-${width}`);
    await panel.getByRole("button", { name: "more" }).click();
    await panel.getByRole("button", { name: "less" }).waitFor(WAIT);
    expect(await height()).toBeGreaterThan(cut);
  },
);
