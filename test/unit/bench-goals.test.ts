import { describe, expect, it } from "vitest";
import { figureOf, GOALS, type Goal, isFound, isReached } from "../../bench/goals.ts";

const goal = (of: Partial<Goal>): Goal => ({ report: "x", figure: "x", at: [], ...of });

describe("a goal of the benchmarks", () => {
  const report = {
    steps: 120,
    rows: [{ ms: 3 }, { ms: 7 }, { ms: null }],
    deep: { a: { p99: 4 }, b: { p99: 9 } },
  };

  it("finds its figure where the report has it, counted from the end too", () => {
    expect(figureOf(goal({ at: ["steps"] }), report)).toBe(120);
    expect(figureOf(goal({ at: ["rows.1.ms"] }), report)).toBe(7);
    expect(figureOf(goal({ at: ["rows.-2.ms"], times: 100 }), report)).toBe(700);
  });

  it("takes the worst where there are several", () => {
    expect(figureOf(goal({ at: ["deep.a.p99", "deep.b.p99"], atMost: 5 }), report)).toBe(9);
    expect(figureOf(goal({ at: ["rows.*.ms"], atLeast: 5 }), report)).toBe(3);
  });

  it("reports where the report has no such figure", () => {
    expect(figureOf(goal({ at: ["rows.9.ms"] }), report)).toBeNull();
    expect(figureOf(goal({ at: ["deep.a"] }), report)).toBeNull();
  });

  it("is reached at its bound, and not beyond", () => {
    expect(isReached(goal({ atMost: 5 }), 5)).toBe(true);
    expect(isReached(goal({ atMost: 5 }), 5.1)).toBe(false);
    expect(isReached(goal({ atLeast: 5 }), 5)).toBe(true);
    expect(isReached(goal({ atLeast: 5 }), 4.9)).toBe(false);
    expect(isReached(goal({}), 1)).toBeNull();
  });

  it("may name a better value that is aimed for", () => {
    expect(isFound(goal({ atMost: 5, lookFor: 3 }), 3)).toBe(true);
    expect(isFound(goal({ atMost: 5, lookFor: 3 }), 4)).toBe(false);
    expect(isFound(goal({ atLeast: 5, lookFor: 8 }), 8)).toBe(true);
    expect(isFound(goal({ atLeast: 5, lookFor: 8 }), 6)).toBe(false);
    expect(isFound(goal({ atMost: 5 }), 1)).toBe(false);
  });

  it("aims for what is better than what it requires", () => {
    for (const one of GOALS) {
      if (one.lookFor === undefined) continue;
      expect([one.figure, isReached(one, one.lookFor)]).toEqual([one.figure, true]);
      expect([one.figure, isFound(one, one.atMost ?? one.atLeast ?? 0)]).toEqual([
        one.figure,
        false,
      ]);
    }
  });

  it("is listed once", () => {
    const figures = GOALS.map(({ report, figure }) => `${report}: ${figure}`);
    expect(new Set(figures).size).toBe(figures.length);
  });
});
