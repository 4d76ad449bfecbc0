// People sign in to the dashboard at an OpenID provider, in a real browser: the forms are the
// provider's own.

import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, type TestContext, test } from "vitest";
import { createTokenInDatabase } from "../../server/first-token.ts";
import { oidcConfig } from "../../server/identity-config.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { freeAddress } from "../support/free-address.ts";
import { callJson } from "../support/json-call.ts";
import {
  DASHBOARD_CLIENT,
  DASHBOARD_SCOPE,
  type OpenidProvider,
  startOpenidProvider,
} from "../support/openid-provider.ts";
import { checkScreen, closeBrowser, openPage } from "./browser.ts";

const WAIT = { timeout: 15_000 };

let provider: OpenidProvider;
let server: TestServer;
beforeAll(async () => {
  const address = await freeAddress();
  provider = await startOpenidProvider(
    {
      ada: { email: "ada@example.com", drover_roles: "operator", drover_namespaces: "*" },
      eve: { email: "eve@example.com" },
    },
    `http://${address}`,
  );
  const oidc = oidcConfig({
    issuer: provider.issuer,
    audience: "drover-services",
    clientId: DASHBOARD_CLIENT,
    scope: DASHBOARD_SCOPE,
  });
  server = await startDroverServer(undefined, {
    address,
    requireTokens: true,
    identities: { oidc },
  });
  await registerWorkflow();
});

async function registerWorkflow(): Promise<void> {
  const spec = { name: "till", role: Role.ADMIN, allNamespaces: true, by: "ada" };
  const { secret } = await createTokenInDatabase(server.connectionString, spec);
  const text = "workflow: order\nsteps: [{ id: pay, task: pay }]\n";
  const headers = { authorization: `Bearer ${secret}` };
  const method = "SchedulerService/RegisterWorkflow";
  expect(await callJson(server.address, method, { text }, headers)).toMatchObject({ status: 200 });
}

afterAll(async () => {
  await closeBrowser();
  await server?.stop();
  await provider?.stop();
});

/** The provider's forms ask for a font on the internet, which no test needs. */
async function pageAt(context: TestContext, path: string): Promise<Page> {
  const page = await openPage(context, server.address);
  await page.route(/^https:/, (route) => route.fulfill({ contentType: "text/css", body: "" }));
  await page.goto(path);
  return page;
}

function signInButton(page: Page) {
  return page.getByRole("button", { name: `Sign in with ${new URL(provider.issuer).host}` });
}

/** At the provider: its form, and that the dashboard may know the claims. */
async function signInAs(page: Page, login: string): Promise<void> {
  await signInButton(page).click();
  await page.getByPlaceholder("Enter any login").fill(login);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("a person signs in, is back at the page of before, and acts under the verified name", async (context) => {
  const page = await pageAt(context, "/workflows");
  await page.getByRole("heading", { name: "Sign in" }).waitFor(WAIT);
  await checkScreen(page, "sign-in");
  await signInAs(page, "ada");
  await page.getByText("ada@example.com").first().waitFor(WAIT);
  await page.getByRole("heading", { name: "Workflows" }).waitFor(WAIT);
  expect(page.url()).toBe(`${server.url}/workflows`);
  expect(await page.getByRole("dialog").isVisible()).toBe(false);
  await checkScreen(page, "signed-in");

  await page.goto("/workflows/order");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await page.getByText("Workflow order is paused.").waitFor(WAIT);
  await page.goto("/audit");
  const paused = page.getByText(/ada@example\.com\s*\(verified\)\s*paused workflow\s*order/);
  await paused.first().waitFor(WAIT);
  await checkScreen(page, "signed-in-audit");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor(WAIT);
  expect(await page.evaluate("Object.keys(sessionStorage)")).toEqual([]);
});

test("a person without a role is told so", async (context) => {
  const page = await pageAt(context, "/runs");
  await signInAs(page, "eve");
  await page.getByText("The server refused your sign-in.").waitFor(WAIT);
  await checkScreen(page, "sign-in-refused");
});

test("who declines at the provider is told what the provider says", async (context) => {
  const page = await pageAt(context, "/runs");
  await signInButton(page).click();
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByText("Signing in did not succeed").waitFor(WAIT);
});

test("an answer of the provider that was not asked for is refused", async (context) => {
  const page = await pageAt(context, "/sign-in?code=stolen&state=of-another-tab");
  await page.getByText("It was not begun in this tab.").waitFor(WAIT);
  expect(page.url()).toBe(`${server.url}/`);
});
