/** Circuits and cordons: counted, opened, tried by one task, closed; and manual settings. */
import { expect, test } from "vitest";
import { CIRCUIT_DEFAULTS, type CircuitState } from "../../server/core/model/circuit.ts";
import type { CircuitChange, Probe } from "../../server/store/circuits.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  hex,
  newNamespace,
  newUuid,
  type Opened,
  ownPartition,
  pass,
  report,
  type Scheduled,
  schedule,
  success,
} from "./fixture.ts";

const WINDOW_MS = CIRCUIT_DEFAULTS.windowMs;
const ACTOR = { node: newUuid(), epoch: 7 };

const open = (now: number, inMs: number): CircuitState => ({
  kind: "open",
  since: now,
  until: now + inMs,
  cooldowns: 1,
});

export async function change(store: EngineStore, over: Partial<CircuitChange>) {
  const { now } = await store.circuits.snapshot(WINDOW_MS);
  const nothing = { agentId: "", before: 0, saw: "", did: "", dueAt: now, about: null };
  return store.circuits.change([{ ...nothing, lane: 0, state: open(now, 0), ...over }], ACTOR);
}

const circuitOf = async (store: EngineStore, lane: number, agentId = "") =>
  (await store.circuits.snapshot(WINDOW_MS)).circuits.find(
    (one) => one.lane === lane && one.agentId === agentId,
  );

async function evidenceOf(store: EngineStore, lane: number) {
  const [evidence] = await store.circuits.evidence([lane], WINDOW_MS);
  return evidence;
}

/** An open circuit that may be tried at once, and a task that is about to. */
async function tried(store: EngineStore, run: Scheduled, agentId = "") {
  const [lane = 0] = run.lanes;
  await change(store, { lane, agentId });
  const circuit = await circuitOf(store, lane, agentId);
  if (!circuit) throw new Error("the circuit should be open");
  return { lane, agentId, version: circuit.version };
}

function grantTrying(store: EngineStore, of: Pick<Probe, "lane" | "agentId" | "version">) {
  return store.transact({ name: "claim" }, async (tx) => {
    const [ready] = (await tx.lockReady([{ lane: of.lane, limit: 1 }])).rows;
    if (!ready) throw new Error("nothing is ready");
    const secret = hex(16);
    const { runId, step, fence } = ready;
    const taken = await tx.takeProbes([{ ...of, runId, step, fence, secret }]);
    const session = hex(16);
    const grant = { ready, secret, session, agentId: "agent", pollSeq: 1 };
    return { taken, leases: await tx.grant(taken.length === 0 ? [] : [grant]) };
  });
}

