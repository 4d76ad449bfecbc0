// drover run watch: lines in a pipe, a tree on a screen, states for programs, and an exit code.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  RunReason,
  RunState,
  type StepSchema,
  StepState,
  UndoState,
} from "@drover/proto/drover/v1/run_pb.ts";
import {
  type WatchRunResponse,
  WatchRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { describe, expect, test } from "vitest";
import { createOutput } from "../../../cli/output.ts";
import { treeLines } from "../../../cli/run-tree.ts";
import { runNotFound } from "../../support/fake-scheduler.ts";
import { scriptedServer } from "./fixture.ts";

const at = (time: string) => timestampFromDate(new Date(`2026-01-31T${time}Z`));

function state(
  version: number,
  run: RunState,
  steps: readonly MessageInitShape<typeof StepSchema>[],
): WatchRunResponse {
  const ended = [RunState.COMPLETED, RunState.COMPENSATED].some((final) => final === run);
  return create(WatchRunResponseSchema, {
    run: {
      runId: "r1",
      workflow: "holiday",
      workflowVersion: 3,
      state: run,
      reason: run === RunState.COMPENSATED ? RunReason.STEP_FAILED : RunReason.UNSPECIFIED,
      version: BigInt(version),
      createdTime: at("12:00:00"),
      ...(ended ? { endedTime: at("12:00:09") } : {}),
    },
    steps: [...steps],
  });
}

const started = state(1, RunState.RUNNING, [
  { id: "flight", state: StepState.LEASED, attempt: 1, agentId: "f1" },
  { id: "hotel", state: StepState.BLOCKED, needs: ["flight"] },
]);
const failing = state(2, RunState.RUNNING, [
  { id: "flight", state: StepState.SUCCEEDED, attempt: 1 },
  {
    id: "hotel",
    state: StepState.BACKOFF,
    attempt: 1,
    needs: ["flight"],
    nextTime: at("12:00:05"),
    error: { code: "busy", message: "try later" },
  },
]);
const undone = state(3, RunState.COMPENSATED, [
  { id: "flight", state: StepState.SUCCEEDED, undoState: UndoState.DONE, attempt: 1 },
  { id: "hotel", state: StepState.FAILED, attempt: 2, error: { code: "no-room" } },
]);
const completed = state(4, RunState.COMPLETED, [
  { id: "flight", state: StepState.SUCCEEDED, attempt: 1 },
]);

const server = scriptedServer();

const watch = (...args: readonly string[]) => server.drover(["run", "watch", ...args]);

function playStates(...states: readonly WatchRunResponse[]): void {
  server.play({
    async *watchRun() {
      yield* states;
    },
  });
}

describe("in a pipe", () => {
  test("each change is a line, and a run that was undone exits with 1", async () => {
    playStates(started, failing, undone);
    const { code, stdout, stderr } = await watch("r1");
    expect(stdout.split("\n")).toEqual([
      "run r1 of holiday v3",
      "step flight: with an agent, attempt 1, agent f1",
      "run: running",
      "step flight: succeeded",
      "step hotel: to be retried, attempt 1, busy: try later",
      "step flight: succeeded, compensated",
      "step hotel: failed, attempt 2, no-room",
      "run: compensated (a step failed) after 9.0s",
      "",
    ]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "  next: drover run show r1\n" });
  });

  test("a run that needs a person is printed, and where to read on", async () => {
    playStates(state(1, RunState.ESCALATED, []), completed);
    const { code, stdout } = await watch("r1");
    expect(code).toBe(0);
    expect(stdout).toContain("run: escalated\nrun waits for a person: drover run show r1\n");
  });

  test("--until-person ends with a code of its own when only a person can move the run", async () => {
    playStates(started, state(2, RunState.ESCALATED, []), completed);
    const { code, stdout, stderr } = await watch("r1", "--until-person");
    expect({ code, stderr }).toEqual({ code: 5, stderr: "  next: drover run why r1\n" });
    expect(stdout).toContain("run waits for a person");
    expect(stdout).not.toContain("completed");
  });

  test("jsonl is a line for each state, json the last one", async () => {
    playStates(started, completed);
    const lines = (await watch("r1", "-o", "jsonl")).stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).run.state)).toEqual([
      "RUN_STATE_RUNNING",
      "RUN_STATE_COMPLETED",
    ]);
    const { stdout } = await watch("r1", "-o", "json");
    expect(JSON.parse(stdout).run.state).toBe("RUN_STATE_COMPLETED");
  });

  test("start --watch follows the run that it started", async () => {
    const refs: unknown[] = [];
    server.play({
      schedule: () => ({ runId: "r1", created: true }),
      async *watchRun({ run }) {
        refs.push(run?.ref);
        yield completed;
      },
    });
    const start = ["run", "start", "holiday", "--watch"];
    const { code, stdout, stderr } = await server.drover(start);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "started run r1\n" });
    expect(stdout).toContain("run: completed after 9.0s\n");
    expect(refs).toEqual([{ case: "runId", value: "r1" }]);
  });
});

