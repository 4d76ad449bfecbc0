// drover workflow check and apply.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import type { RegisterWorkflowRequest } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import { refusedBy } from "../../support/fake-scheduler.ts";
import { scriptedServer } from "./fixture.ts";

const good = "workflow: w\nsteps:\n  - { id: a, task: t }\n  - { id: b, task: u, needs: [a] }\n";

const server = scriptedServer();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "drover-cli-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(text: string): string {
  writeFileSync(join(folder, "w.yaml"), text);
  return "w.yaml";
}

const run = (args: readonly string[], stdin = "") => server.drover(args, { cwd: folder, stdin });

describe("check needs no server", () => {
  const check = (text: string, ...options: readonly string[]) =>
    callDrover(["workflow", "check", fileOf(text), ...options], { cwd: folder });

  test("a good file", async () => {
    expect(await check(good)).toEqual({
      code: 0,
      stdout: "w.yaml: w, 2 steps, is valid\n",
      stderr: "  next: drover workflow apply w.yaml\n",
    });
  });

  test("a good file whose author should know something", async () => {
    const text = "workflow: w\nsteps:\n  - id: a\n    task: t\n    fallback: [{ task: u }]\n";
    const { code, stdout, stderr } = await check(text);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "w.yaml: w, 1 step, is valid\n" });
    expect(stderr).toMatch(/^ {2}note: w\.yaml:5:15: steps\[0\]\.fallback: step "a" is idempotent/);
  });

  test("as JSON it is the message that the text defines", async () => {
    const { code, stdout } = await check(good, "-o", "json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      workflow: "w",
      steps: [
        { id: "a", task: { name: "t" } },
        { id: "b", task: { name: "u" }, needs: ["a"] },
      ],
    });
  });

  test("a file through a pipe", async () => {
    const { code, stdout } = await run(["workflow", "check", "-"], good);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "-: w, 2 steps, is valid\n" });
  });

  test.each([
    [
      "a mistake of the text",
      "workflow: w\nsteps:\n  - id: a\n    tusk: t\n",
      [
        'w.yaml:4:5: steps[0].tusk: unknown key "tusk" in a step: did you mean "task"?',
        "w.yaml:3:5: steps[0]: the step does not say what it does: add `task: NAME`, or `wait`, `signal`, `approval`, `run` or `map`",
      ],
    ],
    [
      "a value out of range",
      "workflow: w\ntimeout: 4000d\nsteps: [{ id: a, task: t }]\n",
      [expect.stringMatching(/^w\.yaml:2:10: timeout: /)],
    ],
    [
      "a name that is none",
      "workflow: a b\nsteps: [{ id: a, task: t }]\n",
      [expect.stringMatching(/^w\.yaml:1:11: workflow: "a b" must be 1 to 128 characters/)],
    ],
    [
      "a need that is no step",
      "workflow: w\nsteps:\n  - id: fly\n    task: t\n  - id: b\n    task: t\n    needs: [flyy]\n",
      [expect.stringMatching(/^w\.yaml:7:13: steps\[1\]\.needs\[0\]: .* did you mean "fly"\?$/)],
    ],
    [
      "a circle",
      "workflow: w\nsteps:\n  - { id: a, task: t, needs: [b] }\n  - { id: b, task: t, needs: [a] }\n",
      [expect.stringMatching(/^w\.yaml:3:30: steps\[0\]\.needs: .*a needs b needs a/)],
    ],
    [
      "what does not go together",
      "workflow: w\nsteps:\n  - id: a\n    task: t\n    effects: once\n    verify: { task: v }\n",
      [expect.stringMatching(/^w\.yaml:6:13: steps\[0\]\.verify: .*never asked/)],
    ],
  ])("%s is printed with its place", async (_, text, problems) => {
    const { code, stdout, stderr } = await check(text);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const [first, ...rest] = stderr.trimEnd().split("\n");
    expect(first).toMatch(/^drover: w\.yaml has (a problem|2 problems)$/);
    expect(rest.slice(0, -1).map((line) => line.trim())).toEqual(problems);
    expect(rest.at(-1)).toBe("  next: correct the file, then drover workflow check w.yaml");
  });
});

