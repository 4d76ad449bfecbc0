/** How one claim is shared between namespaces, by weight, and lanes: no place is left unused. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Demand, fairShares } from "../../server/dispatch/assign.ts";

const of = (namespaceId: number, lane: number, rows: number): Demand => {
  return { namespaceId, lane, rows };
};
const rowsOf = (demands: readonly Demand[], rowsMax: number) => {
  const shares = fairShares(demands, rowsMax);
  return demands.map(({ lane }) => shares.get(lane));
};

describe("the rows of a claim", () => {
  test("are all there, if no namespace wants more", () => {
    expect(rowsOf([of(1, 1, 30), of(2, 2, 70)], 100)).toEqual([30, 70]);
  });

  test("go to each namespace alike, however much one wants", () => {
    expect(rowsOf([of(1, 1, 100_000), of(2, 2, 100_000)], 100)).toEqual([50, 50]);
    expect(rowsOf([of(1, 1, 100_000), of(2, 2, 1)], 100)).toEqual([99, 1]);
  });

  test("go to a namespace once, however many lanes it has", () => {
    const many = Array.from({ length: 50 }, (_, lane) => of(1, lane, 100));
    const shares = rowsOf([...many, of(2, 99, 100)], 100);
    expect(shares.slice(0, 50)).toEqual(many.map(() => 1));
    expect(shares.at(-1)).toBe(50);
  });

  test("go to namespaces by their weights, and what one does not want goes to the others", () => {
    const weightOf = (namespaceId: number) => ({ 1: 300, 2: 100 })[namespaceId] ?? 100;
    const shares = (...demands: Demand[]) => [...fairShares(demands, 100, weightOf).values()];
    expect(shares(of(1, 1, 1_000), of(2, 2, 1_000))).toEqual([75, 25]);
    expect(shares(of(1, 1, 10), of(2, 2, 1_000))).toEqual([10, 90]);
    expect(shares(of(1, 1, 1_000), of(2, 2, 5))).toEqual([95, 5]);
    expect(shares(of(1, 1, 1_000), of(2, 2, 1_000), of(3, 3, 1_000))).toEqual([60, 20, 20]);
  });

  test("are at least one for each lane, however many there are", () => {
    const many = Array.from({ length: 500 }, (_, lane) => of(lane, lane, 9));
    expect(new Set(rowsOf(many, 100))).toEqual(new Set([1]));
  });
});

const demands = fc.uniqueArray(
  fc.record({
    namespaceId: fc.integer({ min: 1, max: 5 }),
    lane: fc.nat({ max: 50 }),
    rows: fc.integer({ min: 1, max: 400 }),
  }),
  { selector: ({ lane }) => lane },
);

test("no namespace gets more than it wants, or less than its part", () => {
  fc.assert(
    fc.property(demands, fc.integer({ min: 100, max: 1_000 }), (asked, rowsMax) => {
      const shares = fairShares(asked, rowsMax);
      const byNamespace = Map.groupBy(asked, ({ namespaceId }) => namespaceId);
      for (const { lane, rows } of asked) expect(shares.get(lane) ?? 0).toBeLessThanOrEqual(rows);
      for (const lanes of byNamespace.values()) {
        const wanted = lanes.reduce((sum, { rows }) => sum + rows, 0);
        const given = lanes.reduce((sum, { lane }) => sum + (shares.get(lane) ?? 0), 0);
        const part = Math.floor(rowsMax / byNamespace.size);
        expect(given).toBeGreaterThanOrEqual(Math.min(wanted, part));
      }
      const all = [...shares.values()].reduce((sum, rows) => sum + rows, 0);
      expect(all).toBeLessThanOrEqual(rowsMax + asked.length);
    }),
  );
});