describe("a stream that ends too soon", () => {
  test.each([
    ["breaks", new ConnectError("gone", Code.Unavailable)],
    ["ends with OK, because its server drains", null],
  ])("is taken up where it was when it %s", async (_, end) => {
    const seen: bigint[] = [];
    server.play({
      async *watchRun({ afterVersion }) {
        seen.push(afterVersion);
        if (afterVersion > 0n) yield completed;
        else {
          yield started;
          if (end !== null) throw end;
        }
      },
    });
    const { code } = await watch("r1");
    expect({ code, seen }).toEqual({ code: 0, seen: [0n, 1n] });
  });

  test("is not waited for when it never began", async () => {
    server.play({
      watchRun() {
        throw runNotFound;
      },
    });
    const { code, stderr } = await watch("r9");
    expect(code).toBe(4);
    expect(stderr).toContain("next: drover run list");
  });
});

describe("on a screen", () => {
  const output = createOutput("table", false);

  test("steps are under what they wait for longest, with what they do now", () => {
    const diamond = state(1, RunState.RUNNING, [
      { id: "flight", state: StepState.SUCCEEDED, attempt: 1 },
      {
        id: "hotel",
        needs: ["flight"],
        state: StepState.BACKOFF,
        attempt: 2,
        nextTime: at("12:00:05"),
        error: { code: "busy", message: "try later" },
      },
      { id: "car", needs: ["flight"], state: StepState.LEASED, attempt: 1, agentId: "c1" },
      { id: "confirm", needs: ["hotel", "car"], state: StepState.BLOCKED },
      { id: "invoice", state: StepState.READY },
    ]);
    expect(treeLines(diamond, output, 40)).toEqual([
      "holiday v3  run r1  running  [###---------------] 1 of 5 steps",
      "flight         succeeded",
      "├─ hotel       to be retried  attempt 2, next 12:00:05Z, busy: try later",
      "└─ car         with an agent  attempt 1, c1",
      "   └─ confirm  blocked        also needs hotel",
      "invoice        ready",
    ]);
  });

  test("of more steps than there are rows those that move are listed", () => {
    const steps = Array.from({ length: 500 }, (_, no) => ({
      id: `s${no}`,
      state: no === 400 ? StepState.LEASED : StepState.BLOCKED,
    }));
    const lines = treeLines(state(1, RunState.RUNNING, steps), output, 10);
    expect(lines).toHaveLength(10);
    expect(lines.some((line) => line.startsWith("s400"))).toBe(true);
    expect(lines.at(-1)).toBe("and 492 more steps");
  });

  test("a chain of 500 steps is drawn", () => {
    const steps = Array.from({ length: 500 }, (_, no) => ({
      id: `s${no}`,
      needs: no > 0 ? [`s${no - 1}`] : [],
      state: StepState.BLOCKED,
    }));
    const lines = treeLines(state(1, RunState.RUNNING, steps), output, 1_000);
    expect(lines).toHaveLength(501);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(80);
  });
});
