/** When a set of seeds is void: each floor is met exactly, and missed by one. */
import { describe, expect, test } from "vitest";
import { EVERY_EDGE, RARE_EDGES } from "./edges.ts";
import { FAULT_KINDS } from "./faults.ts";
import { exitCodeOf, reportOf, reportText, type SeedResult } from "./report.ts";

const [FAULT = ""] = FAULT_KINDS;
const [EDGE = ""] = EVERY_EDGE;

const counts = (names: readonly string[], times: number): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, times]));

const EVERY_FAULT_ONCE = counts(FAULT_KINDS, 1);
const EVERY_EDGE_ONCE = counts(EVERY_EDGE, 1);

/** Seeds in which everything happens often enough, but for what `change` sets for each. */
function seeds(
  count: number,
  change: (index: number) => Partial<SeedResult> = () => ({}),
): readonly SeedResult[] {
  const faults = EVERY_FAULT_ONCE;
  const edges = EVERY_EDGE_ONCE;
  return Array.from({ length: count }, (_, index) => ({
    seed: 7 + index,
    runs: 20,
    violations: [],
    faults,
    edges,
    lastRecords: [],
    ...change(index),
  }));
}

const report = (results: readonly SeedResult[]) => reportOf(results, 2);
const voids = (results: readonly SeedResult[]) => report(results).void;
/** In the first `times` seeds, and in no other. */
const faultIn = (times: number) => (index: number) => ({
  faults: { ...EVERY_FAULT_ONCE, [FAULT]: index < times ? 40 : 0 },
});
const NO_EDGE = { ...EVERY_EDGE_ONCE, [EDGE]: 0 };
const edgeIn = (times: number) => (index: number) => (index < times ? {} : { edges: NO_EDGE });

describe("a set of seeds", () => {
  test("in which everything happens often enough is not void, and is reported in numbers", () => {
    const good = report(seeds(400));
    expect(good).toMatchObject({
      seeds: 400,
      firstSeed: 7,
      seconds: 2,
      seedsPerSecond: 200,
      runsPerSeed: { least: 20, mean: 20 },
      violations: [],
      void: [],
    });
    expect(good.faults[FAULT]).toEqual({ times: 400, seedShare: 1 });
    expect(good.edges[EDGE]).toBe(400);
    expect(exitCodeOf(good)).toBe(0);
  });

  test("is void where one of them had fewer than 20 runs", () => {
    const fewer = seeds(200, (index) => ({ runs: index === 150 ? 19 : 60 }));
    expect(voids(fewer)).toEqual(["a seed had 19 runs, 20 are the least"]);
    expect(exitCodeOf(report(fewer))).toBe(1);
  });

  test("is void if a kind of fault happened in fewer than 5 % of them, however often", () => {
    expect(voids(seeds(200, faultIn(10)))).toEqual([]);
    const fewer = seeds(200, faultIn(9));
    expect(voids(fewer)).toEqual([`"${FAULT}" happened in 4.5 % of the seeds`]);
    expect(exitCodeOf(report(fewer))).toBe(1);
  });

  test("knows every kind of fault and every edge, also those that never happened", () => {
    const nothing = report(seeds(200, () => ({ faults: {}, edges: {} })));
    expect(nothing.void).toEqual([
      ...FAULT_KINDS.map((kind) => `"${kind}" happened in 0.0 % of the seeds`),
      ...EVERY_EDGE.filter((edge) => !RARE_EDGES.has(edge)).map(
        (edge) => `"${edge}" was taken 0 times, 1 are the least`,
      ),
    ]);
  });

  test("is void where a rare edge was taken fewer times than once in 5,000 seeds", () => {
    const [edge = ""] = RARE_EDGES;
    const takenIn = (times: number) => (index: number) =>
      index < times ? {} : { edges: { ...EVERY_EDGE_ONCE, [edge]: 0 } };
    expect(EVERY_EDGE).toEqual(expect.arrayContaining([...RARE_EDGES]));
    expect(voids(seeds(10_000, takenIn(2)))).toEqual([]);
    expect(voids(seeds(10_000, takenIn(1)))).toEqual([
      `"${edge}" was taken 1 times, 2 are the least`,
    ]);
  });

  test.each([
    [20_000, 100],
    [1_000, 5],
    [399, 1],
    [200, 1],
  ])("of %d is void where an edge was taken fewer than %d times", (count, least) => {
    expect(voids(seeds(count, edgeIn(least)))).toEqual([]);
    const fewer = seeds(count, edgeIn(least - 1));
    const why = `"${EDGE}" was taken ${least - 1} times, ${least} are the least`;
    expect(voids(fewer)).toEqual([why]);
    expect(exitCodeOf(report(fewer))).toBe(1);
    expect(reportText(report(fewer))).toContain(
      `edges of the state table, ${least} times at least:`,
    );
    expect(reportText(report(fewer))).toContain(`void: ${why}`);
  });

  test("of fewer than 200 evaluates no edge, and reports so", () => {
    const few = report(seeds(199, edgeIn(0)));
    expect(few.void).toEqual([]);
    expect(reportText(few)).toContain(
      "edges of the state table, not evaluated by fewer than 200 seeds:",
    );
  });

  test("with a violation is not void, and fails", () => {
    const broken = (index: number) => (index === 3 ? { violations: ["a run was lost"] } : {});
    const found = report(seeds(200, broken));
    expect(found).toMatchObject({
      violations: [{ seed: 10, texts: ["a run was lost"] }],
      void: [],
    });
    expect(exitCodeOf(found)).toBe(1);
  });
});
