// What the command line prints when nothing can be done yet: help, usage, no server, no database.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drover } from "../../support/drover-process.ts";
import { scriptedServer } from "./fixture.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "drover-cli-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("an old Node gets a sentence about what to do", async () => {
  const pretend =
    'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"20.19.0"}});' +
    'Object.defineProperty(process,"version",{value:"v20.19.0"})';
  const { code, stderr } = await drover([], { nodeOptions: ["--import", pretend] });
  expect(code).toBe(2);
  expect(stderr).toBe(
    "drover: needs Node 22.18 or newer, and this is v20.19.0.\n" +
      "  next: install a newer Node; in a clone of Drover, npx drover uses the one that it brings\n",
  );
});

test("help names every verb, the environment, the defaults and the exit codes", async () => {
  const { code, stdout } = await drover(["--help"]);
  expect(code).toBe(0);
  for (const part of ["dev", "server", "migrate", "db", "workflow", "run", "DROVER_ADDRESS"])
    expect(stdout).toContain(part);
  expect(stdout).toContain('"127.0.0.1:7420"');
  expect(stdout).toContain("Exit codes: 0 done, 1 run failed");
});

test("the version is printed", async () => {
  expect(await drover(["--version"])).toMatchObject({ code: 0, stdout: "0.1.0\n" });
});

describe("drover version", () => {
  const server = scriptedServer();

  test("prints the versions of the command and of the server", async () => {
    server.play({ getClusterInfo: () => ({ serverVersion: "0.2.0" }) });
    const { code, stdout } = await server.drover(["version"]);
    expect(code).toBe(0);
    expect(stdout).toBe(`client  0.1.0\nserver  0.2.0 at ${server.address}\n`);
    const json = await server.drover(["version", "-o", "jsonl"]);
    expect(JSON.parse(json.stdout)).toEqual({ client: "0.1.0", server: "0.2.0" });
  });

  test("prints its own version where no server answers, and says why", async () => {
    expect(await drover(["version", "--address", "127.0.0.1:1"])).toEqual({
      code: 0,
      stdout: "client  0.1.0\n",
      stderr: "no version of the server: cannot connect to 127.0.0.1:1: no process listens there\n",
    });
  });
});

describe("nouns", () => {
  const server = scriptedServer();

  test.each(["runs", "workflows", "queues", "escalations"])("may be plural: %s", async (noun) => {
    server.play({
      listRuns: () => ({}),
      listWorkflows: () => ({}),
      listQueues: () => ({}),
      listEscalations: () => ({}),
    });
    expect(await server.drover([noun, "list"])).toMatchObject({ code: 0 });
  });

  test("come before the verb, which is no misspelt noun", async () => {
    const { code, stderr } = await server.drover(["get", "runs"]);
    expect(code).toBe(2);
    expect(stderr).toBe(
      'drover: "get" is not a noun: the noun comes first, as in drover run list\n' +
        "  next: drover run --help\n",
    );
  });
});

describe("a mistake in the command is printed with the help to read, and exits with 2", () => {
  test.each([
    ["an unknown verb", ["run", "lst"], "unknown command 'lst' (Did you mean list?)", "run --help"],
    ["an unknown option", ["run", "list", "--limits"], "unknown option", "run list --help"],
    ["a missing argument", ["run", "start"], "missing required argument", "run start --help"],
    [
      "a value out of range",
      ["run", "start", "w", "--priority", "10"],
      "1 to 9",
      "run start --help",
    ],
    ["a label without =", ["run", "start", "w", "--label", "a"], "KEY=VALUE", "run start --help"],
    ["an unknown state", ["run", "list", "--state", "done"], "completed", "run list --help"],
    [
      "an unknown format",
      ["run", "list", "-o", "xml"],
      "table, wide, name, json, yaml",
      "drover --help",
    ],
    ["no run", ["run", "show"], "which run?", "drover run list"],
    ["two names for a run", ["run", "show", "r1", "--key", "k"], "not both", "leave one"],
    ["an input that is not JSON", ["run", "start", "w", "--input", "{"], "not JSON", "--input"],
    [
      "a file that is not there",
      ["workflow", "check", "no.yaml"],
      "no such file",
      "path of a file",
    ],
    [
      "no address",
      ["run", "list", "--address", "a b"],
      '"a b" is not an address',
      "127.0.0.1:7420",
    ],
  ])("%s", async (_, args, message, next) => {
    const { code, stdout, stderr } = await drover(args, { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^drover: .*\n {2}next: .*\n$/);
    expect(stderr).toContain(message);
    expect(stderr.split("next: ")[1]).toContain(next);
  });
});

test("without a server the exit code is 3, and a server is what to start next", async () => {
  // Port 1 of the loopback address has no listener on any machine that we know.
  const { code, stderr } = await drover(["run", "list"], {
    env: { DROVER_ADDRESS: "127.0.0.1:1" },
  });
  expect(code).toBe(3);
  expect(stderr).toBe(
    "drover: cannot connect to 127.0.0.1:1: no process listens there\n" +
      "  next: drover dev starts a server here; --address or DROVER_ADDRESS names another\n",
  );
});

test("a schema that may not be Drover's is wrong usage, from a flag or the environment", async () => {
  const expected = /"public" cannot be the schema of Drover: name one of its own/;
  const flag = await drover(["migrate", "--database-schema", "public"]);
  const environment = await drover(["dev"], { env: { DROVER_DATABASE_SCHEMA: "public" } });
  for (const { code, stderr } of [flag, environment]) {
    expect(code).toBe(2);
    expect(stderr).toMatch(expected);
  }
});

describe("db url", () => {
  const inEnvironment = "postgresql://u:p@db.example/drover";

  test("is DATABASE_URL where that is set, and an option wins over it", async () => {
    const env = { DATABASE_URL: inEnvironment };
    expect(await drover(["db", "url"], { env })).toMatchObject({ stdout: `${inEnvironment}\n` });
    const other = "postgresql://u@other/drover";
    const given = await drover(["db", "url", "--database-url", other], { env });
    expect(given).toMatchObject({ code: 0, stdout: `${other}\n` });
  });

  test("prints how to start an embedded database where none is running", async () => {
    const { code, stderr } = await drover(["db", "url", "--data-dir", "here"], { cwd: folder });
    expect(code).toBe(3);
    expect(stderr).toBe(
      "drover: no embedded PostgreSQL is running in here\n" +
        "  next: drover dev starts one; or set DATABASE_URL, or name another --data-dir\n",
    );
  });
});