export function describeCircuits(opened: Opened): void {
  const oneStep = () => schedule(opened().store, workflow({ a: {} }));
  const laneOf = async () => (await oneStep()).lanes[0] ?? 0;

  test("ends are summed by agent over all servers that counted, with two of the runs", async () => {
    const { store } = opened();
    const lane = await laneOf();
    const [a, b, c] = [newUuid(), newUuid(), newUuid()].sort();
    const bad = (agentId: string, runs: readonly (string | undefined)[]) => ({
      lane,
      agentId,
      good: 1,
      bad: runs.length,
      agoMs: 0,
      runs: runs.filter((run) => run !== undefined),
    });
    await store.circuits.count([bad("one", [a]), bad("two", [])]);
    await store.circuits.count([bad("one", [a, b]), bad("one", [b, c])]);
    const { tallies = [] } = (await evidenceOf(store, lane)) ?? {};
    expect(tallies).toMatchObject([
      { agentId: "one", good: 3, bad: 5 },
      { agentId: "two", good: 1, bad: 0, runs: [] },
    ]);
    expect(tallies[0]?.runs).toHaveLength(2);
    expect((await store.circuits.snapshot(WINDOW_MS)).watched).toContain(lane);
  });

  test("a lane is watched, and its ends are stored, for the length of the window", async () => {
    const { store } = opened();
    const lane = await laneOf();
    const ends = { agentId: "one", good: 0, bad: 1, runs: [newUuid()] };
    await store.circuits.count([{ ...ends, lane, agoMs: 90_000 }]);
    expect((await store.circuits.snapshot(60_000)).watched).not.toContain(lane);
    expect((await store.circuits.snapshot(120_000)).watched).toContain(lane);
    await store.forgetOld(1_000, { circuitEndsMs: 240_000 });
    expect((await store.circuits.snapshot(120_000)).watched).toContain(lane);
    await store.forgetOld(1_000, { circuitEndsMs: 60_000 });
    expect((await store.circuits.snapshot(120_000)).watched).not.toContain(lane);
  });

  test("ends older than the window count no more, nor those before the circuit changed", async () => {
    const { store } = opened();
    const old = await laneOf();
    const moved = await laneOf();
    const ends = { agentId: "one", good: 0, bad: 1, runs: [newUuid()] };
    await store.circuits.count([
      { ...ends, lane: old, agoMs: WINDOW_MS + 6_000 },
      { ...ends, lane: moved, agoMs: 10_000 },
    ]);
    expect((await evidenceOf(store, old))?.tallies ?? []).toEqual([]);
    expect((await evidenceOf(store, moved))?.tallies).toHaveLength(1);
    await change(store, { lane: moved });
    expect((await evidenceOf(store, moved))?.tallies).toEqual([]);
  });

  test("of two that decide by the same version one moves the circuit", async () => {
    const { store } = opened();
    const lane = await laneOf();
    expect(await change(store, { lane })).toEqual([{ lane, agentId: "" }]);
    expect(await change(store, { lane })).toEqual([]);
    const first = await circuitOf(store, lane);
    const again = { lane, before: first?.version ?? 0 };
    expect(await change(store, again)).toEqual([{ lane, agentId: "" }]);
    expect(await change(store, again)).toEqual([]);
    expect((await circuitOf(store, lane))?.version).toBeGreaterThan(first?.version ?? 0);
  });

  test("what the supervisor did is an intervention of the run that it was decided by", async () => {
    const { store } = opened();
    const { ref, lanes } = await oneStep();
    const [lane = 0] = lanes;
    const about = { runId: ref.runId, step: -1, fence: 0 };
    await change(store, { lane, saw: "all failed", did: "opened it", about });
    await change(store, { lane, agentId: "one", saw: "it failed", did: "opened that", about });
    const wanted = { attempts: false, interventions: true, escalations: false };
    const { interventions = [] } = (await store.reads.runDetail(ref.runId, wanted)) ?? {};
    expect(interventions).toMatchObject([
      { step: null, rule: "queue-circuit", saw: "all failed", did: "opened it", ...ACTOR },
      { step: null, rule: "agent-circuit", saw: "it failed", did: "opened that", ...ACTOR },
    ]);
  });

  test("one task probes the service, and no other while it does; how it ended is returned", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { task: "t" }, b: { task: "t" } }));
    const of = await tried(store, run);
    const { taken, leases } = await grantTrying(store, of);
    expect(taken).toEqual([{ lane: of.lane, agentId: "" }]);
    expect((await grantTrying(store, of)).taken).toEqual([]);
    const trying = await circuitOf(store, of.lane);
    expect(trying?.state.kind).toBe("trying");
    expect((await grantTrying(store, { ...of, version: trying?.version ?? 0 })).taken).toEqual([]);
    const endOf = async () => (await evidenceOf(store, of.lane))?.circuits[0]?.probeEnd;
    expect(await endOf()).toBeNull();
    const [lease] = leases;
    if (!lease) throw new Error("nothing was granted");
    await pass(store, run, report(lease, success));
    const { step, fence } = lease.ready;
    expect(await endOf()).toMatchObject({ end: "good", runId: run.ref.runId, step, fence });
  });

  test("no probe starts before its time, or where a person has set the circuit", async () => {
    const { store } = opened();
    const run = await oneStep();
    const [lane = 0] = run.lanes;
    const { now } = await store.circuits.snapshot(WINDOW_MS);
    await change(store, { lane, state: open(now, 60_000) });
    const { version = 0 } = (await circuitOf(store, lane)) ?? {};
    expect((await grantTrying(store, { lane, agentId: "", version })).taken).toEqual([]);
    const of = await tried(store, await oneStep());
    const stored = await store.circuits.setOverride(of, { forced: "open", by: "ada", why: "" });
    const forced = { ...of, version: stored.version };
    expect((await grantTrying(store, forced)).taken).toEqual([]);
  });

  test("a probe of which nothing is left changes nothing", async () => {
    const { store } = opened();
    const of = await tried(store, await oneStep());
    const gone = { runId: newUuid(), step: 0, fence: 1, secret: hex(16) };
    await store.transact({ name: "claim" }, (tx) => tx.takeProbes([{ ...of, ...gone }]));
    const { circuits = [] } = (await evidenceOf(store, of.lane)) ?? {};
    expect(circuits[0]?.probeEnd).toMatchObject({ end: "nothing" });
  });

  test("a person's setting overrides the rules until it is taken back", async () => {
    const { store } = opened();
    const of = { lane: await laneOf(), agentId: "one" };
    const setting = { forced: "open", by: "ada", why: "it leaks" } as const;
    const first = await store.circuits.setOverride(of, setting);
    expect(first).toMatchObject({ ...of, override: setting, state: { kind: "closed" } });
    expect(await store.circuits.setOverride(of, { ...setting, by: "bob" })).toEqual(first);
    expect(await change(store, { ...of, before: first.version })).toEqual([]);
    const closed = await store.circuits.setOverride(of, {
      ...setting,
      forced: "closed",
      by: "bob",
    });
    expect(closed.override).toMatchObject({ forced: "closed", by: "bob" });
    expect((await store.circuits.setOverride(of, null)).override).toBeNull();
    expect(await circuitOf(store, of.lane, "one")).toBeUndefined();
    expect((await store.circuits.setOverride(of, null)).override).toBeNull();
  });

  test("outages of a lane are stored, whether the rules or a person opened it", async () => {
    const { store } = opened();
    const lane = await laneOf();
    const outages = async () =>
      (await store.circuits.snapshot(WINDOW_MS)).outages.filter((one) => one.lane === lane);
    await change(store, { lane, agentId: "one" });
    expect(await outages()).toEqual([]);
    await change(store, { lane });
    await store.circuits.setOverride({ lane, agentId: "" }, { forced: "open", by: "ada", why: "" });
    expect(await outages()).toMatchObject([{ to: null }]);
    await store.circuits.setOverride({ lane, agentId: "" }, null);
    const [ended, ...more] = await outages();
    expect(more).toEqual([]);
    expect(ended?.to).toBeGreaterThanOrEqual(ended?.from ?? Number.POSITIVE_INFINITY);
  });

  test("what waits behind an open circuit is held, and its explanation names the circuit", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const definition = workflow({ a: { timeouts: { pickupMs: 1_000 } } });
    const run = await schedule(store, definition, { partition, agoMs: 60_000 });
    const [lane = 0] = run.lanes;
    const polled = async () => (await store.dueRows([partition], 10)).due.map((row) => row.polled);
    const circuits = async () => (await store.reads.runLiveness(run.ref.runId)).circuits;
    expect(await polled()).toEqual([false]);
    expect(await circuits()).toEqual(new Map());
    await change(store, { lane, agentId: "one" });
    expect(await polled()).toEqual([false]);
    const { now } = await store.circuits.snapshot(WINDOW_MS);
    await change(store, { lane, state: open(now, 30_000), saw: "20 of 20 failed" });
    expect(await polled()).toEqual([true]);
    expect(await circuits()).toEqual(
      new Map([
        [
          0,
          {
            since: now,
            until: now + 30_000,
            isHalfOpen: false,
            override: null,
            saw: "20 of 20 failed",
          },
        ],
      ]),
    );
    const setting = { forced: "open", by: "ada", why: "maintenance" } as const;
    await store.circuits.setOverride({ lane, agentId: "" }, setting);
    expect((await circuits()).get(0)).toMatchObject({
      until: null,
      isHalfOpen: false,
      override: { by: "ada", why: "maintenance" },
    });
    await store.circuits.setOverride({ lane, agentId: "" }, { ...setting, forced: "closed" });
    expect(await circuits()).toEqual(new Map());
    expect(await polled()).toEqual([false]);
  });

  test("cordons of agents and versions are stored by namespace, with the first reason", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const other = await newNamespace(store);
    const cordons = async (of: number) =>
      (await store.circuits.snapshot(WINDOW_MS)).cordons
        .filter((one) => one.namespaceId === of)
        .map(({ kind, name }) => `${kind} ${name}`);
    const cordon = { namespaceId, kind: "agent", name: "one", by: "ada", why: "slow" } as const;
    const first = await store.circuits.cordon(cordon);
    expect(first).toMatchObject(cordon);
    expect(await store.circuits.cordon({ ...cordon, by: "bob" })).toEqual(first);
    await store.circuits.cordon({ ...cordon, kind: "version", name: "1.2" });
    expect((await cordons(namespaceId)).sort()).toEqual(["agent one", "version 1.2"]);
    expect(await cordons(other)).toEqual([]);
    expect((await store.circuits.snapshot(WINDOW_MS)).cordons).toContainEqual(first);
    expect(await store.circuits.uncordon(cordon)).toBe(true);
    expect(await store.circuits.uncordon(cordon)).toBe(false);
    expect(await cordons(namespaceId)).toEqual(["version 1.2"]);
  });
}
