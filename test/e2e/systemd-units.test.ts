// The units of deploy/systemd: systemd accepts them; and what they start, with the settings beside
// them, migrates an empty database, serves by TLS with tokens alone, and stops within its time.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, type TestContext, test } from "vitest";
import { type Authority, createCertificates } from "../support/certificates.ts";
import { type DroverProcess, drover, startDrover } from "../support/drover-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { endForLack } from "../support/required-tools.ts";

const run = promisify(execFile);
const units = fileURLToPath(new URL("../../deploy/systemd", import.meta.url));
const command = fileURLToPath(new URL("../../cli/bin/drover.js", import.meta.url));
const certificates = createCertificates();
let authority: Authority;
let database: TestDatabase;

beforeAll(async () => {
  authority = await certificates.authority("Test");
  database = await createTestDatabase({ empty: true });
});
afterAll(async () => {
  certificates.remove();
  await database?.drop();
});

const textOf = (file: string): string => readFileSync(join(units, file), "utf8");

/** The arguments of `drover`, and the settings, with those of this machine instead. */
function startOf(unit: string, own: Readonly<Record<string, string>>) {
  const text = textOf(`${unit}.service`);
  const [, args = ""] = /^ExecStart=\/usr\/bin\/drover (.+)$/m.exec(text) ?? [];
  const [, file = ""] = /^EnvironmentFile=\/etc\/drover\/(.+)$/m.exec(text) ?? [];
  const settings = [...textOf(file).matchAll(/^(\w+)=(.*)$/gm)];
  const env = Object.fromEntries(settings.map(([, name = "", value = ""]) => [name, value]));
  for (const name of Object.keys(own))
    if (!(name in env)) throw new Error(`${file} has no ${name}`);
  const PATH = process.env.PATH ?? "";
  return { args: args.split(" "), options: { env: { ...env, ...own, PATH } } };
}

test("systemd accepts them", async (context: TestContext) => {
  const found = await run("systemd-analyze", ["--version"]).catch(() => null);
  if (!found) return endForLack(context, "systemd-analyze", "systemd-analyze is not here");
  const folder = mkdtempSync(join(tmpdir(), "drover-units-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = readdirSync(units).filter((name) => name.endsWith(".service"));
  expect(files).toHaveLength(3);
  for (const name of files)
    writeFileSync(join(folder, name), textOf(name).replace("/usr/bin/drover", command));
  const paths = files.map((name) => join(folder, name));
  const { stdout, stderr } = await run("systemd-analyze", ["verify", ...paths]);
  expect(stdout + stderr).toBe("");
});

test("they migrate, serve with TLS and tokens, supervise, and stop within their time", async () => {
  const DATABASE_URL = database.connectionString;
  const migration = startOf("drover-migrate", { DATABASE_URL });
  const refused = startOf("drover-server", { DATABASE_URL });
  expect((await drover(refused.args, refused.options)).code).not.toBe(0);
  expect(await drover(migration.args, migration.options)).toMatchObject({ code: 0 });
  const { certFile, keyFile } = await authority.issue({ name: "server" });
  const server = startOf("drover-server", {
    DATABASE_URL,
    DROVER_ADDRESS: "127.0.0.1:0",
    DROVER_TLS_CERT_FILE: certFile,
    DROVER_TLS_KEY_FILE: keyFile,
    DROVER_LAME_DUCK: "1s",
  });
  const serving = startDrover(server.args, server.options);
  const supervisor = startOf("drover-supervisor", { DATABASE_URL });
  const supervising = startDrover(supervisor.args, supervisor.options);
  const [, address = ""] = /127\.0\.0\.1:(\d+)/.exec(await serving.wrote("server ")) ?? [];
  await supervising.wrote("supervisor ");
  expect(await statusOf(Number(address), "/readyz")).toBe(200);
  expect(await statusOf(Number(address), "/metrics")).toBe(401);
  for (const [unit, one] of [
    ["drover-server", serving],
    ["drover-supervisor", supervising],
  ] as const)
    await stopsInTime(unit, one);
});

async function statusOf(port: number, path: string): Promise<number> {
  const ca = readFileSync(authority.certFile);
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path, ca }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).once("error", reject);
  });
}

async function stopsInTime(unit: string, one: DroverProcess): Promise<void> {
  const [, seconds = ""] = /^TimeoutStopSec=(\d+)s$/m.exec(textOf(`${unit}.service`)) ?? [];
  const startedAt = performance.now();
  one.signal("SIGTERM");
  expect(await one.ended).toMatchObject({ code: 0 });
  expect(performance.now() - startedAt).toBeLessThan(Number(seconds) * 1_000);
}
