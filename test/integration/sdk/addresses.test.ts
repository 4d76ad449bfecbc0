/** Which addresses are taken, and files of TLS that change while a client lives. */
import { copyFileSync } from "node:fs";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../sdk/typescript/client.ts";
import { addressesOf } from "../../../sdk/typescript/connection.ts";
import { startServer } from "../../../server/main.ts";
import { createCertificates } from "../../support/certificates.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const certificates = createCertificates();
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  certificates.remove();
  await database?.drop();
});

test("addresses are a list, or one text with commas; each counts once", () => {
  const expected = ["a:7420", "[::1]:7420"];
  expect(addressesOf({ address: "a:7420, [::1]:7420,a:7420" })).toEqual(expected);
  expect(addressesOf({ address: expected })).toEqual(expected);
});

test.for<string | readonly string[]>([
  "",
  "a:7420,",
  "a",
  "http://a:7420",
  "dns:///a:7420",
  ["a:7420", "b"],
  [],
])("the addresses %j are refused with what to write", (address) => {
  expect(() => createClient({ address })).toThrow(/address.*write it as/);
});

test("a token in plain text is refused if one of the addresses is another machine", () => {
  const address = "127.0.0.1:7420,drover.example:7420";
  expect(() => createClient({ address, token: "abc" })).toThrow("drover.example:7420");
});

test("a certificate and authorities that are replaced are used without a restart", async () => {
  const ours = await certificates.authority("ours");
  const other = await certificates.authority("other");
  const server = await startServer({
    address: "127.0.0.1:0",
    database: { kind: "url", url: database.connectionString },
    log: { level: "silent" },
    tls: {
      ...(await ours.issue({ name: "server" })),
      clientCaFile: ours.certFile,
      requireClientCert: true,
    },
  });
  onTestFinished(() => server.stop());
  const known = await ours.issue({ name: "ada" });
  const stranger = await other.issue({ name: "eve" });
  // Files of their own, which are replaced.
  const { certFile: cert, keyFile: key } = await ours.issue({ name: "bob" });
  const { certFile: ca } = await certificates.authority("replaced");
  const replaceBy = (pair: typeof known, authority: typeof ours) => {
    copyFileSync(pair.certFile, cert);
    copyFileSync(pair.keyFile, key);
    copyFileSync(authority.certFile, ca);
  };
  replaceBy(known, ours);
  const tls = { ca, cert, key };
  const client = createClient({ address: server.address, tls, patience: "0s" });
  onTestFinished(() => client.close());
  const isTaken = () =>
    client.listRuns().then(
      () => true,
      () => false,
    );
  expect(await isTaken()).toBe(true);
  replaceBy(stranger, ours);
  await until("the certificate of a stranger is refused", async () => !(await isTaken()) || null);
  replaceBy(known, ours);
  await until("the certificate that is back is taken", async () => (await isTaken()) || null);
  replaceBy(known, other);
  await until("the server is not trusted", async () => !(await isTaken()) || null);
  replaceBy(known, ours);
  await until("the server is trusted again", async () => (await isTaken()) || null);
});
