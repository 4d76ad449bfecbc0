/** What operators list: agents, queues in full, partitions, supervisors, interventions. */

import { describe, expect, test } from "vitest";
import type { InterventionPage } from "../../../server/store/operators.ts";
import { partitionsOf } from "../../../server/store/partition.ts";
import type { Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import {
  claim,
  claimOne,
  hex,
  LATE,
  newNamespace,
  newUuid,
  type Opened,
  ownPartition,
  pass,
  permanent,
  report,
  type Scheduled,
  schedule,
  silence,
} from "../fixture.ts";
import { describeSilentAgents, ENGINE_READERS, type LaneReaders } from "../silent-agents.ts";
import { describeAgents, describeQueueActivity } from "./agents.ts";
import { makeSchedule } from "./schedules.ts";

const INTERVENTIONS: InterventionPage = {
  rules: null,
  runId: null,
  from: null,
  until: null,
  after: null,
  limit: 100,
};

/** The engine's, and everything that operators list. */
const OPERATOR_READERS: LaneReaders<Store> = {
  async pollingState(store, run) {
    const { namespaceId } = run;
    const [activity] = await store.operators.queueActivity(namespaceId, ["q"]);
    const [task] = await store.operators.queueTasks(namespaceId, "q");
    const { orphans } = await store.operators.attention(namespaceId);
    const page = { agentId: null, session: null, after: null, limit: 100 };
    const listed = await store.operators.agents(namespaceId, page);
    return {
      ...(await ENGINE_READERS.pollingState(store, run)),
      agents: [activity?.agents, task?.agents],
      isServed: orphans.length === 0,
      silent: listed.filter(({ silentSince }) => silentSince !== null).length,
    };
  },
  polledBy: (agents) => ({
    ...ENGINE_READERS.polledBy(agents),
    agents: [agents, agents],
    isServed: agents > 0,
    silent: 2 - agents,
  }),
  othersSilent: { ...ENGINE_READERS.othersSilent, agents: [2, 2], isServed: true },
};

export function describeOperators(opened: Opened<Store>): void {
  describe("agents", () => describeAgents(opened));
  describe("queues", () => describeQueueActivity(opened));
  describe("silent agents", () => describeSilentAgents(opened, OPERATOR_READERS));
  describe("partitions", () => describeWatchers(opened));
  describe("interventions", () => describeInterventions(opened));
  describe("attention", () => describeAttention(opened));
}

function describeWatchers(opened: Opened<Store>): void {
  const one = async (partition: number) => {
    const page = { after: partition - 1, limit: 1 };
    const { now, partitions } = await opened().store.operators.partitions(page);
    const [record] = partitions;
    if (record?.partition !== partition) throw new Error(`partition ${partition} is not listed`);
    return { now, ...record };
  };

  test("partitions are listed by number, including those without an owner", async () => {
    const { operators } = opened().store;
    const { partitions } = await operators.partitions({ after: -1, limit: 1_000 });
    expect(partitions.map(({ partition }) => partition)).toEqual([...Array(256).keys()]);
    const page = await operators.partitions({ after: 99, limit: 2 });
    expect(page.partitions.map(({ partition }) => partition)).toEqual([100, 101]);
    expect((await operators.partitions({ after: 10_000, limit: 1 })).partitions).toEqual([]);
  });

  test("a partition is listed as used while a run of its region is open", async () => {
    const { store } = opened();
    const region = `r-${newUuid().slice(-6)}`;
    const { id: namespaceId, region: id } = await store.createNamespace(`in-${region}`, region);
    const [partition = 0] = partitionsOf(id);
    const used = async () => {
      const page = { after: partition - 1, limit: 1 };
      return (await store.operators.partitions(page)).partitions[0];
    };
    expect(await used()).toMatchObject({ region, used: false });
    await schedule(store, workflow({ a: {} }), { namespaceId, partition });
    expect(await used()).toMatchObject({ region, used: true, watched: false });
  });

  test("a partition is listed with who took it, when, and how often its owner changed", async () => {
    const { store } = opened();
    const partition = 200;
    const before = await one(partition);
    expect(before).toMatchObject({ owner: null, watched: false });
    const node = newUuid();
    const session = await store.partitions.join({ node, address: "there:7" });
    await session.tryLock([partition]);
    await session.takeOver([partition]);
    const taken = await one(partition);
    expect(taken).toMatchObject({
      epoch: before.epoch + 1,
      watched: true,
      owner: { node, address: "there:7", lastSeenAt: expect.any(Number) },
    });
    expect(taken.takenAt).toBeLessThanOrEqual(taken.now);
    const mine = (await store.operators.supervisors()).find((of) => of.node === node);
    expect(mine).toMatchObject({ address: "there:7", alive: true, partitions: 1 });
    await session.unlock([partition]);
    expect(await one(partition)).toMatchObject({
      owner: null,
      watched: false,
      epoch: taken.epoch,
      takenAt: taken.takenAt,
    });
    await session.leave();
    const left = await store.operators.supervisors();
    expect(left.map((of) => of.node)).not.toContain(node);
  });

  test("a partition is as late as its oldest timer that is overdue", async () => {
    const { store } = opened();
    const partition = ownPartition();
    expect((await one(partition)).overdueAt).toBeNull();
    const pickup = { a: { timeouts: { pickupMs: 1_000 } } };
    await schedule(store, workflow(pickup), { partition, agoMs: 30_000 });
    await schedule(store, workflow(pickup), { partition, agoMs: 60_000 });
    await schedule(store, workflow(pickup), { partition });
    const { now, overdueAt } = await one(partition);
    expect(now - (overdueAt ?? now)).toBeGreaterThanOrEqual(59_000);
    const [first] = (await store.dueRows([partition], 1)).due;
    expect(overdueAt).toBe(first?.wakeAt);
  });

  test("a partition is as late as an agent of it has been silent for longer than it may", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const silentAtOnce = workflow({ a: { timeouts: { heartbeatMs: 0 } } });
    const run = await schedule(store, silentAtOnce, { partition });
    const { grantedAt } = await claimOne(store, run);
    expect((await one(partition)).overdueAt).toBe(grantedAt);
  });
}

