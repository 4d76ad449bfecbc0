/** Runs and steps in words, as every verb of the command line prints them. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  RunReason,
  RunSchema,
  RunState,
  StepKind,
  StepSchema,
  StepState,
  UndoState,
  WaitingOn,
} from "@drover/proto/drover/v1/run_pb.ts";
import { WatchRunResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { describe, expect, test } from "vitest";
import { createOutput } from "../../../cli/output.ts";
import { changeLines } from "../../../cli/run-lines.ts";
import { treeLines } from "../../../cli/run-tree.ts";
import { mannerWords, needsPerson, runOutcome } from "../../../cli/run-words.ts";

const output = createOutput("table", false);
const at = (time: string) => timestampFromDate(new Date(`2026-01-31T${time}Z`));
const aStep = (init: MessageInitShape<typeof StepSchema>) => create(StepSchema, init);
const aRun = (init: MessageInitShape<typeof RunSchema>) =>
  create(RunSchema, { runId: "r1", workflow: "order", ...init });
const aState = (
  run: MessageInitShape<typeof RunSchema>,
  ...steps: MessageInitShape<typeof StepSchema>[]
) => create(WatchRunResponseSchema, { run: aRun(run), steps });

test.each([
  [{ state: RunState.PAUSED }, "paused"],
  [{ state: RunState.FINISHING, reason: RunReason.STEP_FAILED }, "finishing (a step failed)"],
  [{ state: RunState.COMPLETED, reason: RunReason.DONE }, "completed"],
  [{ state: RunState.COMPLETED, reason: RunReason.DONE, warnings: 1 }, "completed, 1 warning"],
  [
    { state: RunState.COMPENSATED, reason: RunReason.TIMED_OUT, warnings: 2 },
    "compensated (timed out), 2 warnings",
  ],
])("a run of %o is %s", (init, words) => {
  expect(runOutcome(aRun(init), output)).toBe(words);
});

const until = { state: StepState.WAITING, nextTime: at("12:00:05") };

test.each([
  ["a first try", { state: StepState.LEASED, attempt: 1 }, ""],
  ["a fallback", { state: StepState.LEASED, strategy: 2 }, "fallback 2"],
  ["a timer", { ...until, waitingOn: WaitingOn.TIMER }, "until 2026-01-31 12:00:05Z"],
  [
    "a signal",
    { ...until, waitingOn: WaitingOn.SIGNAL },
    "for a signal until 2026-01-31 12:00:05Z",
  ],
  [
    "a signal by its name",
    { ...until, waitingOn: WaitingOn.SIGNAL, signalName: "paid" },
    "for the signal paid until 2026-01-31 12:00:05Z",
  ],
  [
    "an approval that one of two has given",
    { ...until, waitingOn: WaitingOn.APPROVAL, approvals: 1 },
    "for approval until 2026-01-31 12:00:05Z, 1 approval",
  ],
  [
    "a child run",
    { ...until, waitingOn: WaitingOn.CHILD, childRunId: "r-2" },
    "for run r-2 until 2026-01-31 12:00:05Z",
  ],
  [
    "the end of a child run",
    { ...until, waitingOn: WaitingOn.CHILD_END, childRunId: "r-2" },
    "for run r-2 to end",
  ],
  ["a child run that has ended", { state: StepState.SUCCEEDED, childRunId: "r-2" }, "run r-2"],
  ["a callback", { state: StepState.WAITING, waitingOn: WaitingOn.CALLBACK }, "for a callback"],
  [
    "something that a newer server knows",
    { state: StepState.WAITING, waitingOn: 77 as WaitingOn },
    "for waitingon 77",
  ],
  [
    "a lookup of an unknown outcome",
    { state: StepState.VERIFYING, verifies: 1 },
    "1 verify without a result",
  ],
  [
    "the gate of a map",
    {
      kind: StepKind.MAP,
      state: StepState.LEASED,
      task: "check-health",
      items: { total: 40, started: 20, open: 0, succeeded: 19, failed: 1 },
    },
    "its gate is being checked, 20 of 40 items ended, 1 failed",
  ],
  ["a signal that came", { state: StepState.SUCCEEDED, waitingOn: WaitingOn.SIGNAL }, ""],
])("how %s is printed", (_name, init, words) => {
  expect(mannerWords(aStep(init)).join(", ")).toBe(words);
});

describe("a person is needed", () => {
  test.each([
    ["when nothing else can move", RunState.ESCALATED, {}, true],
    [
      "when a step waits for one while others move",
      RunState.RUNNING,
      { state: StepState.ESCALATED },
      true,
    ],
    [
      "when a step could not be undone",
      RunState.COMPENSATING,
      { undoState: UndoState.FAILED },
      true,
    ],
    ["not while steps wait for their time", RunState.RUNNING, { state: StepState.BACKOFF }, false],
    ["no more when the run has ended", RunState.CANCELLED, { undoState: UndoState.FAILED }, false],
  ])("%s", (_name, state, step, needed) => {
    expect(needsPerson(aRun({ state }), [aStep(step)])).toBe(needed);
  });

  test("which is printed once, when it begins", () => {
    const stuck = { id: "hotel", state: StepState.ESCALATED };
    const first = aState({ state: RunState.RUNNING }, stuck, { id: "car", state: StepState.READY });
    const later = aState({ state: RunState.RUNNING }, stuck, {
      id: "car",
      state: StepState.LEASED,
    });
    expect(changeLines(null, first, output)).toEqual([
      "run r1 of order",
      "step hotel: escalated",
      "step car: ready",
      "run: running",
      "run waits for a person: drover run show r1",
    ]);
    expect(changeLines(first, later, output)).toEqual(["step car: with an agent"]);
  });
});

test("each change of how a step is tried or waits is a line", () => {
  const states = [
    { state: StepState.VERIFYING, agentId: "a1" },
    { state: StepState.VERIFYING, verifies: 1 },
    { state: StepState.READY, strategy: 1 },
    { state: StepState.WAITING, strategy: 1, waitingOn: WaitingOn.CALLBACK },
  ].map((step) => aState({ state: RunState.RUNNING }, { id: "pay", ...step }));
  const lines = states.flatMap((state, no) => changeLines(states[no - 1] ?? null, state, output));
  expect(lines.filter((line) => line.startsWith("step"))).toEqual([
    "step pay: verifying, agent a1",
    "step pay: verifying, 1 verify without a result",
    "step pay: ready, fallback 1",
    "step pay: waiting, fallback 1, for a callback",
  ]);
});

test("the tree has what a step waits for, and when a lookup is tried again", () => {
  const state = aState(
    { state: RunState.RUNNING },
    { id: "pay", state: StepState.VERIFYING, verifies: 2, nextTime: at("12:00:09") },
    { id: "paid", ...until, waitingOn: WaitingOn.SIGNAL },
    { id: "gift", state: StepState.SKIPPED },
  );
  expect(treeLines(state, output, 10).slice(1)).toEqual([
    "pay   verifying  2 verifies without a result, next 12:00:09Z",
    "paid  waiting    for a signal until 2026-01-31 12:00:05Z",
    "gift  skipped",
  ]);
});
