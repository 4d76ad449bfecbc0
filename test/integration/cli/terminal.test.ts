// What is watched on a real terminal: drawn in place, redrawn for another size, and left whole.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { RunState, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { WatchRunResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { expect, test, vi } from "vitest";
import { CTRL_C, droverOnTerminal } from "../../support/terminal.ts";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();
const whole = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const size = { rows: 12, columns: 100 };
const soon = { timeout: 15_000, interval: 20 };

const onTerminal = (...args: readonly string[]) =>
  droverOnTerminal(args, { ...size, address: server.address });

const stateOf = (run: RunState, step: StepState) =>
  create(WatchRunResponseSchema, {
    run: { runId: "r1", workflow: "holiday", workflowVersion: 3, state: run, version: 1n },
    steps: [
      {
        id: "flight",
        state: step,
        attempt: 2,
        agentId: step === StepState.LEASED ? "f1" : "",
        needs: [],
      },
      ...Array.from({ length: 20 }, (_, no) => ({
        id: `leg-${no}`,
        state: StepState.BLOCKED,
        needs: ["flight"],
      })),
    ],
  });
const running = stateOf(RunState.RUNNING, StepState.LEASED);

/** A run that lasts until it gets a signal to end. */
function playRun(end: Promise<unknown>): void {
  server.play({
    async *watchRun() {
      yield running;
      await end;
      yield stateOf(RunState.COMPLETED, StepState.SUCCEEDED);
    },
    explainRun: () => ({
      now: timestampFromMs(10_000),
      steps: [
        {
          stepId: "flight",
          detail: {
            case: "agent" as const,
            value: {
              agentId: "f1",
              progress: { kind: { case: "fraction" as const, value: 0.47 } },
              progressTime: timestampFromMs(8_000),
            },
          },
        },
      ],
    }),
  });
}

test("a run is followed with the progress of its tasks, and its last picture stays", async () => {
  const { promise: end, resolve } = Promise.withResolvers<void>();
  playRun(end);
  const terminal = await onTerminal("run", "watch", "r1");
  await vi.waitFor(
    () => expect(terminal.picture().join("\n")).toContain("attempt 2, f1, 47 % for 2.0s"),
    soon,
  );
  expect(terminal.picture()).toHaveLength(size.rows);
  resolve();
  expect(await terminal.ended).toBe(0);
  const left = terminal.written().split(whole);
  expect(left).toHaveLength(2);
  expect(left[1]).toContain("completed");
  expect(left[1]).toContain("1 of 21 steps");
});

test("a terminal of another size gets another picture, and long lines are cut", async () => {
  playRun(Promise.race([]));
  const terminal = await onTerminal("run", "watch", "r1");
  await vi.waitFor(() => expect(terminal.picture()).toHaveLength(size.rows), soon);
  terminal.resize({ rows: 6, columns: 30 });
  await vi.waitFor(() => expect(terminal.picture()).toHaveLength(6), soon);
  const lengths = terminal.picture().map((line) => line.length);
  expect(Math.max(...lengths)).toBe(30);
  expect(terminal.picture()[0]).toBe("holiday v3  run r1  running  …");
  terminal.type(CTRL_C);
  await terminal.ended;
});

test("Ctrl-C ends the following with 130 and leaves the terminal whole", async () => {
  playRun(Promise.race([]));
  const terminal = await onTerminal("run", "watch", "r1");
  await vi.waitFor(() => expect(terminal.picture()).toHaveLength(size.rows), soon);
  terminal.type(CTRL_C);
  expect(await terminal.ended).toBe(130);
  expect(terminal.written().split(whole)[1]).toContain("running");
});

/** What comes of runs beside what needs a person. */
const activity = {
  minutes: [{ accepted: 18 }, { accepted: 1_000 }],
  states: [
    { state: RunState.RUNNING, count: 7 },
    { state: RunState.ESCALATED, count: 4 },
    { state: RunState.COMPLETED, count: 1_000 },
    { state: RunState.FAILED, count: 18 },
  ],
  unsuccessfulWorkflows: [{ workflow: "send-mail", failed: 18 }],
};

test("what needs a person is drawn in place, over a lost server, until Ctrl-C, with 0", async () => {
  const seen: string[] = [];
  server.play({
    async *watchOverview({ after }) {
      seen.push(after);
      if (after === "") yield { cursor: "one", overview: { openEscalations: 2 } };
      else {
        yield { cursor: "two", overview: {}, activity };
        await Promise.race([]);
      }
    },
  });
  const terminal = await onTerminal("status", "--watch");
  await vi.waitFor(
    () => expect(terminal.picture().join("\n")).toContain("nothing needs attention"),
    soon,
  );
  expect(terminal.written()).toContain("2 escalations open");
  expect(terminal.written()).toContain("lost the server: trying again");
  const picture = terminal.picture().join("\n");
  expect(picture).not.toContain("has gone");
  expect(picture).toMatch(/^open runs +7 running, 4 escalated *$/m);
  expect(picture).toMatch(/^last 30 minutes +1018 started; 1000 completed, 18 failed *$/m);
  expect(picture).toMatch(/^not completed +send-mail: 18 failed *$/m);
  expect(seen).toEqual(["", "one"]);
  terminal.type(CTRL_C);
  expect(await terminal.ended).toBe(0);
});

test("a drawing for a browser is not written to a terminal, and prints where it can go", async () => {
  const definition = {
    workflow: "w",
    steps: [{ id: "a", kind: { case: "task" as const, value: { name: "book" } } }],
  };
  server.play({
    getWorkflow: () => ({ workflow: { name: "w", version: 1, definition } }),
  });
  const terminal = await onTerminal("workflow", "graph", "w");
  expect(await terminal.ended).toBe(2);
  expect(terminal.written()).toContain("an SVG is not readable in a terminal");
  expect(terminal.written()).toContain("next: repeat with --out graph.svg");
  expect(terminal.written()).not.toContain("<svg");
});