function describeInterventions(opened: Opened<Store>): void {
  const list = (namespaceId: number, page: Partial<InterventionPage> = {}) =>
    opened().store.operators.interventions(namespaceId, { ...INTERVENTIONS, ...page });

  /** A run whose agent fell silent so long ago. */
  async function lostRun(namespaceId: number, agoMs: number): Promise<Scheduled> {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { effects: "once" } }), {
      namespaceId,
      workflow: "holiday",
      agoMs,
    });
    await pass(store, run, silence(await claimOne(store, run)), { agoMs: agoMs - 3_600_000 });
    return run;
  }

  test("interventions of a namespace come newest first, with their run, in pages", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const other = await newNamespace(store);
    await lostRun(other, 0);
    const old = await lostRun(namespaceId, 3_000_000);
    const young = await lostRun(namespaceId, 1_000_000);
    const middle = await lostRun(namespaceId, 2_000_000);
    const all = await list(namespaceId);
    expect(all.map(({ runId, rule, workflow: of }) => [runId, rule, of])).toEqual(
      [young, middle, old].map(({ ref }) => [ref.runId, "lease", "holiday"]),
    );
    expect(all[0]).toMatchObject({ step: 0, fence: 1, attempt: 1, partition: young.ref.partition });
    expect(await list(namespaceId, { limit: 2 })).toEqual(all.slice(0, 2));
    for (const [place, after] of all.entries())
      expect(await list(namespaceId, { after })).toEqual(all.slice(place + 1));
    expect(await list(namespaceId, { runId: middle.ref.runId })).toEqual([all[1]]);
    expect(await list(other, { runId: middle.ref.runId })).toEqual([]);
    const [first, second] = all.map(({ actedAt }) => actedAt);
    expect(await list(namespaceId, { until: first ?? 0 })).toEqual(all.slice(1));
    expect(await list(namespaceId, { from: second ?? 0 })).toEqual(all.slice(0, 2));
  });

  test("interventions come of some rules alone, and those of one time each once", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const steps = Object.fromEntries(["a", "b", "c"].map((id) => [id, { task: id }]));
    const run = await schedule(store, workflow(steps), { partition });
    const granted = await claim(store, run);
    for (const one of granted) await pass(store, run, silence(one), LATE);
    await pass(store, run, { kind: "run-timer" }, { agoMs: -30 * 86_400_000 });
    const { namespaceId } = run;
    const all = await list(namespaceId);
    expect(new Set(all.map(({ rule }) => rule))).toEqual(new Set(["lease", "deadline"]));
    expect(all[0]).toMatchObject({ rule: "deadline", step: null });
    const deadlines = await list(namespaceId, { rules: ["deadline"] });
    expect(deadlines).toEqual(all.slice(0, 1));
    expect(await list(namespaceId, { rules: ["stall"] })).toEqual([]);
    const pages = [];
    for (let after: InterventionPage["after"] = null; ; ) {
      const [next] = await list(namespaceId, { after, limit: 1 });
      if (!next) break;
      pages.push(next);
      after = next;
    }
    expect(pages).toEqual(all);
    expect(await list(namespaceId, { runId: run.ref.runId })).toEqual(all);
  });
}

