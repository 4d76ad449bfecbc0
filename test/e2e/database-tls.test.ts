// TLS between a server and PostgreSQL, as a URL with `sslmode=verify-full` asks for it: the server
// works with the authority of the database's certificate, and with another one it does not start.
import { chmodSync, chownSync, copyFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEmbeddedPostgres } from "../../dev-postgres/postgres.ts";
import { type Authority, createCertificates } from "../support/certificates.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { until } from "../support/until.ts";

const certificates = createCertificates();
const folder = makeTestFolder();
const dataDir = join(folder, "data");
const postgres = createEmbeddedPostgres({ dataDir, durable: false, log: () => undefined });
let url: string;
let own: Authority;
let other: Authority;

beforeAll(async () => {
  const { connectionString, adminConnectionString } = await postgres.start();
  url = connectionString;
  own = await certificates.authority("Own");
  other = await certificates.authority("Other");
  const { certFile, keyFile } = await own.issue({ name: "database" });
  const data = join(dataDir, "postgres/data");
  const { uid, gid } = statSync(data);
  for (const [from, name] of [
    [certFile, "server.crt"],
    [keyFile, "server.key"],
  ] as const) {
    const file = join(data, name);
    copyFileSync(from, file);
    chownSync(file, uid, gid);
    chmodSync(file, 0o600);
  }
  const admin = new pg.Client({ connectionString: adminConnectionString });
  await admin.connect();
  await admin.query("alter system set ssl = on");
  await admin.query("select pg_reload_conf()");
  await until("it has read them", async () => {
    const { rows } = await admin.query<{ ssl: string }>("show ssl");
    return rows[0]?.ssl === "on" ? true : null;
  });
  await admin.end();
});
afterAll(async () => {
  await postgres.stop();
  certificates.remove();
  rmSync(folder, { recursive: true });
});

const urlWith = ({ certFile }: Authority) => `${url}?sslmode=verify-full&sslrootcert=${certFile}`;

test("a server encrypts each connection to a database that it can verify", async () => {
  const server = await startDroverServer(urlWith(own));
  const client = new pg.Client({ connectionString: urlWith(own) });
  await client.connect();
  const { rows } = await client.query<{ ssl: boolean }>(
    `select distinct s.ssl from pg_stat_ssl as s join pg_stat_activity as a using (pid)
     where a.application_name like 'drover-%'`,
  );
  expect(rows).toEqual([{ ssl: true }]);
  await client.end();
  await server.stop();
});

test("a server does not start on a database that it cannot verify", async () => {
  await expect(startDroverServer(urlWith(other))).rejects.toThrow(/certificate/);
});
