// drover dev: a server and its database in one process, for real, until a signal ends it.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type DroverProcess,
  drover,
  startDrover,
  withoutSlowDatabase,
} from "../../support/drover-process.ts";
import { makeTestFolder } from "../../support/global-postgres.ts";

const workflow = "workflow: w\nsteps:\n  - { id: a, task: t }\n";

let folder: string;
let dataDir: string;
let dev: DroverProcess;
let env: { DROVER_ADDRESS: string };
beforeAll(async () => {
  folder = makeTestFolder();
  dataDir = join(folder, "data");
  dev = startDrover(["dev", "--data-dir", dataDir, "--address", "127.0.0.1:0"]);
  const output = await dev.wrote("next: drover run list");
  env = { DROVER_ADDRESS: /server +([\d.:]+): /.exec(output)?.[1] ?? "" };
});
afterAll(async () => {
  dev.signal("SIGTERM");
  await dev.ended;
  rmSync(folder, { recursive: true });
});

test("a workflow is registered, and a run of it started, shown and cancelled", async () => {
  const applied = await drover(["workflow", "apply", "-"], { env, stdin: workflow });
  expect(applied).toMatchObject({ code: 0, stdout: "w v1 registered\n" });
  const started = await drover(["run", "start", "w", "--key", "k", "--input", "[1]"], { env });
  expect(started).toMatchObject({ code: 0 });
  const described = await drover(["run", "show", "key:k"], { env });
  expect(described.stdout).toMatch(/^state +running: waiting for an agent$/m);
  expect(described.stdout).toMatch(/^a +ready +t +default/m);
  const cancelled = await drover(["run", "cancel", "key:k", "--leave"], { env });
  expect(cancelled.stdout).toMatch(/^run \S+ is cancelled \(cancelled by a person\)$/m);
  const watched = await drover(["run", "watch", "key:k"], { env });
  expect(watched.code).toBe(1);
  expect(watched.stdout).toContain("run: cancelled (cancelled by a person) after ");
});

test("what the server finds wrong with a text is printed at its place", async () => {
  const stdin = `${workflow}    colour: red\n`.replace("{ id: a, task: t }", "id: a\n    task: t");
  const { code, stderr } = await drover(["workflow", "apply", "-"], { env, stdin });
  expect(code).toBe(1);
  expect(stderr).toContain('-:5:5: steps[0].colour: unknown key "colour" in a step');
});

test("db url leads to the database, which is up to date", async () => {
  const { stdout } = await drover(["db", "url", "--data-dir", dataDir]);
  const client = new Client({ connectionString: stdout.trim() });
  await client.connect();
  await client.query("select 1");
  await client.end();
  const migrated = await drover(["migrate", "--data-dir", dataDir]);
  expect(migrated).toEqual({ code: 0, stdout: "", stderr: "the database is up to date\n" });
});

test("an address that is taken is refused with what to do", async () => {
  const args = ["dev", "--data-dir", join(folder, "other"), "--address", env.DROVER_ADDRESS];
  const { code, stderr } = await drover(args);
  expect(code).toBe(1);
  expect(stderr).toContain(`drover: a process already listens at ${env.DROVER_ADDRESS}\n  next: `);
});

test("a signal drains and stops it, database included", async () => {
  dev.signal("SIGINT");
  const { code, stderr } = await dev.ended;
  expect(code).toBe(0);
  const output = "SIGINT: draining; a second signal stops at once\nstopped\n";
  expect(withoutSlowDatabase(stderr)).toBe(output);
  const { code: after } = await drover(["db", "url", "--data-dir", dataDir]);
  expect(after).toBe(3);
});
