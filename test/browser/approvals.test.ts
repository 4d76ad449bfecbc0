/** The inbox of approvals: who it is for, what is filled in, and what is said to a refusal. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../sdk/typescript/client.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { checkScreen, closeBrowser, picture, sharedPage, visit } from "./browser.ts";

const WAIT = { timeout: 15_000 };

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
  const form = {
    type: "object",
    required: ["reason", "account"],
    properties: {
      reason: { type: "string" },
      cents: { type: "integer" },
      urgent: { type: "boolean" },
      account: { enum: ["main", "reserve"] },
    },
  };
  const approval = { approvers: ["treasury", "ada"], form, onExpiry: "reject" } as const;
  const funds = { workflow: "release-funds", steps: [{ id: "approve", approval }] };
  await client.schedule({ workflow: funds, key: "order-17", input: { invoice: "F-2026-117" } });
  const spec = { need: 2, within: 3_600_000 } as const;
  const any = { workflow: "publish", steps: [{ id: "review", approval: spec }] };
  await client.schedule({ workflow: any, key: "page-4" });
});
afterAll(async () => {
  await closeBrowser();
  client?.close();
  await server?.stop();
});

test("the overview names what waits for approval, and leads to it", async (context) => {
  const page = await sharedPage(context, server.address);
  await visit(page, "/");
  await page.getByText("waits for approval by treasury or ada").waitFor(WAIT);
  await page.getByText("waits for approval by anyone").waitFor(WAIT);
  await checkScreen(page, "overview-approvals");
});

test("the approvals of a person are kept in the address and for the next visit", async (context) => {
  const page = await sharedPage(context, server.address);
  await visit(page, "/approvals");
  await page.getByText("approve of release-funds").waitFor(WAIT);
  await page.getByText("review of publish").waitFor(WAIT);
  await checkScreen(page, "approvals");

  await page.getByLabel("For").fill("bob");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("approve of release-funds").waitFor({ ...WAIT, state: "detached" });
  expect(page.url()).toContain("/approvals?for=bob");
  await visit(page, "/approvals");
  await page.getByText("review of publish").waitFor(WAIT);
  expect(await page.getByText("approve of release-funds").count()).toBe(0);

  await page.getByLabel("Roles").fill("treasury");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("approve of release-funds").waitFor(WAIT);
  await page.getByLabel("For").fill("");
  await page.getByLabel("Roles").fill("");
  await page.getByRole("button", { name: "Show" }).click();
});

test("on a narrow screen nothing is wider than it", async (context) => {
  const page = await sharedPage(context, server.address);
  await page.setViewportSize({ width: 390, height: 844 });
  await visit(page, "/approvals?for=");
  await page.getByText("approve of release-funds").waitFor(WAIT);
  await picture(page, "approvals-narrow");
  await page.getByRole("button", { name: /Decide on approve/ }).click();
  await page.getByLabel("reason").waitFor(WAIT);
  await page.getByRole("dialog").getByText("F-2026-117").waitFor(WAIT);
  await picture(page, "approval-decide-narrow");
  expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(
    390,
  );
  await page.getByRole("button", { name: "Close" }).click();
});

test("a decision has the fields of its form; a refusal is at its field, in words", async (context) => {
  const page = await sharedPage(context, server.address);
  await visit(page, "/approvals?for=");
  await page.getByRole("button", { name: /Decide on approve/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("reason").fill("the invoice is right");
  await dialog.getByLabel("cents").fill("1200");
  await dialog.getByLabel("urgent").check();
  await dialog.getByLabel("account").selectOption("reserve");
  await dialog.getByLabel("Your name").fill("zorro");
  await dialog.getByRole("button", { name: "Decide" }).click();
  const refused = '"zorro" is not an approver of this step. Approvers: treasury, ada.';
  await dialog.getByText(refused).waitFor(WAIT);
  await checkScreen(page, "approval-refused");
  expect(await dialog.getByRole("alert").count()).toBe(1);

  await dialog.getByLabel("Your roles").fill("treasury");
  await dialog.getByRole("button", { name: "Decide" }).click();
  await page.getByText("The decision is recorded.").waitFor(WAIT);
  await page.getByText("approve of release-funds").waitFor({ ...WAIT, state: "detached" });
  const { steps } = await client.getRun({ key: "order-17" });
  expect(steps[0]?.output).toEqual({
    approved_by: ["zorro"],
    form: { reason: "the invoice is right", cents: 1_200, urgent: true, account: "reserve" },
  });
});
