/** Which run gets a permit of a concurrency key, which waits, is refused, or is cancelled. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ConcurrencyPolicy,
  join,
  leave,
  type Permits,
} from "../../../server/core/model/permits.ts";

const SEED = 20_260_301;

interface Asks {
  readonly limit?: number;
  readonly policy?: ConcurrencyPolicy;
  readonly priority?: number;
  readonly since?: number;
}

function ask(permits: Permits, runId: string, { policy = "queue", ...more }: Asks = {}) {
  return join(permits, { runId, limit: 1, priority: 5, since: 1_000, ...more }, policy);
}

/** They ask one after the other, a millisecond apart. */
function asked(runs: readonly string[], more: Asks = {}): Permits {
  let permits: Permits = [];
  runs.forEach((runId, place) => {
    permits = ask(permits, runId, { since: 1_000 + place, ...more }).permits;
  });
  return permits;
}

const holders = (permits: Permits) =>
  permits.filter(({ holds }) => holds).map(({ runId }) => runId);

describe("a run that asks for a permit", () => {
  test("gets one while there is one", () => {
    const permits = asked(["a"], { limit: 2 });
    expect(ask(permits, "b", { limit: 2 })).toMatchObject({ answer: "holds", cancelled: null });
    expect(ask(permits, "b", { limit: 1 })).toMatchObject({ answer: "waits", cancelled: null });
  });

  test("does not overtake a run that waits, though its own limit would let it", () => {
    expect(ask(asked(["a", "b"]), "c", { limit: 5 }).answer).toBe("waits");
  });

  test("with refuse is refused, and leaves the permits as they are", () => {
    const permits = asked(["a"]);
    expect(ask(permits, "b", { policy: "refuse" })).toEqual({
      permits,
      answer: "refused",
      cancelled: null,
    });
    expect(ask([], "b", { policy: "refuse" }).answer).toBe("holds");
  });

  test("with cancel-oldest has the oldest cancelled, each only once, and waits", () => {
    const policy = "cancel-oldest";
    const first = ask(asked(["a"]), "b", { policy, since: 2_000 });
    expect(first).toMatchObject({ answer: "waits", cancelled: "a" });
    const second = ask(first.permits, "c", { policy, since: 3_000 });
    expect(second).toMatchObject({ answer: "waits", cancelled: "b" });
    expect(leave(leave(second.permits, "b").permits, "a").granted).toEqual(["c"]);
  });

  test("with cancel-oldest and a free permit cancels no run", () => {
    expect(ask([], "a", { policy: "cancel-oldest" }).cancelled).toBeNull();
  });
});

describe("a run that has ended", () => {
  test("gives its permit to the run that has waited longest, the first priority before others", () => {
    const permits = asked(["a", "b", "c"]);
    expect(leave(permits, "a").granted).toEqual(["b"]);
    const urgent = ask(permits, "d", { priority: 1, since: 9_000 }).permits;
    expect(leave(urgent, "a").granted).toEqual(["d"]);
  });

  test("and only waited gives nothing, and is gone", () => {
    const left = leave(asked(["a", "b", "c"]), "b");
    expect(left.granted).toEqual([]);
    expect(leave(left.permits, "a").granted).toEqual(["c"]);
  });

  test("may let several begin, where their limits are higher", () => {
    const strict = asked(["a", "x"]);
    const more = asked(["b", "c"], { limit: 3 });
    const permits = [
      ...strict,
      ...more.map((permit) => ({ ...permit, since: 2_000, holds: false })),
    ];
    expect(leave(permits, "a").granted).toEqual(["x", "b", "c"]);
  });

  test("without a permit of the key changes nothing", () => {
    const permits = asked(["a", "b"]);
    expect(leave(permits, "unknown")).toEqual({ permits, granted: [] });
  });
});

test("whichever runs come and go, no more hold a permit than the limit, and none is left idle", () => {
  const acts = fc.array(
    fc.record({
      leaves: fc.boolean(),
      pick: fc.nat(),
      priority: fc.integer({ min: 1, max: 9 }),
      policy: fc.constantFrom<ConcurrencyPolicy>("queue", "refuse", "cancel-oldest"),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), acts, (limit, all) => {
      let permits: Permits = [];
      all.forEach(({ leaves, pick, priority, policy }, at) => {
        const runId = `run ${String(at).padStart(3, "0")}`;
        const gone = leaves ? permits[pick % Math.max(1, permits.length)] : undefined;
        if (gone) permits = leave(permits, gone.runId).permits;
        else permits = join(permits, { runId, limit, priority, since: at }, policy).permits;
        expect(holders(permits).length).toBeLessThanOrEqual(limit);
        if (permits.length > holders(permits).length) expect(holders(permits)).toHaveLength(limit);
      });
    }),
    { seed: SEED, numRuns: 500 },
  );
});
