// The dashboard of a server that requires tokens: it asks for one, shows why one is refused, works
// with a real one, and asks again when that is revoked while the tab is open.
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTokenInDatabase } from "../../server/first-token.ts";
import { drover } from "../support/drover-process.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { closeBrowser, openPage, picture, seriousFindings } from "./browser.ts";

const WAIT = { timeout: 15_000 };

let database: TestDatabase;
let server: TestServer;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await startDroverServer(database.connectionString, { requireTokens: true });
});
afterAll(async () => {
  await closeBrowser();
  await server?.stop();
  await database?.drop();
});

async function tokenOf(name: string, role: Role, allNamespaces = true) {
  const spec = { name, role, allNamespaces, by: "ada" };
  const { secret, token } = await createTokenInDatabase(database.connectionString, spec);
  return { secret, id: token?.id ?? "" };
}

test("asks for a token, shows why one is refused, and accepts a valid one", async (context) => {
  const page = await openPage(context, server.address);
  const dialog = page.getByRole("dialog");
  const give = async (secret: string) => {
    await dialog.getByLabel("Token").fill(secret);
    await dialog.getByRole("button", { name: "Sign in" }).click();
  };
  await page.goto("/");
  await dialog.getByText("This server requires a token").waitFor(WAIT);
  expect(await seriousFindings(page)).toEqual([]);
  // The page behind has no advice for the command line.
  const text = () => page.evaluate<string>("document.body.innerText");
  expect(await text()).not.toMatch(/--token|DROVER_TOKEN|drover token/);
  await picture(page, "token-asked");

  await give(`drover_${"A".repeat(43)}`);
  await dialog.getByText("The server does not know this API token").waitFor(WAIT);
  await give((await tokenOf("till", Role.AGENT, false)).secret);
  await dialog.getByText('The API token "till" has the role "agent"').waitFor(WAIT);
  expect(await text()).not.toMatch(/--token|DROVER_TOKEN|drover token/);
  await picture(page, "token-refused");

  const eyes = await tokenOf("eyes", Role.VIEWER);
  await give(eyes.secret);
  await dialog.waitFor({ ...WAIT, state: "hidden" });
  await page.getByText("Needs attention").first().waitFor(WAIT);
  await page.goto("/runs");
  await page.getByRole("heading", { name: "Runs" }).waitFor(WAIT);
  expect(page.url()).not.toContain(eyes.secret);

  const { secret: admin } = await tokenOf("first", Role.ADMIN);
  const env = { DROVER_ADDRESS: server.address, DROVER_TOKEN: admin };
  const revoked = await drover(["token", "revoke", eyes.id, "--by", "ada"], { env });
  expect(revoked).toMatchObject({ code: 0 });
  await page.goto("/");
  await dialog.getByText("This API token is revoked").waitFor(WAIT);
});

test("a token that ends while the tab is open is asked for again by itself", async (context) => {
  const page = await openPage(context, server.address);
  const dialog = page.getByRole("dialog");
  const eyes = await tokenOf("short", Role.VIEWER);
  await page.goto("/runs");
  await dialog.getByLabel("Token").fill(eyes.secret);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await dialog.waitFor({ ...WAIT, state: "hidden" });
  const { secret: admin } = await tokenOf("second", Role.ADMIN);
  const env = { DROVER_ADDRESS: server.address, DROVER_TOKEN: admin };
  await drover(["token", "revoke", eyes.id, "--by", "ada"], { env });
  await page.getByRole("link", { name: "Workflows" }).first().click();
  await dialog.getByText("This API token is revoked").waitFor(WAIT);
});
