/** What tasks carry of their runs, cached in memory: never more than there is room for. */
import { expect, it } from "vitest";
import { createKnownRuns, type KnownRun } from "../../server/dispatch/known-runs.ts";

function run(inputBytes = 2): KnownRun {
  const json = `"${"x".repeat(inputBytes - 2)}"`;
  const input = { kind: "json", json } as const;
  return { definitionId: 1, version: 1, labels: {}, input, trace: null };
}

it("what is cached is what was set first, without anything beside it", () => {
  const runs = createKnownRuns();
  const more = { ...run(), step: 4, lastDetails: null };
  runs.keep("a", more);
  runs.keep("a", { ...run(), version: 2 });
  expect(runs.of("a")).toEqual(run());
  expect(runs.of("b")).toBeNull();
});

it("the oldest goes when ten thousand have come after it", () => {
  const runs = createKnownRuns();
  for (let n = 0; n <= 10_000; n++) runs.keep(`run-${n}`, run());
  expect([runs.of("run-0"), runs.of("run-1")]).toEqual([null, run()]);
});

it("inputs take 16 MiB at the most, and a large one is not cached at all", () => {
  const runs = createKnownRuns();
  runs.keep("large", run(20_000));
  expect(runs.of("large")).toBeNull();
  for (let n = 0; n < 1_100; n++) runs.keep(`run-${n}`, run(16_000));
  expect([runs.of("run-0"), runs.of("run-1099")]).toEqual([null, run(16_000)]);
});

it("what has ended is not cached, and its room is free again", () => {
  const runs = createKnownRuns();
  for (let n = 0; n < 1_000; n++) {
    runs.keep(`run-${n}`, run(16_000));
    if (n > 0) runs.ended([`run-${n}`, "unknown"]);
  }
  for (let n = 0; n < 1_000; n++) runs.keep(`later-${n}`, run(16_000));
  expect([runs.of("run-0"), runs.of("run-1")]).toEqual([run(16_000), null]);
});