function describeAttention(opened: Opened<Store>): void {
  const attention = ({ namespaceId }: Pick<Scheduled, "namespaceId">) =>
    opened().store.operators.attention(namespaceId);

  test("nothing needs a person where nothing is held and everything is asked for", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    await store.markPolled(newUuid(), run.lanes);
    expect(await attention(run)).toEqual({
      escalations: 0,
      orphans: [],
      namespacePause: null,
      pausedQueues: [],
      pausedWorkflows: [],
      failingAgents: [],
    });
  });

  test("tasks that no agent asks for are listed, unless something holds them", async () => {
    const { store } = opened();
    const steps = { a: { task: "t", queue: "y" }, b: { task: "s", queue: "x" }, c: { queue: "z" } };
    const run = await schedule(store, workflow(steps), { workflow: "w" });
    const { namespaceId } = run;
    await store.queues.pause({ namespaceId, queue: "z" }, "");
    expect((await attention(run)).orphans).toMatchObject([
      { queue: "x", task: "s", oldestAt: expect.any(Number), polledAt: null },
      { queue: "y", task: "t" },
    ]);
    await store.queues.pause({ namespaceId, queue: "" }, "");
    expect((await attention(run)).orphans).toEqual([]);
  });

  test("open escalations are counted, and what is paused is named", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { onFailure: "escalate" } }));
    const { namespaceId } = run;
    await pass(store, run, report(await claimOne(store, run), permanent));
    const all = await store.queues.pause({ namespaceId, queue: "" }, "moving");
    const b = await store.queues.pause({ namespaceId, queue: "b" }, "mending");
    const a = await store.queues.pause({ namespaceId, queue: "a" }, "");
    expect(await attention(run)).toMatchObject({
      escalations: 1,
      namespacePause: all,
      pausedWorkflows: [],
      pausedQueues: [
        { name: "a", pause: a },
        { name: "b", pause: b },
      ],
    });
    const name = `w-${hex(4)}`;
    await store.internDefinition(namespaceId, { ...workflow({ a: {} }), workflow: name });
    const pause = await store.queues.pauseWorkflow({ namespaceId, workflow: name }, "prices");
    expect((await attention(run)).pausedWorkflows).toEqual([{ name, pause, schedules: 0 }]);
    await makeSchedule(store, { namespaceId, name: "nightly", workflow: name });
    await makeSchedule(store, { namespaceId, name: "paused", workflow: name, pauseReason: "old" });
    await makeSchedule(store, { namespaceId, name: "another", workflow: "another" });
    expect((await attention(run)).pausedWorkflows).toEqual([{ name, pause, schedules: 1 }]);
  });

  test("open runs are counted by their state", async () => {
    const { store } = opened();
    const { openRuns } = await store.operators.cluster(null);
    const before = openRuns.get("RUNNING") ?? 0;
    await schedule(store, workflow({ a: {} }), { partition: ownPartition() });
    const after = await store.operators.cluster(null);
    expect(after.openRuns.get("RUNNING")).toBe(before + 1);
    const namespaceId = await newNamespace(store);
    expect((await store.operators.cluster(namespaceId)).openRuns).toEqual(new Map());
    await schedule(store, workflow({ a: {} }), { namespaceId, partition: ownPartition() });
    const own = await store.operators.cluster(namespaceId);
    expect(own).toMatchObject({ openRuns: new Map([["RUNNING", 1]]), allCounted: true });
    expect(after.database).not.toBe("");
    expect(await store.operators.now()).toEqual(expect.any(Number));
  });

  test("what is open is counted over all namespaces, and what is paused does not wait", async () => {
    const { store } = opened();
    const { gauges } = store.operators;
    const before = await gauges();
    const steps = { a: { onFailure: "escalate" } } as const;
    const asking = await schedule(store, workflow(steps), { partition: ownPartition() });
    await pass(store, asking, report(await claimOne(store, asking), permanent));
    const [waits, paused] = [
      await schedule(store, workflow({ a: {}, b: {} }), { agoMs: 86_400_000 }),
      await schedule(store, workflow({ a: { queue: "paused" } }), { agoMs: 90_000_000 }),
    ];
    const { namespaceId } = paused;
    await store.queues.pause({ namespaceId, queue: "paused" }, "");
    const [lane = 0] = waits.lanes;
    const setting = { forced: "open", by: "eve", why: "mending" } as const;
    await store.circuits.setOverride({ lane, agentId: "" }, setting);
    await store.circuits.setOverride({ lane, agentId: "one" }, setting);
    const after = await gauges();
    expect(after).toMatchObject({
      waiting: before.waiting + 2,
      escalations: before.escalations + 1,
      openCircuits: {
        queue: before.openCircuits.queue + 1,
        agent: before.openCircuits.agent + 1,
      },
    });
    expect(after.waitingMs).toBeGreaterThanOrEqual(86_400_000);
    if (before.waitingMs < 86_400_000) expect(after.waitingMs).toBeLessThan(90_000_000);
    expect(after.openRuns.get("ESCALATED")).toBe((before.openRuns.get("ESCALATED") ?? 0) + 1);
    for (const agentId of ["", "one"]) await store.circuits.setOverride({ lane, agentId }, null);
    expect((await gauges()).openCircuits).toEqual(before.openCircuits);
  });
}
