// Settings of a flag, the environment and a file, doctor, and what bash completes.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { treeRoot } from "../../support/tree.ts";

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "drover-settings-"));
  writeFileSync(join(folder, "mine.yaml"), "namespace: payments\noverdue: 7s\nlog: info\n");
  symlinkSync(join(treeRoot, "cli/bin/drover.js"), join(folder, "drover"));
  server = await startDroverServer();
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

describe("config show", () => {
  test("prints of each setting what holds and where it is set, and no password", async () => {
    const env = { DATABASE_URL: "postgresql://u:se@cret@db/x", DROVER_LOG: "debug" };
    const args = ["config", "show", "--config", "mine.yaml", "--overdue", "8s", "-o", "jsonl"];
    const { code, stdout } = await callDrover(args, { cwd: folder, env });
    expect({ code, secret: stdout.includes("cret") }).toEqual({ code: 0, secret: false });
    const listed = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const of = (setting: string) => listed.find((one) => one.setting === setting);
    expect(of("overdue")).toMatchObject({ value: "8.0s", source: "flag", from: "--overdue" });
    expect(of("log")).toMatchObject({ value: "debug", source: "environment", from: "DROVER_LOG" });
    expect(of("namespace")).toMatchObject({ value: "payments", source: "file", from: "mine.yaml" });
    expect(of("slow-factor")).toMatchObject({ source: "default", from: "" });
    expect(of("database-url").value).toBe("postgresql://u:***@db/x");
  });

  test.each([
    ["slow-facto: 1", 'bad.yaml:1: there is no setting "slow-facto": did you mean "slow-factor"?'],
    ["log: loud", 'log: "loud" is not allowed'],
    ["log: [info]", "bad.yaml:1: log must be one text or number"],
    ["- a", "it must contain settings"],
    ["a: [", "bad.yaml: "],
  ])("a file with %s is refused", async (text, message) => {
    writeFileSync(join(folder, "bad.yaml"), text);
    const { code, stderr } = await callDrover(["config", "show", "--config", "bad.yaml"], {
      cwd: folder,
    });
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain("next: correct the file");
  });

  test("a variable that is no setting is printed, with what may be meant", async () => {
    const { stderr } = await callDrover(["config", "show"], {
      cwd: folder,
      env: { DROVER_ADRESS: "x" },
    });
    expect(stderr).toContain('DROVER_ADRESS is not a setting: did you mean "DROVER_ADDRESS"?');
  });
});

describe("doctor", () => {
  test("finds what is planted, prints what to do, and is content once that is done", async () => {
    const env = { DROVER_ADDRESS: server.address };
    const run = async (...args: readonly string[]) => {
      const ended = await callDrover(args, { cwd: folder, env });
      expect(ended.code, ended.stderr).toBe(0);
      return ended.stdout;
    };
    await run("namespace", "pause", "--reason", "audit");
    await run("queue", "circuit", "open", "travel", "book", "--by", "ada");
    const sick = await run("doctor");
    expect(sick).toMatch(/^ok +migrations +all \d+ applied/m);
    // The database of the tests is fast and not durable.
    expect(sick).toMatch(/^warn +crash +fsync or full_page_writes is off/m);
    expect(sick).toMatch(/^warn +commits +synchronous_commit is off/m);
    expect(sick).toMatch(/^ok +failover +no standby is synchronous/m);
    expect(sick).toMatch(/^ok +backup +PostgreSQL does not archive its log/m);
    expect(sick).toMatch(
      /^warn +pauses +namespace "default" is paused .*audit +drover namespace resume/m,
    );
    expect(sick).toMatch(/^warn +circuits .*drover queue circuit release travel book$/m);
    expect(sick).toMatch(/^warn +notification .*drover hook put NAME URL/m);
    const strict = await callDrover(["doctor", "--strict"], { cwd: folder, env });
    expect(strict).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("warnings, 0 failed"),
    });
    await run("namespace", "resume");
    await run("queue", "circuit", "release", "travel", "book", "--by", "ada");
    const well = await run("doctor", "-o", "yaml");
    expect(well).toMatch(/check: circuits\n +result: ok/);
    expect(well).toMatch(/check: pauses\n +result: ok/);
  });

  test("without a server ends with 3", async () => {
    const { code, stderr } = await callDrover(["doctor"], {
      env: { DROVER_ADDRESS: "127.0.0.1:1" },
    });
    expect(code).toBe(3);
    expect(stderr).toContain("next: drover dev");
  });
});

