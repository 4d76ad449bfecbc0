// What every list has in common: how it is written to a terminal, to a pipe, and to programs.
import { stripVTControlCharacters } from "node:util";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { describe, expect, it } from "vitest";
import { droverOnTerminal } from "../../support/terminal.ts";
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
    expect(line).toMatch(/^r1 +holiday v3 +FAILED: "hotel" failed.*… +\d+d$/);
    expect(line?.length).toBeLessThanOrEqual(70);
  });

  it.each([
    ["in a pipe", []],
    ["with -o wide", ["-o", "wide"]],
  ])("has whole texts and times %s", async (_, more) => {
    playRuns();
    const { stdout } = await server.drover(["run", "list", ...more]);
    const [, line] = stdout.split("\n");
    expect(line).toBe(`r1   holiday v3  FAILED: ${summary}  2026-01-31 12:00:00Z`);
  });

  it("has whole texts and times on a terminal with -o wide", async () => {
    playRuns();
    const text = (await linesOnTerminal("run", "list", "-o", "wide")).join("\n");
    expect(text).toContain(`FAILED: ${summary}  2026-01-31 12:00:00Z`);
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
