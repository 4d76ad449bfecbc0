/** Which failures of a pass are counted, and under which step and error code. */
import { expect, test } from "vitest";
import type { Effect } from "../../server/core/model/effect.ts";
import { failureCounts } from "../../server/store/failure-counts.ts";
import type { RunHead } from "../../server/store/run-head.ts";
import { runWith } from "../support/pages.ts";

const head = (runId: string, definitionId = 1): RunHead => ({
  runId,
  partition: 0,
  namespaceId: 1,
  definitionId,
  priority: 5,
  run: runWith(),
});

const failed = (id: string, code: string, message: string): Effect => ({
  kind: "failed",
  step: 0,
  id,
  code,
  message,
  effect: "stop",
});

function ended(id: string, kind: "perform" | "verify" | "compensate", code: string): Effect {
  const outcome = { kind: "unknown", code, message: `${code} again` } as const;
  const attempt = { step: 0, kind, fence: 1, n: 0, attempt: 1, agentId: "a", session: "s" };
  const times = { secret: "x", startedAt: 0, endedAt: 1, outcome, digest: null };
  return { kind: "task-ended", id, attempt: { ...attempt, ...times }, counted: null, lost: false };
}

test("failures of one step and code are one count, with the last run and message", () => {
  const counts = failureCounts([
    { head: head("r1"), effects: [ended("hotel", "perform", "busy")] },
    {
      head: head("r2"),
      effects: [ended("hotel", "perform", "busy"), failed("hotel", "busy", "too busy")],
    },
  ]);
  expect(counts).toMatchObject([
    { head: { runId: "r2" }, step: "hotel", code: "busy", message: "too busy" },
  ]);
  expect(counts).toMatchObject([{ attempts: 2, steps: 1, isUndo: false }]);
});

test("items of a map are counted under the map", () => {
  const effects = [
    failed("load[3]", "bad-row", ""),
    failed("load[17]", "bad-row", "no such column"),
  ];
  expect(failureCounts([{ head: head("r1"), effects }])).toMatchObject([
    { step: "load", steps: 2, message: "no such column" },
  ]);
});

test("compensations are counted apart, and verifies are no failures", () => {
  const effects = [
    ended("hotel", "perform", "drover.lost"),
    ended("hotel", "compensate", "drover.lost"),
    ended("hotel", "verify", "drover.lost"),
  ];
  const counts = failureCounts([{ head: head("r1"), effects }]);
  expect(counts.map(({ isUndo, attempts }) => [isUndo, attempts])).toEqual([
    [false, 1],
    [true, 1],
  ]);
});

test("other workflows and codes are other counts, and what succeeds is none", () => {
  const counts = failureCounts([
    { head: head("r1"), effects: [failed("a", "one", ""), failed("a", "two", "")] },
    { head: head("r2", 2), effects: [failed("a", "one", "")] },
    { head: head("r3"), effects: [{ kind: "succeeded", step: 0, result: null }] },
  ]);
  expect(counts).toHaveLength(3);
});