describe("bash completes", () => {
  const complete = async (...words: readonly string[]): Promise<readonly string[]> => {
    const line = words.map((word) => `'${word}'`).join(" ");
    const script = `source <(drover completion bash); COMP_WORDS=(drover ${line}); COMP_CWORD=${words.length}; _drover; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const path = [folder, join(process.execPath, ".."), process.env.PATH].join(delimiter);
    const { stdout } = await promisify(execFile)("bash", ["-c", script], {
      env: { ...process.env, PATH: path, DROVER_ADDRESS: server.address },
      cwd: folder,
    });
    return stdout.split("\n").filter((one) => one !== "");
  };

  test.each([
    [["escal"], ["escalation"]],
    [["queue", "re"], ["resume"]],
    [["run", "list", "--lab"], ["--label"]],
    [
      ["workflow", "graph", "--format", ""],
      ["svg", "dot", "mermaid"],
    ],
    [
      ["run", "list", "-o", "js"],
      ["json", "jsonl"],
    ],
    [["run", "list", "--state", "esc"], ["escalated"]],
    [["migrate", ""], []],
  ])("%j", async (typed, found) => {
    expect(await complete(...typed)).toEqual(found);
  });

  test("names that the server knows", async () => {
    writeFileSync(join(folder, "w.yaml"), "workflow: trip\nsteps: [{ id: a, task: t }]\n");
    const env = { DROVER_ADDRESS: server.address };
    const { code } = await callDrover(["workflow", "apply", "w.yaml"], { cwd: folder, env });
    expect(code).toBe(0);
    expect(await complete("run", "start", "tr")).toEqual(["trip"]);
    expect((await callDrover(["workflow", "list"], { env })).stdout).toMatch(/^trip +v1 +v1 /m);
  });

  test("steps of the run that was typed before: all, maps alone, or what waits for approval", async () => {
    const definition = [
      "workflow: parcel",
      "steps:",
      "  - { id: pack, task: t }",
      `  - { id: ship, map: { over: "\${input}", task: t } }`,
      "  - { id: release, approval: { approvers: [ada] } }",
    ];
    writeFileSync(join(folder, "parcel.yaml"), definition.join("\n"));
    const env = { DROVER_ADDRESS: server.address };
    await callDrover(["workflow", "apply", "parcel.yaml"], { cwd: folder, env });
    const started = await callDrover(
      ["run", "start", "parcel", "--key", "p1", "--input", "[1]", "-o", "name"],
      { env },
    );
    const runId = started.stdout.trim();
    expect(await complete("run", "logs", runId, "")).toEqual(["pack", "ship", "release"]);
    expect(await complete("run", "rerun", runId, "--from", "re")).toEqual(["release"]);
    expect(await complete("run", "rerun", "--key", "p1", "--from", "p")).toEqual(["pack"]);
    expect(await complete("run", "items", runId, "")).toEqual(["ship"]);
    expect(await complete("approval", "decide", runId, "")).toEqual(["release"]);
    expect(await complete("run", "logs", "no-such-run", "")).toEqual([]);
  });

  test("contexts, and names of the server of the context that was typed", async () => {
    const env = { XDG_CONFIG_HOME: join(folder, "config") };
    const add = (name: string, ...more: readonly string[]) =>
      callDrover(["context", "add", name, "--address", server.address, ...more], { env });
    await add("prod", "--namespace", "empty");
    await add("play");
    vi.stubEnv("XDG_CONFIG_HOME", env.XDG_CONFIG_HOME);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await complete("context", "use", "")).toEqual(["prod", "play"]);
    expect(await complete("context", "remove", "pl")).toEqual(["play"]);
    expect(await complete("run", "list", "--context", "pr")).toEqual(["prod"]);
    expect(await complete("--context", "play", "run", "start", "parc")).toEqual(["parcel"]);
    expect(await complete("--context", "prod", "run", "start", "parc")).toEqual([]);
  });
});