describe("apply", () => {
  test("registers the text as it is", async () => {
    const requests: RegisterWorkflowRequest[] = [];
    server.play({
      registerWorkflow(request) {
        requests.push(request);
        return { name: "w", version: 3, created: true };
      },
    });
    const args = ["workflow", "apply", fileOf(good), "--keep-default", "--namespace", "team"];
    expect(await run(args)).toEqual({
      code: 0,
      stdout: "w v3 registered\n",
      stderr: "  next: drover run start w --watch --namespace team\n",
    });
    expect(requests).toMatchObject([
      { namespace: "team", source: { case: "text", value: good }, keepDefault: true },
    ]);
  });

  test("prints when the content was known, and answers in JSON", async () => {
    server.play({ registerWorkflow: () => ({ name: "w", version: 2, created: false }) });
    const known = await run(["workflow", "apply", fileOf(good)]);
    expect(known.stdout).toBe("w v2 was already registered\n");
    const { stdout } = await run(["workflow", "apply", "w.yaml", "-o", "jsonl"]);
    expect(stdout).toBe('{"name":"w","version":2}\n');
  });

  test("prints what the server found wrong at its place", async () => {
    server.play({
      registerWorkflow() {
        throw refusedBy({
          code: Code.InvalidArgument,
          reason: "INVALID_DEFINITION",
          message: "steps[0].id: is missing",
          fields: [{ field: "steps[0].id", description: "is missing (line 3, column 5)" }],
        });
      },
    });
    const { code, stderr } = await run(["workflow", "apply", fileOf(good)]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      "drover: w.yaml has a problem\n  w.yaml:3:5: steps[0].id: is missing\n" +
        "  next: correct the file, then drover workflow check w.yaml\n",
    );
  });
});

describe("versions and default", () => {
  const createdTime = { seconds: 1_767_225_600n, nanos: 0 };

  test("versions shows which is the default, and what still runs with each", async () => {
    server.play({
      getWorkflow: ({ name }) => ({
        workflow: { name, version: 2, defaultVersion: 2 },
        versions: [
          { version: 3, createdTime, openRuns: 0 },
          { version: 2, createdTime, openRuns: 12 },
          { version: 1, createdTime, openRuns: 10_000 },
        ],
      }),
    });
    const { code, stdout, stderr } = await run(["workflow", "versions", "w"]);
    expect(code).toBe(0);
    expect(stdout.split("\n").map((line) => line.replace(/ {2,}/g, "|"))).toEqual([
      "VERSION|DEFAULT|OPEN RUNS|REGISTERED",
      expect.stringMatching(/^v3\|0\|/),
      expect.stringMatching(/^v2\|default\|12\|/),
      expect.stringMatching(/^v1\|10000 or more\|/),
      "",
    ]);
    expect(stderr).toBe("  next: drover workflow default w VERSION\n");
    const whole = await run(["workflow", "versions", "w", "-o", "json"]);
    expect(JSON.parse(whole.stdout)).toMatchObject({
      workflow: { defaultVersion: 2 },
      versions: [{ version: 3 }, { version: 2, openRuns: 12 }, { version: 1 }],
    });
    const lines = (await run(["workflow", "versions", "w", "-o", "jsonl"])).stdout.trim();
    expect(lines.split("\n").map((line) => JSON.parse(line).version)).toEqual([3, 2, 1]);
  });

  test("default moves it, and prints how to move back", async () => {
    server.play({ setDefaultVersion: ({ version }) => ({ previousVersion: 3, version }) });
    expect(await run(["workflow", "default", "w", "2"])).toEqual({
      code: 0,
      stdout: "the default of w is v2, was v3\n",
      stderr: "  back: drover workflow default w 3\n",
    });
    const still = await run(["workflow", "default", "w", "3"]);
    expect(still).toMatchObject({ stdout: "the default of w is v3, unchanged\n", stderr: "" });
    expect(await run(["workflow", "default", "w", "0"])).toMatchObject({ code: 2 });
  });
});
