/** The dashboard has texts for all that the server returns of people and of supervisors. */
import { create } from "@bufbuild/protobuf";
import { RunSchema, RunState, StepSchema, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { describe, expect, test } from "vitest";
import { answers, escalationReasons, rules } from "../../../server/store/postgres/codes.ts";
import {
  answerWords,
  checkFirst,
  reasonOfQuestion,
} from "../../../web/src/words/escalation-words.ts";
import { visibleText } from "../../../web/src/words/foreign-words.ts";
import { ruleMeanings } from "../../../web/src/words/rule-words.ts";
import { runOutcome, stepStatus } from "../../../web/src/words/run-words.ts";

describe("the texts of the dashboard", () => {
  test("have each rule of an intervention", () => {
    expect(Object.keys(ruleMeanings).sort()).toEqual([...rules.names].sort());
  });

  test("have each kind of question, and what to check first", () => {
    for (const reason of escalationReasons.names) {
      expect(reasonOfQuestion(reason)).toMatch(/ /);
      expect(checkFirst(reason), reason).toMatch(/\.$/);
    }
  });

  test("describe of each answer what will happen", () => {
    for (const answer of answers.names) {
      const { name, happens } = answerWords(answer, { stepId: "pay" });
      expect(name).not.toBe(answer);
      expect(happens, answer).toMatch(/\.$/);
    }
  });
});

describe("a run that continued after failures", () => {
  const items = { total: 200, started: 200, succeeded: 196, failed: 3, skipped: 1 };
  const load = create(StepSchema, { id: "load", state: StepState.SUCCEEDED, items });
  const run = ({ warnings = 0 }) => create(RunSchema, { state: RunState.COMPLETED, warnings });

  test("is amber, and has how many", () => {
    expect(runOutcome(run({}))).toEqual({ tone: "ok", word: "completed" });
    const warned = { tone: "warning", word: "completed, 2 warnings" };
    expect(runOutcome(run({ warnings: 2 }))).toEqual(warned);
    const failed = { state: RunState.FAILED, warnings: 1 };
    expect(runOutcome(failed)).toEqual({ tone: "bad", word: "failed, 1 warning" });
  });

  test("has a map with how many of its items succeeded", () => {
    const status = { tone: "warning", word: "196 of 200, 3 failed, 1 skipped" };
    expect(stepStatus(load)).toEqual(status);
  });
});

test("what cannot be seen of a text is displayed by its number", () => {
  expect(visibleText("a\u001b[31m\u202eb\u2069\n\tc")).toBe("a\\u001b[31m\\u202eb\\u2069\n\tc");
});
