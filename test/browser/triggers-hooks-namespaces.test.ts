// The pages that are only read: triggers with what they refused, hooks with their webhooks, and
// namespaces with their limits. Each names the command that changes what it shows.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { callJson } from "../support/json-call.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };

let shop: Shop;
let page: Page;

const call = async (method: string, body: object): Promise<void> => {
  const answer = await callJson(shop.address, `OperatorService/${method}`, body);
  if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
};

beforeAll(async () => {
  shop = await openShop();
});
afterAll(async () => {
  await closeBrowser();
  await shop.close();
});
beforeEach(async (context) => {
  page = await sharedPage(context, shop.address);
});

/** The page has room for what it shows on a phone, too. */
async function fitsPhone(name: string): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForFunction("document.documentElement.scrollWidth <= innerWidth");
  await checkScreen(page, `narrow-${name}`);
}

test.for([
  ["/triggers", "No trigger", "drover trigger put FILE"],
  ["/hooks", "No hook", "drover hook put NAME URL"],
] as const)(
  "%s says that there is none, and with which command one is made",
  async ([path, none, command]) => {
    await visit(page, path);
    await page.getByText(none, { exact: true }).waitFor(WAIT);
    await page.getByText(command).waitFor(WAIT);
    await checkScreen(page, `${path.slice(1)}-empty`);
  },
);

test("a trigger has its event, its action and what it refused, in the list and on its page", async () => {
  const definition = {
    trigger: "paid",
    http: { bearer: {} },
    when: "body.amount > 0",
    schedule: { workflow: "order", key: `\${body.order}` },
  };
  await call("PutTrigger", { definition, secret: "a-secret-of-enough-characters-17" });
  const answer = await fetch(`http://${shop.address}/hooks/default/paid`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  expect(answer.status).toBe(401);

  await visit(page, "/triggers");
  const row = page.getByRole("table", { name: "Triggers" }).getByRole("row");
  const paid = row.filter({ hasText: "paid" });
  for (const text of ["call over HTTP, with a bearer token", "start a run of order"])
    await paid.getByText(text).waitFor(WAIT);
  await paid.getByText("UNAUTHENTICATED").waitFor(WAIT);
  await checkScreen(page, "triggers");
  await paid.getByRole("link").click();
  await page.waitForURL("**/triggers/paid");
  const settings = page.getByRole("region", { name: "Settings" });
  for (const text of ["POST /hooks/default/paid", "body.amount > 0", `\${body.order}`])
    await settings.getByText(text).waitFor(WAIT);
  await page.getByRole("table", { name: "Refused events" }).waitFor(WAIT);
  expect(await page.content()).not.toContain("a-secret-of-enough");
  await checkScreen(page, "trigger");
  await fitsPhone("trigger");
});

test("a hook has its events, and its webhooks their state, filtered in the address", async () => {
  const url = "https://hooks.invalid/drover";
  await call("PutHook", {
    name: "on-call",
    url,
    events: ["run-ended"],
    secret: "a-secret-of-enough-characters-17",
  });
  const { runId } = await shop.client.schedule({ workflow: "order" });
  await shop.release(runId, "sold-out");

  await visit(page, "/hooks");
  const hook = page.getByRole("table", { name: "Hooks" }).getByRole("row");
  await hook.filter({ hasText: "on-call" }).getByText("run-ended").waitFor(WAIT);
  const sent = page.getByRole("table", { name: "Webhooks" }).getByRole("row");
  const pending = sent.filter({ hasText: "on-call" });
  await pending.getByText("pending").waitFor(WAIT);
  // Nobody has this address.
  await expect.poll(() => pending.textContent(), WAIT).toMatch(/hooks\.invalid|ENOTFOUND|resolve/);
  await checkScreen(page, "hooks");
  await page.getByLabel("State").selectOption("given-up");
  await page.getByText("No webhook is in this state.").waitFor(WAIT);
  expect(new URL(page.url()).search).toBe("?state=given-up");
  await page.getByLabel("State").selectOption("");
  await pending.waitFor(WAIT);
  // Triggers are called below the same path.
  await page.reload();
  await pending.waitFor(WAIT);
  await fitsPhone("hooks");
});

test("a namespace has its limits, and how many of its open runs are used", async () => {
  await call("CreateNamespace", { name: "payments", region: "default" });
  const limits = { openRuns: 5_000, runsPerSecond: 50, payloadBytes: 65_536 };
  await call("SetNamespaceLimits", { namespace: "payments", limits });
  await visit(page, "/namespaces");
  const all = page.getByRole("table", { name: "Namespaces" }).getByRole("row");
  const payments = all.filter({ hasText: "payments" });
  for (const text of ["5,000", "50", "64 KiB"])
    await payments.getByText(text, { exact: true }).waitFor(WAIT);
  await checkScreen(page, "namespaces");
  await payments.getByRole("link", { name: "payments" }).click();
  await page.waitForURL("**/ns/payments");
  await visit(page, "/ns/payments/namespaces");
  const use = page.getByRole("region", { name: "Use of payments" });
  await use.getByText("0 of 5,000", { exact: true }).waitFor(WAIT);
  const limit = page.getByRole("table", { name: "Limits" }).getByRole("row");
  const openRuns = limit.filter({ hasText: "drover namespace limit --open-runs" });
  for (const text of ["5,000", "0", "10,000,000"])
    await openRuns.getByText(text, { exact: true }).waitFor(WAIT);
  await limit.filter({ hasText: "steps of a definition" }).getByText("500").waitFor(WAIT);
  await page
    .getByText("drover namespace limit --open-runs 5000 --namespace payments")
    .waitFor(WAIT);
  await fitsPhone("namespaces");
});
