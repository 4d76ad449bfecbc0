// What every list has in common: how it is written to a terminal, to a pipe, and to programs.
import { stripVTControlCharacters } from "node:util";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import type { Command } from "commander";
import { describe, expect, it, vi } from "vitest";
import { createProgram } from "../../../cli/program.ts";
import { startDrover } from "../../support/drover-process.ts";
import { CTRL_C, droverOnTerminal } from "../../support/terminal.ts";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();
const createdMs = Date.UTC(2026, 0, 31, 12);
const summary =
  '"hotel" failed after 3 attempts: sold-out: no room is left at the Grand Plaza Hotel';

function playRuns(): void {
  const run = { workflow: "holiday", workflowVersion: 3, createdTime: timestampFromMs(createdMs) };
  server.play({
    listRuns: () => ({
      runs: [
        { ...run, runId: "r1", state: RunState.FAILED, summary },
        { ...run, runId: "r2", state: RunState.RUNNING },
      ],
    }),
  });
}

/** The lines that a command writes to a terminal of 70 columns. */
async function linesOnTerminal(...args: readonly string[]): Promise<readonly string[]> {
  const size = { rows: 20, columns: 70, address: server.address };
  const terminal = await droverOnTerminal(args, size);
  expect(await terminal.ended).toBe(0);
  return stripVTControlCharacters(terminal.written()).split("\r\n");
}

describe("a list", () => {
  it("has ages on a terminal, and is as wide as the terminal at most", async () => {
    playRuns();
    const line = (await linesOnTerminal("run", "list")).find((one) => one.startsWith("r1"));
    expect(line).toMatch(/^r1 +holiday v3 +failed: "hotel" failed.*… +\d+d$/);
    expect(line?.length).toBeLessThanOrEqual(70);
  });

  it.each([
    ["in a pipe", []],
    ["with -o wide", ["-o", "wide"]],
  ])("has whole texts and times %s", async (_, more) => {
    playRuns();
    const { stdout } = await server.drover(["run", "list", ...more]);
    const [, line] = stdout.split("\n");
    expect(line).toBe(`r1   holiday v3  failed: ${summary}  2026-01-31 12:00:00Z`);
  });

  it("has whole texts and times on a terminal with -o wide", async () => {
    playRuns();
    const text = (await linesOnTerminal("run", "list", "-o", "wide")).join("\n");
    expect(text).toContain(`failed: ${summary}  2026-01-31 12:00:00Z`);
  });

  it("is with -o name what other commands take, one a line", async () => {
    playRuns();
    expect(await server.drover(["run", "list", "-o", "name"])).toMatchObject({
      code: 0,
      stdout: "r1\nr2\n",
      stderr: "",
    });
  });
});

