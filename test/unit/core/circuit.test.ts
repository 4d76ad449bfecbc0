/** Circuits: when one opens, which task probes it, and when it closes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CIRCUIT_DEFAULTS,
  type CircuitEvent,
  type CircuitState,
  CLOSED,
  circuitAfter,
  flowOf,
  mergedOutages,
  msOutside,
  nextLaneState,
  type OutcomeClass,
  outageMs,
  outcomeClassOf,
  startOf,
  type Tally,
} from "../../../server/core/model/circuit.ts";

const S = CIRCUIT_DEFAULTS;
const tally = (agentId: string, good: number, bad: number, runs = ["r1", "r2"]): Tally => ({
  agentId,
  good,
  bad,
  runs: bad === 0 ? [] : runs,
});
const moved = (state: CircuitState, event: CircuitEvent, now: number): CircuitState =>
  circuitAfter(state, event, now, S) ?? state;
const probeEnded = (end: OutcomeClass): CircuitEvent => ({ kind: "probe-ended", end });

describe("the circuit of a queue's task", () => {
  it("opens when two agents fail in two runs, 20 times and 4 of 5", () => {
    expect(nextLaneState([tally("a", 2, 8), tally("b", 2, 8)], S).queue).toBe(true);
  });

  it.for<[string, readonly Tally[]]>([
    ["19 ends", [tally("a", 0, 10), tally("b", 0, 9)]],
    ["fewer than 4 of 5", [tally("a", 0, 8), tally("b", 5, 8)]],
    ["one agent alone", [tally("a", 0, 100)]],
    ["one run alone", [tally("a", 0, 50, ["r1"]), tally("b", 0, 50, ["r1"])]],
    ["one agent that drowns another", [tally("a", 0, 500), tally("b", 3, 1)]],
  ])("does not open for %s", ([, tallies]) => {
    expect(nextLaneState(tallies, S).queue).toBe(false);
  });

  it("leaves out an agent that fails where others do not", () => {
    const state = nextLaneState([tally("a", 0, 500), tally("b", 20, 1), tally("c", 20, 1)], S);
    expect(state).toEqual({ queue: false, agents: ["a"] });
  });
});

describe("the circuit of an agent", () => {
  it("opens when it fails 20 times and 4 of 5, and others do better", () => {
    expect(nextLaneState([tally("a", 4, 16), tally("b", 5, 0)], S).agents).toEqual(["a"]);
  });

  it.for<[string, readonly Tally[]]>([
    ["19 ends", [tally("a", 0, 19), tally("b", 50, 0)]],
    ["no other agent to compare with", [tally("a", 0, 50), tally("b", 4, 0)]],
    ["others that are hardly better", [tally("a", 0, 50), tally("b", 5, 5)]],
  ])("does not open for %s", ([, tallies]) => {
    expect(nextLaneState(tallies, S).agents).toEqual([]);
  });
});

describe("a circuit", () => {
  it("cools down for 30 s, lets one task try, and cools down twice as long each time, up to 5 min", () => {
    let state = moved(CLOSED, { kind: "tripped" }, 0);
    let now = 0;
    const cooldowns: number[] = [];
    for (let round = 0; round < 6; round++) {
      if (state.kind !== "open") throw new Error("it should be open");
      cooldowns.push(state.until - now);
      expect(flowOf(state, null, state.until - 1)).toBe("nothing");
      expect(flowOf(state, null, state.until)).toBe("one");
      now = state.until;
      state = moved(state, { kind: "probe-claimed" }, now);
      expect(flowOf(state, null, now + 1_000_000)).toBe("nothing");
      state = moved(state, probeEnded("bad"), now);
    }
    expect(cooldowns).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
    expect(state).toMatchObject({ since: 0 });
  });

  it("closes with a probe that went well, and begins anew with 30 s", () => {
    const open = moved(CLOSED, { kind: "tripped" }, 0);
    const trying = moved(open, { kind: "probe-claimed" }, 30_000);
    expect(moved(trying, probeEnded("good"), 31_000)).toEqual(CLOSED);
  });

  it("lets the next task try at once when the probe has no result", () => {
    const trying = moved(moved(CLOSED, { kind: "tripped" }, 0), { kind: "probe-claimed" }, 30_000);
    const state = moved(trying, probeEnded("nothing"), 31_000);
    expect(flowOf(state, null, 31_000)).toBe("one");
    expect(state).toMatchObject({ cooldowns: 1 });
  });

  it("does as a person sets it, whatever its state", () => {
    const open = moved(CLOSED, { kind: "tripped" }, 0);
    expect(flowOf(open, "closed", 0)).toBe("all");
    expect(flowOf(CLOSED, "open", 0)).toBe("nothing");
    expect(flowOf(open, "open", 1_000_000)).toBe("nothing");
  });
});

describe("an end", () => {
  it("is bad when it is unknown or a later try may do better; a refusal is an answer", () => {
    const of = (kind: Parameters<typeof outcomeClassOf>[0]["kind"], transient = false) =>
      outcomeClassOf({ kind, transient });
    expect(of("failure", true)).toBe("bad");
    expect(of("unknown")).toBe("bad");
    expect(of("failure")).toBe("good");
    expect(of("success")).toBe("good");
    expect(of("deferred")).toBe("good");
    expect(of("released")).toBe("nothing");
    expect(of("undelivered")).toBe("nothing");
  });
});

const someEvent: fc.Arbitrary<CircuitEvent> = fc.oneof(
  fc.constant<CircuitEvent>({ kind: "tripped" }),
  fc.constant<CircuitEvent>({ kind: "probe-claimed" }),
  fc.constantFrom<OutcomeClass>("good", "bad", "nothing").map(probeEnded),
);
const someTallies = fc.uniqueArray(
  fc.record({
    agentId: fc.constantFrom("a", "b", "c", "d"),
    good: fc.nat(60),
    bad: fc.nat(60),
    runs: fc.subarray(["r1", "r2", "r3"], { minLength: 0, maxLength: 2 }),
  }),
  { selector: ({ agentId }) => agentId },
);

describe("whatever happens", () => {
  it("one task at most tries at a time, never before its time, and cool-downs stay within bounds", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(someEvent, fc.nat(400_000))), (steps) => {
        let state: CircuitState = CLOSED;
        let now = 0;
        for (const [event, ms] of steps) {
          now += ms;
          const before: CircuitState = state;
          state = moved(before, event, now);
          if (state.kind === "trying" && before.kind !== "trying")
            expect(flowOf(before, null, now)).toBe("one");
          if (state.kind === "open" && state !== before) {
            expect(state.until - now).toBeLessThanOrEqual(S.cooldownMsMax);
            expect(state.since).toBeLessThanOrEqual(now);
          }
          if (before.kind !== "closed" && state.kind === "closed")
            expect(event).toEqual(probeEnded("good"));
        }
      }),
    );
  });

  it("every state that is not closed comes to let one task through", () => {
    fc.assert(
      fc.property(fc.array(someEvent), (events) => {
        let state: CircuitState = CLOSED;
        for (const [now, event] of events.entries()) state = moved(state, event, now * 400_000);
        if (state.kind === "trying") state = moved(state, probeEnded("nothing"), 1e12);
        if (state.kind === "open") expect(flowOf(state, null, 1e12 + S.cooldownMsMax)).toBe("one");
      }),
    );
  });

  it("more good ends open nothing, and an agent whose circuit is open is no reason for the queue to", () => {
    fc.assert(
      fc.property(someTallies, fc.nat(50), (tallies, more) => {
        const state = nextLaneState(tallies, S);
        const better = tallies.map((one) => ({ ...one, good: one.good + more }));
        if (!state.queue && state.agents.length === 0)
          expect(nextLaneState(better, S).queue).toBe(false);
        const rest = tallies.filter(({ agentId }) => !state.agents.includes(agentId));
        if (state.queue) expect(nextLaneState(rest, S).queue).toBe(true);
      }),
    );
  });

  it("time in an outage is counted once and only within the bounds that are asked", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { maxLength: 12 }), fc.nat(1_000), (cuts, from) => {
        const sorted = [...new Set(cuts)].sort((a, b) => a - b);
        const outages = sorted.flatMap((at, index) =>
          index % 2 === 0 ? [{ from: at, to: sorted[index + 1] ?? null }] : [],
        );
        const plain = Array.from({ length: 1_000 - from }, (_, ms) => from + ms).filter((at) =>
          outages.some((one) => one.from <= at && at < (one.to ?? 1_000)),
        );
        expect(outageMs(outages, from, 1_000)).toBe(plain.length);
      }),
    );
  });

  it("time is counted back over outages, however they overlap, to the latest moment that fits", () => {
    const time = fc.nat(300);
    const outage = fc.record({ from: time, to: fc.oneof(time, fc.constant(null)) });
    fc.assert(
      fc.property(fc.array(outage, { maxLength: 6 }), time, fc.nat(400), (given, to, ms) => {
        const some = given.filter((one) => one.to === null || one.to >= one.from);
        const merged = mergedOutages(some);
        const isOut = (at: number) =>
          some.some((one) => one.from <= at && at < (one.to ?? Number.POSITIVE_INFINITY));
        let [start, left] = [to, ms];
        while (left > 0) {
          start -= 1;
          if (!isOut(start)) left -= 1;
        }
        expect(startOf(merged, to, ms)).toBe(start);
        expect(msOutside(merged, start, to)).toBe(ms);
      }),
    );
  });
});
