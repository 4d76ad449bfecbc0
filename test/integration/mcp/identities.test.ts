/** `drover mcp` has the identity of the command line: a JWT, and a certificate over TLS. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../sdk/typescript/client.ts";
import { NO_IDENTITIES, oidcConfig } from "../../../server/identity-config.ts";
import { createCertificates } from "../../support/certificates.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { type IdentityProvider, startIdentityProvider } from "../../support/identity-provider.ts";
import { at } from "../../support/json-call.ts";
import { openMcp, type SessionOptions } from "../../support/mcp-session.ts";

const ADA = "ada@example.com";
const certificates = createCertificates();
let provider: IdentityProvider;
let server: TestServer;
let files: { readonly ca: string; readonly cert: string; readonly key: string };

beforeAll(async () => {
  provider = await startIdentityProvider();
  const authority = await certificates.authority("ours");
  const own = await authority.issue({ name: "server" });
  const person = await authority.issue({ name: "ada" });
  files = { ca: authority.certFile, cert: person.certFile, key: person.keyFile };
  const { issuer, audience } = provider;
  server = await startDroverServer(undefined, {
    requireTokens: true,
    identities: { ...NO_IDENTITIES, oidc: oidcConfig({ issuer, audience }) },
    tls: { ...own, clientCaFile: authority.certFile, requireClientCert: true },
  });
});
afterAll(async () => {
  await server?.stop();
  await provider?.close();
  certificates.remove();
});

const tlsArgs = () => [
  "--address",
  server.url,
  "--ca",
  files.ca,
  "--client-cert",
  files.cert,
  "--client-key",
  files.key,
];

async function opened(options: SessionOptions) {
  const session = await openMcp(options);
  onTestFinished(session.close);
  return session;
}

test("the name that a JWT proves is that of each decision, over TLS with a certificate", async () => {
  const token = await provider.sign({ sub: "u-1", email: ADA, drover_roles: "operator" });
  // No name of the environment is sent beside it.
  const env = { DROVER_TOKEN: token, DROVER_USER: "bob", USER: "root" };
  const mcp = await opened({ env, args: tlsArgs() });
  const definition = JSON.stringify({
    workflow: "w",
    steps: [{ id: "go", approval: { approvers: [ADA] } }],
  });
  const started = await mcp.call("start_inline_run", { definition, key: "by-jwt" });
  expect(started.isError, started.text).toBe(false);
  const decide = { run: "key:by-jwt", step: "go", decision: "approve", reason: "good" };
  const decided = await mcp.call("decide_approval", decide);
  expect(decided.isError, decided.text).toBe(false);
  const client = createClient({ address: server.address, token, tls: files });
  onTestFinished(() => client.close());
  const { decisions } = await client.getRun({ key: "by-jwt" }, { decisions: true });
  expect(decisions).toMatchObject([{ approver: ADA, approverVerified: true }]);
});

test("another name than the proved one is refused by the server", async () => {
  const token = await provider.sign({ sub: "u-1", email: ADA, drover_roles: "operator" });
  const mcp = await opened({ env: { DROVER_TOKEN: token }, args: [...tlsArgs(), "--by", "bob"] });
  const pause = await mcp.call("pause_run", { run: "key:by-jwt", reason: "r" });
  expect(pause.isError).toBe(true);
  expect(at(pause.json, "refused")).toMatchObject({
    code: "PERMISSION_DENIED",
    message: expect.stringContaining("bob"),
  });
});

test("without the certificate there is no connection", async () => {
  const [address = "", url = "", ca = "", file = ""] = tlsArgs();
  const mcp = await opened({ args: [address, url, ca, file, "--read-only"] });
  const { json } = await mcp.call("list_workflows");
  expect(at(json, "refused", "code")).toBe("UNAVAILABLE");
});