describe("a list of all namespaces", () => {
  const playNamespaces = () =>
    server.play({
      listNamespaces: () => ({ namespaces: [{ name: "default" }, { name: "payments" }] }),
      listRuns: ({ namespace }) => ({
        runs: [{ runId: `r-${namespace}`, workflow: "w", state: RunState.RUNNING }],
      }),
      getOverview: ({ namespace }) => ({ openEscalations: namespace === "payments" ? 2 : 0 }),
    });

  it("has a column for the namespace, and asks for each of them", async () => {
    playNamespaces();
    const { code, stdout } = await server.drover(["run", "list", "-A"]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      "NAMESPACE  RUN         WORKFLOW  STATE\n" +
        "default    r-default   w         running\n" +
        "payments   r-payments  w         running\n",
    );
  });

  it("names the namespace of each item for programs, and prints no name alone", async () => {
    playNamespaces();
    const { stdout } = await server.drover(["run", "list", "-A", "-o", "jsonl"]);
    const items = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(items).toMatchObject([
      { namespace: "default", runId: "r-default" },
      { namespace: "payments", runId: "r-payments" },
    ]);
    const whole = await server.drover(["run", "list", "-A", "-o", "json"]);
    expect(JSON.parse(whole.stdout)).toMatchObject({
      namespaces: [
        { namespace: "default", list: { runs: [{ runId: "r-default" }] } },
        { namespace: "payments", list: { runs: [{ runId: "r-payments" }] } },
      ],
    });
    const { code, stderr } = await server.drover(["run", "list", "-A", "-o", "name"]);
    expect(code).toBe(2);
    expect(stderr).toContain("a name alone does not tell its namespace");
  });

  it("is what status shows, with commands for the namespace", async () => {
    playNamespaces();
    const { code, stdout } = await server.drover(["status", "-A"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^payments +2 escalations open +drover escalation list --namespace payments$/m,
    );
    expect(stdout).not.toMatch(/^default .*open/m);
  });
});

describe("every verb named list", () => {
  const isList = (command: Command) => command.name() === "list";
  const found = async () => {
    const { commands } = await createProgram("0", () => {});
    // The contexts are in a file of the user, and the shards are asked of the database.
    const nouns = commands.filter((one) => !["context", "shard"].includes(one.name()));
    return nouns.flatMap(({ commands: verbs }) => verbs.filter(isList));
  };

  it("can be watched, and asks all namespaces unless its objects belong to none", async () => {
    const lists = await found();
    expect(lists.length).toBeGreaterThan(12);
    const without = (flag: string) =>
      lists
        .filter(({ options }) => !options.some(({ long }) => long === flag))
        .map(({ parent }) => parent?.name());
    expect(without("--watch")).toEqual([]);
    expect(without("--all-namespaces").sort()).toEqual(["namespace", "partition", "supervisor"]);
  });

  it("has ages on a terminal: agents, approvals and changes too", async () => {
    const time = timestampFromMs(createdMs);
    server.play({
      listAgents: () => ({ agents: [{ id: "a1", startedTime: time, silentSinceTime: time }] }),
      listApprovals: () => ({ approvals: [{ runId: "r1", stepId: "pay", sinceTime: time }] }),
      listAudit: () => ({ entries: [{ time, action: "queue.pause", by: "ada" }] }),
    });
    const lines = async (noun: string) => (await linesOnTerminal(noun, "list")).join("\n");
    expect(await lines("agent")).toMatch(/^a1 +\d+d +0 +silent +\d+d$/m);
    expect(await lines("approval")).toMatch(/^r1 +pay .* \d+d /m);
    expect(await lines("audit")).toMatch(/^\d+d +queue\.pause .* ada \(not verified\)$/m);
  });
});

it("names the two arguments that decide an approval, and the namespace of the next command", async () => {
  server.play({
    listNamespaces: () => ({ namespaces: [{ name: "payments" }] }),
    listApprovals: () => ({ approvals: [{ runId: "r1", stepId: "pay" }] }),
  });
  const names = await server.drover(["approval", "list", "-o", "name"]);
  expect(names.stdout).toBe("r1 pay\n");
  const { stderr } = await server.drover(["approval", "list", "-A"]);
  expect(stderr).toContain("drover approval show r1 pay --namespace payments");
});

it("lists the changes of each namespace with -A, and with --cluster those of none", async () => {
  const asked: unknown[] = [];
  server.play({
    listNamespaces: () => ({ namespaces: [{ name: "default" }, { name: "payments" }] }),
    listAudit({ namespace, allNamespaces }) {
      asked.push(allNamespaces ? "none" : namespace);
      return { entries: [] };
    },
  });
  await server.drover(["audit", "list", "-A"]);
  await server.drover(["audit", "list", "--cluster"]);
  expect(asked).toEqual(["default", "payments", "none"]);
  const both = await server.drover(["audit", "list", "-A", "--cluster"]);
  expect(both.code).toBe(2);
});

describe("a watched list", () => {
  /** One run is completed after the first answer, and the server is away for the second. */
  function playChange(): void {
    let calls = 0;
    server.play({
      listRuns() {
        calls += 1;
        if (calls === 2) throw new ConnectError("gone", Code.Unavailable);
        const state = calls === 1 ? RunState.RUNNING : RunState.COMPLETED;
        return {
          runs: [
            { runId: "r1", workflow: "w", state },
            { runId: "r2", workflow: "w", state: RunState.PAUSED },
          ],
        };
      },
    });
  }

  it("is in a pipe a line for each change, until a signal ends it with 0", async () => {
    playChange();
    const env = { DROVER_ADDRESS: server.address };
    const watch = startDrover(["run", "list", "--watch"], { env });
    await watch.wrote("completed");
    watch.signal("SIGINT");
    expect(await watch.ended).toEqual({
      code: 0,
      stdout: "r1  w  running\nr2  w  paused\nr1  w  completed\n",
      stderr: "lost the server: trying again\n",
    });
  });

  it("is redrawn on a terminal, and says how many rows have no room", async () => {
    playChange();
    const size = { rows: 2, columns: 60, address: server.address };
    const terminal = await droverOnTerminal(["run", "list", "-w"], size);
    const soon = { timeout: 15_000, interval: 20 };
    await vi.waitFor(() => expect(terminal.picture()[1]).toBe("and 2 rows more"), soon);
    terminal.resize({ rows: 6, columns: 60 });
    await vi.waitFor(() => expect(terminal.picture()[1]).toMatch(/^r1 .*completed/), soon);
    terminal.type(CTRL_C);
    expect(await terminal.ended).toBe(0);
  });

  it("is no document", async () => {
    playChange();
    const { code, stderr } = await server.drover(["run", "list", "-w", "-o", "json"]);
    expect(code).toBe(2);
    expect(stderr).toContain("next: -o jsonl");
  });
});

it("refuses -o name before any call where nothing has a name", async () => {
  server.play({});
  const { code, stdout, stderr } = await server.drover(["intervention", "list", "-o", "name"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("-o name is for lists of what has a name");
});

it("prints with -o name the run that was started", async () => {
  server.play({ schedule: () => ({ runId: "r7", created: true }) });
  const { stdout } = await server.drover(["run", "start", "holiday", "-o", "name"]);
  expect(stdout).toBe("r7\n");
});
