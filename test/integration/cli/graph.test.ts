// drover workflow graph and run graph: from a file, by name and version, and of a run.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunState, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runNotFound } from "../../support/fake-scheduler.ts";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "drover-graph-"));
  writeFileSync(join(folder, "w.yaml"), "workflow: w\nsteps:\n  - { id: a, task: book }\n");
  writeFileSync(join(folder, "bad.yaml"), "workflow: w\nsteps:\n  - { id: a }\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

const steps = [
  { id: "a", kind: { case: "task" as const, value: { name: "book" } } },
  {
    id: "b",
    needs: ["a"],
    kind: { case: "task" as const, value: { name: "pay" } },
    pivot: true,
  },
];

describe("a workflow", () => {
  test("is drawn from a file without a server", async () => {
    const env = { DROVER_ADDRESS: "127.0.0.1:1" };
    const drawn = await server.drover(["workflow", "graph", "w.yaml"], { cwd: folder, env });
    expect({ code: drawn.code, stderr: drawn.stderr }).toEqual({ code: 0, stderr: "" });
    expect(drawn.stdout).toMatch(/^<svg [\s\S]*task book[\s\S]*<\/svg>\n$/);
  });

  test("is written to a file with --out", async () => {
    const args = ["workflow", "graph", "w.yaml", "--out", "w.svg"];
    const { stdout, stderr } = await server.drover(args, { cwd: folder });
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "wrote w.svg\n" });
    expect(readFileSync(join(folder, "w.svg"), "utf8")).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  });

  test("that is wrong is refused with its place", async () => {
    const { code, stderr } = await server.drover(["workflow", "graph", "bad.yaml"], {
      cwd: folder,
    });
    expect(code).toBe(1);
    expect(stderr).toContain("bad.yaml:3:5");
    expect(stderr).toContain("next: correct the file");
  });

  test.each([
    ["w", 0],
    ["w@3", 3],
  ])("is asked for as %s", async (named, version) => {
    server.play({
      getWorkflow: (asked) => {
        expect(asked).toMatchObject({ name: "w", version });
        return { workflow: { name: "w", version: 3, definition: { workflow: "w", steps } } };
      },
    });
    const { stdout } = await server.drover(["workflow", "graph", named, "--format", "mermaid"]);
    expect(stdout).toContain("%% w v3\n");
    expect(stdout).toContain("n0 --> n1");
    expect(stdout).toContain("pivot: no compensation after it");
  });

  test("is nodes and edges for programs", async () => {
    const { stdout } = await server.drover(["workflow", "graph", "w.yaml", "-o", "json"], {
      cwd: folder,
    });
    expect(JSON.parse(stdout)).toMatchObject({
      title: "w",
      nodes: [{ id: "a", does: "task book" }],
    });
  });
});

describe("a run", () => {
  const run = { runId: "r1", workflow: "w", state: RunState.RUNNING };
  const states = [
    { id: "a", state: StepState.SUCCEEDED, attempt: 1 },
    { id: "b", state: StepState.LEASED, attempt: 2, agentId: "till-1", needs: ["a"] },
  ];

  test.each([
    ["is its workflow with the state of each step", 3, "w v3"],
    ["that brought its definition is drawn by that", 0, "w"],
  ])("%s", async (_what, workflowVersion, title) => {
    server.play({
      getRun: ({ includeDefinition }) => ({
        run: { ...run, workflowVersion },
        steps: states,
        ...(includeDefinition ? { definition: { workflow: "w", steps } } : {}),
      }),
    });
    const { stdout } = await server.drover(["run", "graph", "r1", "--format", "dot"]);
    expect(stdout).toContain(`label="${title}\\nrun r1: running"`);
    expect(stdout).toMatch(
      /n1 \[.*pivot: no compensation after it\\l\[with an agent\]\\lattempt 2, till-1\\l"/,
    );
  });

  test("of a server that sends no definition is drawn from its steps", async () => {
    server.play({ getRun: () => ({ run, steps: states }) });
    const { code, stdout } = await server.drover(["run", "graph", "r1", "--format", "dot"]);
    expect(code).toBe(0);
    expect(stdout).toContain("n0 -> n1");
  });

  test("that is not there exits with 4", async () => {
    server.play({
      getRun() {
        throw runNotFound;
      },
    });
    expect(await server.drover(["run", "graph", "r9"])).toMatchObject({ code: 4 });
  });
});
