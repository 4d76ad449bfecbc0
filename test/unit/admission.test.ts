/** What a server has in memory of circuits: how tasks end, and which agents may take what. */
import { describe, expect, it } from "vitest";
import type { CircuitState } from "../../server/core/model/circuit.ts";
import { createAdmission, letThrough } from "../../server/dispatch/admission.ts";
import { createOutcomeCounts } from "../../server/dispatch/outcome-counts.ts";
import type { Waiter } from "../../server/dispatch/waiters.ts";
import type { Circuit, CircuitSnapshot } from "../../server/store/circuits.ts";
import type { Grant } from "../../server/store/store.ts";

let now = 0;
const clock = { monotonicMs: () => now };

const open = (until: number): CircuitState => ({ kind: "open", since: 0, until, cooldowns: 1 });
const circuit = (lane: number, state: CircuitState, agentId = ""): Circuit => ({
  lane,
  agentId,
  state,
  override: null,
  version: lane,
  saw: "",
});
const snapshot = (over: Partial<CircuitSnapshot>): CircuitSnapshot => ({
  now,
  circuits: [],
  outages: [],
  cordons: [],
  watched: [],
  pinned: { pins: [], lanes: [] },
  ...over,
});
const waiter = (id: string, version = "1"): Waiter => ({
  id: 1,
  agent: { id, session: id, version },
  pollSeq: 1,
  namespace: "d",
  namespaceId: 1,
  isCarried: false,
  batch: null,
  places: 5,
  reserved: false,
  over: false,
  asks: { namespaceId: 1, queues: [], tasks: [], agentVersion: version },
  lanes: [
    { lane: 1, weight: 1 },
    { lane: 2, weight: 1 },
  ],
});
const lanesOf = (admission: ReturnType<typeof createAdmission>, of: Waiter) =>
  (admission.admit(of)?.lanes ?? []).map(({ lane }) => lane);

describe("a gate", () => {
  it("lets every agent through until something is known", () => {
    expect(lanesOf(createAdmission(clock), waiter("a"))).toEqual([1, 2]);
  });

  it("keeps a lane whose circuit is open from all, and one of an agent from it alone", () => {
    const admission = createAdmission(clock);
    admission.learn(
      snapshot({ circuits: [circuit(1, open(now + 10)), circuit(2, open(now + 10), "a")] }),
    );
    expect(lanesOf(admission, waiter("a"))).toEqual([]);
    expect(lanesOf(admission, waiter("b"))).toEqual([2]);
  });

  it("keeps cordoned agents, versions and sessions of their namespace from everything", () => {
    const admission = createAdmission(clock);
    const cordon = { namespaceId: 1, agentId: null, by: "ada", why: "", at: 0 };
    const alone = waiter("d");
    const cordons = [
      { ...cordon, kind: "agent", name: "a" },
      { ...cordon, kind: "version", name: "2" },
      { ...cordon, namespaceId: 2, kind: "agent", name: "c" },
      { ...cordon, kind: "session", name: alone.agent.session },
    ] as const;
    admission.learn(snapshot({ cordons }));
    expect(lanesOf(admission, waiter("a"))).toEqual([]);
    expect(lanesOf(admission, waiter("b", "2"))).toEqual([]);
    expect(lanesOf(admission, waiter("c"))).toEqual([1, 2]);
    expect(lanesOf(admission, alone)).toEqual([]);
  });

  it("lets one try once the cool-down is over, and names the lanes that may be polled", () => {
    const admission = createAdmission(clock);
    const circuits = [circuit(1, open(now + 10))];
    expect(admission.learn(snapshot({ circuits }))).toEqual(new Set());
    now += 10;
    expect(lanesOf(admission, waiter("a"))).toEqual([1, 2]);
    expect(admission.probedBy(1, "a")).toEqual(circuits);
    admission.probed(circuits);
    expect(lanesOf(admission, waiter("a"))).toEqual([2]);
    expect(admission.learn(snapshot({ circuits }))).toEqual(new Set([1]));
    expect(admission.learn(snapshot({}))).toEqual(new Set());
  });

  it("keeps one of the grants that would try, and all that need not", async () => {
    const admission = createAdmission(clock);
    admission.learn(snapshot({ circuits: [circuit(1, open(now))] }));
    const grant = (lane: number, step: number) =>
      ({ ready: { lane, runId: "r", step, fence: 1 }, agentId: "a", secret: "s" }) as Grant;
    const grants = [grant(1, 0), grant(2, 1), grant(1, 2)];
    const granting = (has: boolean) =>
      letThrough({ takeProbes: async (probes) => (has ? probes : []) }, admission, grants);
    expect((await granting(true)).map(({ ready }) => ready.step)).toEqual([0, 1]);
    admission.learn(snapshot({ circuits: [circuit(1, open(now))] }));
    expect((await granting(false)).map(({ ready }) => ready.step)).toEqual([1]);
  });

  it("knows when a lane was blocked, in whole milliseconds", () => {
    const admission = createAdmission(clock);
    expect(admission.hasSuspended()).toBe(false);
    admission.learn(snapshot({ outages: [{ lane: 1, from: now - 50.4, to: null }] }));
    expect(admission.hasSuspended()).toBe(true);
    expect(admission.outages(1)).toEqual([{ lane: 1, from: now - 50, to: null }]);
    expect(admission.outages(2)).toEqual([]);
  });
});

describe("ends", () => {
  const end = (lane: number, of: "good" | "bad" | "nothing", runId = "r1") =>
    ({ lane, agentId: "a", runId, end: of }) as const;

  it("are reported once, of lanes that are watched or have bad ones", () => {
    const ends = createOutcomeCounts(clock);
    ends.count([end(1, "good"), end(1, "bad"), end(1, "bad", "r2"), end(1, "nothing")]);
    ends.count([end(2, "good"), end(3, "good")]);
    const newCounts = (watched: readonly number[]) =>
      ends.take(watched, 60_000).map(({ lane, good, bad, runs }) => [lane, good, bad, runs]);
    expect(newCounts([2])).toEqual([
      [1, 1, 2, ["r1", "r2"]],
      [2, 1, 0, []],
    ]);
    expect(newCounts([2])).toEqual([]);
    expect(newCounts([3])).toEqual([[3, 1, 0, []]]);
  });

  it("are forgotten when they are older than the window", () => {
    const ends = createOutcomeCounts(clock);
    ends.count([end(1, "good")]);
    now += 60_001;
    expect(ends.take([1], 60_000)).toEqual([]);
  });
});
