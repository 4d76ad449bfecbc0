/** How a run ended, in words. */
import { describe, expect, test } from "vitest";
import { type EndedRun, endSentence } from "../../../server/core/explain/end-sentence.ts";
import type { RunFailure } from "../../../server/core/model/model.ts";

const HOTEL: RunFailure = {
  id: "hotel",
  effect: "stop",
  code: "sold-out",
  message: "No room is left.",
  attempts: 3,
};
const RUN: EndedRun = {
  state: "COMPENSATED",
  reason: "STEP_FAILED",
  failure: HOTEL,
  warnings: 0,
  undone: 2,
  cancelNote: null,
};

describe("the sentence of a run", () => {
  test.each<[what: string, run: Partial<EndedRun>, is: string]>([
    ["that is open", { state: "RUNNING", reason: null }, ""],
    ["that has completed", { state: "COMPLETED", reason: "DONE", failure: null }, ""],
    [
      "that has completed with a warning",
      { state: "COMPLETED", reason: "DONE", warnings: 1 },
      '"hotel" failed after 3 attempts: sold-out: No room is left. The run continued.',
    ],
    [
      "that has completed with warnings",
      { state: "COMPLETED", reason: "DONE", warnings: 3 },
      '"hotel" failed after 3 attempts: sold-out: No room is left. The run continued, as after 2 other failures.',
    ],
    [
      "that was compensated",
      {},
      '"hotel" failed after 3 attempts: sold-out: No room is left. 2 steps were compensated.',
    ],
    [
      "that had nothing to compensate",
      { state: "FAILED", undone: 0, failure: { ...HOTEL, attempts: 1, message: "none" } },
      '"hotel" failed after 1 attempt: sold-out: none. Nothing was compensated.',
    ],
    [
      "whose step failed without an attempt",
      { state: "FAILED", undone: 0, failure: { ...HOTEL, attempts: 0, code: "drover.total" } },
      '"hotel" failed: drover.total: No room is left. Nothing was compensated.',
    ],
    [
      "that timed out",
      { reason: "TIMED_OUT", failure: null, undone: 1 },
      "The timeout of the run passed. 1 step was compensated.",
    ],
    [
      "that was cancelled",
      { state: "CANCELLED", reason: "CANCELLED_BY_USER", undone: 0, cancelNote: "wrong date" },
      "The run was cancelled: wrong date. Nothing was compensated.",
    ],
    [
      "that never started",
      { state: "CANCELLED", reason: "NEVER_STARTED", undone: 0 },
      "The run ended before it started. None of its steps ran.",
    ],
  ])("%s", (_what, run, is) => {
    expect(endSentence({ ...RUN, ...run })).toBe(is);
  });

  test("names the steps where they are known", () => {
    const named = { compensated: ["flight", "car"], left: ["mail"] };
    expect(endSentence(RUN, named)).toBe(
      '"hotel" failed after 3 attempts: sold-out: No room is left. "flight" and "car" were compensated. "mail" was left as it is.',
    );
  });

  test("names five steps, and counts the others", () => {
    const compensated = ["a", "b", "c", "d", "e", "f", "g"];
    expect(endSentence(RUN, { compensated, left: [] })).toContain(
      '"a", "b", "c", "d", "e" and 2 more were compensated.',
    );
  });
});
