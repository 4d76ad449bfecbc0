// The dashboard over TLS, in a real browser. A browser offers HTTP/2 and HTTP/1.1; HTTP/2 is for
// native gRPC alone.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Authority, createCertificates } from "../support/certificates.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { closeBrowser, openBrowser } from "./browser.ts";

const certificates = createCertificates();
let authority: Authority;
let server: TestServer;
beforeAll(async () => {
  authority = await certificates.authority("ours");
  const own = await authority.issue({ name: "server" });
  server = await startDroverServer(undefined, {
    tls: { ...own, clientCaFile: null, requireClientCert: false },
  });
});
afterAll(async () => {
  await closeBrowser();
  await server?.stop();
  certificates.remove();
});

test("the dashboard and its calls work over TLS", async (context) => {
  const browser = await openBrowser(context);
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  await page.goto(`https://${server.address}/`);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByText("Needs attention").first().waitFor();
  expect(await page.evaluate("isSecureContext")).toBe(true);
  await page.close();
});
