/**
 * Who gets which ready row: never twice, never one that it did not ask for, and the best one first.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { match, type Taker } from "../../server/dispatch/matching.ts";
import type { ReadyRow } from "../../server/store/store.ts";

const NOW = 1_000_000;

interface Sketch {
  readonly lane: number;
  readonly priority?: number;
  readonly avoid?: ReadyRow["avoid"];
}

function row(step: number, { lane, priority = 5, avoid = null }: Sketch): ReadyRow {
  return {
    runId: "01890000-0000-7000-8000-000000000000",
    partition: 0,
    step,
    lane,
    priority,
    avoid,
    task: "perform",
    fence: 1,
    attempt: 1,
    readyAt: 0,
    until: null,
    attemptMs: 1,
    heartbeatMs: 1,
    stallMs: null,
    isFirstTry: false,
    cancelMs: 1,
  };
}

/** Rows in the order in which a claim locks them: by lane, then priority, then age. */
function rowsOf(sketches: readonly Sketch[]): readonly ReadyRow[] {
  return sketches
    .map((sketch, step) => row(step, sketch))
    .sort((a, b) => a.lane - b.lane || a.priority - b.priority);
}

const taker = (session: string, lanes: readonly number[], places = 1): Taker => ({
  session,
  places,
  lanes: lanes.map((lane) => ({ lane, weight: 1 })),
});

const lanes = fc.nat({ max: 3 });
const sessions = fc.constantFrom("s1", "s2", "s3");
const sketches = fc.array(
  fc.record({
    lane: lanes,
    priority: fc.integer({ min: 1, max: 9 }),
    avoid: fc.option(
      fc.record({ session: sessions, until: fc.constantFrom(NOW - 1, NOW, NOW + 1) }),
      { nil: null },
    ),
  }),
  { maxLength: 20 },
);
const takers = fc.array(
  fc.record({
    session: sessions,
    places: fc.integer({ min: 1, max: 4 }),
    lanes: fc.uniqueArray(fc.record({ lane: lanes, weight: fc.integer({ min: 1, max: 5 }) }), {
      selector: ({ lane }) => lane,
      minLength: 1,
    }),
  }),
  { maxLength: 6 },
);

function mayTake(one: Taker, ready: ReadyRow): boolean {
  const wanted = one.lanes.some(({ lane }) => lane === ready.lane);
  const { avoid } = ready;
  return wanted && (avoid === null || avoid.session !== one.session || NOW >= avoid.until);
}

