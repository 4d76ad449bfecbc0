/** The command line and the dashboard use the same words, though they share no code. */
import { create } from "@bufbuild/protobuf";
import {
  RunReason,
  RunSchema,
  RunState,
  RunSubstate,
  RunSubstateCountSchema,
  StepSchema,
  StepState,
  UndoState,
} from "@drover/proto/drover/v1/run_pb.ts";
import { expect, test } from "vitest";
import { createOutput } from "../../../cli/output.ts";
import { runOutcome } from "../../../cli/run-words.ts";
import { reasonWords, runStateWord, stepStateWord, undoWord } from "../../../cli/state-words.ts";
import { substateWords } from "../../../cli/substate-words.ts";
import * as web from "../../../web/src/words/run-words.ts";
import * as webSubstates from "../../../web/src/words/substate-words.ts";

/** The values of an enum of the contract. */
function valuesOf<Value extends number>(
  of: Readonly<Record<string, string | Value>>,
): readonly Value[] {
  return Object.values(of).filter((one): one is Value => typeof one === "number");
}

const output = createOutput("table", false);

test("states of runs", () => {
  for (const state of valuesOf(RunState)) {
    expect(runStateWord(state)).toBe(web.runStatus(state).word);
    const run = create(RunSchema, { state, warnings: 2 });
    expect(runOutcome(run, output)).toBe(web.runOutcome(run).word);
  }
});

test("why runs ended", () => {
  for (const reason of valuesOf(RunReason))
    expect(reasonWords(reason)).toBe(web.reasonWords(reason));
});

test("states of steps and of compensations", () => {
  for (const state of valuesOf(StepState))
    expect(stepStateWord(state)).toBe(web.stepStatus(create(StepSchema, { state })).word);
  for (const undoState of valuesOf(UndoState)) {
    if (undoState === UndoState.UNSPECIFIED || undoState === UndoState.NONE) continue;
    expect(undoWord(undoState)).toBe(web.stepStatus(create(StepSchema, { undoState })).word);
  }
});

test("what steps of an open run do or wait for", () => {
  const all = valuesOf(RunSubstate).map((substate, steps) =>
    create(RunSubstateCountSchema, { substate, steps }),
  );
  for (const one of all) expect(substateWords([one])).toBe(webSubstates.substateWords([one]));
  expect(substateWords(all)).toBe(webSubstates.substateWords(all));
});
