// Commands that call a server with TLS: authorities, client certificates, and contexts that store
// where the files are.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer } from "../../../server/main.ts";
import { createCertificates } from "../../support/certificates.ts";
import { callDrover } from "../../support/drover-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

const certificates = createCertificates();
const home = mkdtempSync(join(tmpdir(), "drover-tls-"));
let database: TestDatabase;
let server: Awaited<ReturnType<typeof startServer>>;
let files: readonly string[];

beforeAll(async () => {
  database = await createTestDatabase();
  const authority = await certificates.authority("ours");
  const own = await authority.issue({ name: "server" });
  const person = await authority.issue({ name: "ada" });
  server = await startServer({
    address: "127.0.0.1:0",
    database: { kind: "url", url: database.connectionString },
    log: { level: "silent" },
    tls: { ...own, clientCaFile: authority.certFile, requireClientCert: true },
  });
  const { certFile, keyFile } = person;
  files = ["--ca", authority.certFile, "--client-cert", certFile, "--client-key", keyFile];
});
afterAll(async () => {
  await server.stop();
  await database.drop();
  certificates.remove();
  rmSync(home, { recursive: true });
});

const run = (...args: readonly string[]) => callDrover(args, { cwd: home });

test("a context stores the address and the files, and every kind of call uses them", async () => {
  const stored = { cwd: home, env: { XDG_CONFIG_HOME: home } };
  const runStored = (...args: readonly string[]) => callDrover(args, stored);
  await runStored("context", "add", "secure", "--address", server.url, ...files);
  expect(await runStored("run", "list")).toMatchObject({ code: 0 });
  expect((await runStored("doctor")).stdout).toMatch(/ok +health/);
  expect(await runStored("bench", "--runs", "2")).toMatchObject({ code: 0 });
});

test("without the authority, or without a certificate, there is no connection", async () => {
  const here = ["run", "list", "--address", server.url];
  const [, , ...certificate] = files;
  for (const given of [certificate, files.slice(0, 2)])
    expect(await run(...here, ...given)).toMatchObject({ code: 3 });
});

test("files that are missing or do not belong together are refused with a sentence", async () => {
  const here = ["run", "list", "--address", server.url];
  expect(await run(...here, "--ca", "none.pem")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/cannot read the file of --ca: ENOENT/),
  });
  expect(await run(...here, "--client-cert", "none.pem")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/a client certificate and its key belong together/),
  });
});

test.each([
  [["--tls-cert", "a.pem"], /--tls-cert needs its key/],
  [["--tls-key", "a.pem"], /TLS needs a certificate of the server/],
  [["--tls-cert", "a", "--tls-key", "b", "--tls-require-client-cert"], /--tls-client-ca FILE/],
])("a server is not started with %j", async (given, message) => {
  expect(await run("server", ...given)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(message),
  });
});