describe("a match", () => {
  it("gives no row twice, no poll more than its places, and only what may be taken", () => {
    fc.assert(
      fc.property(sketches, takers, (of, all) => {
        const rows = rowsOf(of);
        const matches = match(rows, all, NOW);
        expect(new Set(matches.map(({ row: taken }) => taken)).size).toBe(matches.length);
        for (const { taker: one, row: taken } of matches) {
          expect(rows).toContain(taken);
          expect(mayTake(one, taken)).toBe(true);
        }
        for (const one of all) {
          const got = matches.filter(({ taker: who }) => who === one);
          expect(got.length).toBeLessThanOrEqual(one.places);
        }
      }),
    );
  });

  it("leaves no poll with a free place beside a row that it may take", () => {
    fc.assert(
      fc.property(sketches, takers, (of, all) => {
        const rows = rowsOf(of);
        const matches = match(rows, all, NOW);
        const left = rows.filter((ready) => !matches.some(({ row: taken }) => taken === ready));
        for (const one of all) {
          const got = matches.filter(({ taker: who }) => who === one).length;
          if (got < one.places) expect(left.filter((ready) => mayTake(one, ready))).toEqual([]);
        }
      }),
    );
  });

  it("gives each taker nothing worse than what it leaves in the same lane", () => {
    fc.assert(
      fc.property(sketches, takers, (of, all) => {
        const rows = rowsOf(of);
        const matches = match(rows, all, NOW);
        const left = rows.filter((ready) => !matches.some(({ row: taken }) => taken === ready));
        for (const { taker: one, row: taken } of matches)
          for (const ready of left.filter((other) => mayTake(one, other)))
            expect(taken.priority).toBeLessThanOrEqual(ready.priority);
      }),
    );
  });

  it("serves the poll that has waited longest first", () => {
    const all = [taker("first", [0]), taker("second", [0])];
    const [only] = match(rowsOf([{ lane: 0 }]), all, NOW);
    expect(only?.taker).toBe(all[0]);
  });

  it("takes the oldest of one lane and priority first", () => {
    const matches = match(rowsOf([{ lane: 0 }, { lane: 0 }]), [taker("a", [0])], NOW);
    expect(matches.map(({ row: { step } }) => step)).toEqual([0]);
  });

  it("takes the best priority of all its lanes before any other", () => {
    const rows = rowsOf([{ lane: 0 }, { lane: 1, priority: 1 }, { lane: 1 }]);
    const matches = match(rows, [taker("a", [0, 1], 2)], NOW);
    expect(matches.map(({ row: { step } }) => step)).toEqual([1, 0]);
  });

  it("lets the queues of a taker take turns by their weight", () => {
    const rows = rowsOf(Array.from({ length: 24 }, (_, at) => ({ lane: at % 2 })));
    const weighted: Taker = {
      session: "a",
      places: 12,
      lanes: [
        { lane: 0, weight: 3 },
        { lane: 1, weight: 1 },
      ],
    };
    const taken = match(rows, [weighted], NOW).map(({ row: { lane } }) => lane);
    expect(taken.filter((lane) => lane === 0)).toHaveLength(9);
    expect(new Set(taken.slice(0, 4))).toEqual(new Set([0, 1]));
  });

  it("takes of lanes whose turn it is what waits longest, also with one place", () => {
    const [first, second] = rowsOf([{ lane: 0 }, { lane: 1 }]);
    if (!first || !second) throw new Error("there are two rows");
    const rows = [{ ...first, readyAt: 5 }, second];
    const matches = match(rows, [taker("a", [0, 1]), taker("b", [0, 1])], NOW);
    expect(matches.map(({ row: { lane } }) => lane)).toEqual([1, 0]);
  });

  it("passes over what is reserved for others, and takes what is behind it", () => {
    const avoid = { session: "a", until: NOW + 1 };
    const rows = rowsOf([{ lane: 0, avoid }, { lane: 0 }]);
    const [a, b] = [taker("a", [0]), taker("b", [0])];
    const steps = match(rows, [a, b], NOW).map(({ taker: one, row: { step } }) => [one, step]);
    expect(steps).toEqual([
      [a, 1],
      [b, 0],
    ]);
    expect(match(rows, [a], NOW + 1).map(({ row: { step } }) => step)).toEqual([0]);
  });
});

describe("lanes of a queue with limits", () => {
  const rows = rowsOf([0, 1, 2, 0, 1, 2].map((lane) => ({ lane })));
  const lanesOf = (places: number) =>
    match(rows, [taker("s1", [0, 1, 2], 9)], NOW, [{ lanes: new Set([0, 1]), places }]).map(
      ({ row: { lane } }) => lane,
    );

  it("give no more together than it has room for, and other lanes all", () => {
    expect(lanesOf(3).filter((lane) => lane < 2)).toHaveLength(3);
    expect(lanesOf(1).filter((lane) => lane < 2)).toHaveLength(1);
    expect(lanesOf(1).filter((lane) => lane === 2)).toHaveLength(2);
  });

  it("share what there is between takers", () => {
    const room = { lanes: new Set([0, 1]), places: 2 };
    const matches = match(rows, [taker("s1", [0], 1), taker("s2", [1], 5)], NOW, [room]);
    expect(matches.map(({ taker: { session } }) => session)).toEqual(["s1", "s2"]);
  });
});
