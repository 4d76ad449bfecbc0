/** Agents as operators see them, and the queues that they ask for. */

import { expect, test } from "vitest";
import type { AgentPage, AgentSeen } from "../../../server/store/operators.ts";
import type { Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import {
  claim,
  newNamespace,
  newSession,
  newUuid,
  type Opened,
  type Scheduled,
  schedule,
} from "../fixture.ts";

const AGENTS: AgentPage = { agentId: null, session: null, after: null, limit: 100 };

function seen(namespaceId: number, agentId: string, more: Partial<AgentSeen> = {}): AgentSeen {
  return {
    session: newSession(),
    namespaceId,
    agentId,
    agentVersion: "1.2",
    labels: {},
    poll: { queues: ["default"], tasks: [] },
    agoMs: 0,
    calledAgoMs: 0,
    succeededAgoMs: null,
    ...more,
  };
}

export function describeAgents(opened: Opened<Store>): void {
  const agents = (namespaceId: number, page: Partial<AgentPage> = {}) =>
    opened().store.operators.agents(namespaceId, { ...AGENTS, ...page });

  test("an agent is listed as its server has seen it", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const poll = { queues: ["travel", "bank"], tasks: ["book"] };
    const one = seen(namespaceId, "hotel", { labels: { zone: "b" }, poll });
    await store.markAgents("here:1", [one]);
    const [listed] = await agents(namespaceId);
    expect(listed).toMatchObject({
      session: one.session,
      agentId: "hotel",
      agentVersion: "1.2",
      labels: { zone: "b" },
      poll,
      server: "here:1",
      lastHeartbeatAt: null,
      succeededAt: null,
      held: 0,
    });
    expect(listed?.seenAt).toBe(listed?.firstSeenAt);
  });

  test("what a server has not seen itself stays, and nothing goes back in time", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const one = seen(namespaceId, "hotel", { agoMs: 5_000, succeededAgoMs: 60_000 });
    await store.markAgents("here:1", [one]);
    const [before] = await agents(namespaceId);
    if (!before) throw new Error("the agent should be listed");
    expect(before.firstSeenAt - before.seenAt).toBeLessThanOrEqual(5_001);
    expect(before.firstSeenAt - (before.succeededAt ?? 0)).toBeGreaterThanOrEqual(59_999);
    const later = { ...one, poll: null, agoMs: 3_600_000, succeededAgoMs: null };
    await store.markAgents("there:2", [{ ...later, agentVersion: "1.3" }]);
    expect(await agents(namespaceId)).toEqual([
      { ...before, agentVersion: "1.3", server: "there:2" },
    ]);
  });

  test("what an agent states of its process stays until it states something else", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const process = {
      host: "pc-7",
      pid: 12,
      capacity: 4,
      startedAgoMs: 60_000,
      clockAheadMs: -3_600_000,
    };
    const one = seen(namespaceId, "hotel");
    await store.markAgents("here:1", [one]);
    expect(await agents(namespaceId)).toMatchObject([{ host: "", pid: null, capacity: null }]);
    await store.markAgents("here:1", [{ ...one, process }]);
    const [stated] = await agents(namespaceId);
    const clockAheadMs = -3_600_000;
    expect(stated).toMatchObject({ host: "pc-7", pid: 12, capacity: 4, clockAheadMs });
    expect((stated?.firstSeenAt ?? 0) - (stated?.startedAt ?? 0)).toBeGreaterThan(59_000);
    await store.markAgents("here:1", [one]);
    await store.markAgents("here:1", [{ ...one, process: { ...process, startedAgoMs: 1 } }]);
    expect(await agents(namespaceId)).toMatchObject([
      { host: "pc-7", startedAt: stated?.startedAt },
    ]);
    const hosts = await store.reads.hosts([one.session, newSession()]);
    expect([...hosts]).toEqual([[one.session, "pc-7"]]);
  });

  test("attempts of a session are added up by task, those with most failures first", async () => {
    const { store } = opened();
    const steps = { a: { task: "book", queue: "q" }, b: { task: "undo", queue: "q" } };
    const { namespaceId, lanes } = await schedule(store, workflow(steps));
    const [book = 0, undo = 0] = lanes;
    const one = seen(namespaceId, "hotel");
    await store.markAgents("here:1", [one, seen(namespaceId, "idle")]);
    const { session } = one;
    await store.countAttempts([
      { session, lane: book, ended: 4, failed: 1, unknown: 0 },
      { session, lane: undo, ended: 2, failed: 0, unknown: 2 },
    ]);
    await store.countAttempts([{ session, lane: book, ended: 1, failed: 0, unknown: 0 }]);
    expect(await agents(namespaceId)).toMatchObject([
      {
        agentId: "hotel",
        attempts: [
          { queue: "q", task: "undo", ended: 2, failed: 0, unknown: 2 },
          { queue: "q", task: "book", ended: 5, failed: 1, unknown: 0 },
        ],
      },
      { agentId: "idle", attempts: [] },
    ]);
  });

  test("a live session that fails is listed, with how the others do", async () => {
    const { store } = opened();
    const { namespaceId, lanes } = await schedule(store, workflow({ a: { task: "book" } }));
    const [lane = 0] = lanes;
    const process = { host: "pc-7", pid: 12, capacity: 4, startedAgoMs: 0, clockAheadMs: 0 };
    const bad = seen(namespaceId, "hotel", { process });
    const good = seen(namespaceId, "hotel");
    const gone = seen(namespaceId, "gone", { agoMs: 61_000 });
    await store.markAgents("here:1", [bad, good, gone]);
    const failing = async () => (await store.operators.attention(namespaceId)).failingAgents;
    const fails = ({ session }: AgentSeen, ended: number) =>
      store.countAttempts([{ session, lane, ended, failed: ended, unknown: 0 }]);
    await fails(bad, 9);
    await fails(gone, 20);
    await store.countAttempts([{ session: good.session, lane, ended: 50, failed: 1, unknown: 0 }]);
    expect(await failing()).toEqual([]);
    await fails(bad, 1);
    expect(await failing()).toEqual([
      {
        session: bad.session,
        agentId: "hotel",
        agentVersion: "1.2",
        host: "pc-7",
        pid: 12,
        queue: "default",
        task: "book",
        own: { ended: 10, failed: 10, unknown: 0 },
        others: { ended: 70, failed: 21, unknown: 0 },
      },
    ]);
    expect((await store.operators.gauges()).failingAgents).toBeGreaterThanOrEqual(1);
    await store.countAttempts([{ session: bad.session, lane, ended: 10, failed: 0, unknown: 0 }]);
    expect(await failing()).toEqual([]);
  });

  test("counts of attempts are forgotten after an hour", async () => {
    const { store } = opened();
    const { namespaceId, lanes } = await schedule(store, workflow({ a: { task: "book" } }));
    const [lane = 0] = lanes;
    const one = seen(namespaceId, "hotel");
    await store.markAgents("here:1", [one]);
    await store.countAttempts([{ session: one.session, lane, ended: 1, failed: 0, unknown: 0 }]);
    await store.forgetOld(1_000);
    expect(await agents(namespaceId)).toMatchObject([{ attempts: [{ ended: 1 }] }]);
    await store.forgetOld(1_000, { attemptCountsMs: -1 });
    expect(await agents(namespaceId)).toMatchObject([{ attempts: [] }]);
  });

  test("a session is cordoned alone, until it is forgotten", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const one = seen(namespaceId, "hotel", { agoMs: 601_000 });
    const cordon = { namespaceId, kind: "session", name: one.session, by: "ada", why: "" } as const;
    expect(await store.circuits.cordon(cordon)).toBe(null);
    await store.markAgents("here:1", [one]);
    const stored = { ...cordon, agentId: "hotel" };
    expect(await store.circuits.cordon(cordon)).toMatchObject(stored);
    const elsewhere = { ...cordon, namespaceId: await newNamespace(store) };
    expect(await store.circuits.cordon(elsewhere)).toBe(null);
    expect(await store.lists.cordons(namespaceId)).toMatchObject([stored]);
    await store.forgetOld(1_000);
    expect(await store.lists.cordons(namespaceId)).toEqual([]);
  });

  test("a session is of the namespace that it was first seen in", async () => {
    const { store } = opened();
    const mine = await newNamespace(store);
    const other = await newNamespace(store);
    const one = seen(mine, "hotel");
    await store.markAgents("here:1", [one]);
    await store.markAgents("there:2", [{ ...one, namespaceId: other, agentVersion: "9" }]);
    expect(await agents(mine)).toMatchObject([{ agentVersion: "1.2", server: "here:1" }]);
    expect(await agents(other)).toEqual([]);
  });

  test("agents come by name and session, in pages, or those of one name or session alone", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const all = ["car", "hotel", "hotel"].map((id) => seen(namespaceId, id));
    await store.markAgents("here:1", all);
    const listed = await agents(namespaceId);
    expect(listed.map(({ agentId }) => agentId)).toEqual(["car", "hotel", "hotel"]);
    const [, first, second] = listed;
    if (!first || !second) throw new Error("three agents should be listed");
    expect(first.session < second.session).toBe(true);
    expect(await agents(namespaceId, { limit: 2 })).toEqual(listed.slice(0, 2));
    expect(await agents(namespaceId, { after: first })).toEqual([second]);
    expect(await agents(namespaceId, { agentId: "hotel" })).toEqual([first, second]);
    expect(await agents(namespaceId, { session: second.session })).toEqual([second]);
  });

  test("what an agent holds is listed, with what it reported of it", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { task: "book", queue: "travel" }, b: {} }), {
      workflow: "holiday",
    });
    const { namespaceId, definitionId } = run;
    const one = seen(namespaceId, "hotel");
    const { session } = one;
    await store.markAgents("here:1", [one]);
    const [lane = 0] = run.lanes;
    const [granted] = await claim(store, { lanes: [lane] }, { session });
    if (!granted) throw new Error("a step should be ready");
    const { step, fence } = granted.ready;
    const { runId } = run.ref;
    const report = { runId, step, fence, secret: granted.secret, details: null };
    const sender = { namespaceId, session, agentId: "hotel", agentVersion: "1.2" };
    await store.heartbeat([{ ...sender, reports: [{ ...report, progress: "counter 7" }] }]);
    const [listed] = await agents(namespaceId);
    expect(listed).toMatchObject({ held: 1 });
    expect(listed?.lastHeartbeatAt).toBeGreaterThanOrEqual(granted.grantedAt);
    expect(await store.operators.held(session)).toMatchObject([
      {
        runId,
        workflow: "holiday",
        definitionId,
        step,
        kind: "perform",
        fence,
        attempt: 1,
        queue: "travel",
        task: "book",
        since: granted.grantedAt,
        attemptBy: granted.attemptBy,
        progress: "counter 7",
        cancelling: false,
      },
    ]);
    expect(await store.operators.held(newSession())).toEqual([]);
  });

  test("an agent that has not called for ten minutes is forgotten, unless it holds a task", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const { namespaceId } = run;
    const long = { agoMs: 601_000 };
    const idle = seen(namespaceId, "idle", long);
    const busy = seen(namespaceId, "busy", long);
    const fresh = seen(namespaceId, "fresh", { agoMs: 590_000 });
    await claim(store, run, { session: busy.session });
    await store.markAgents("here:1", [idle, busy, fresh]);
    await store.forgetOld(1_000);
    const left = await agents(namespaceId);
    expect(left.map(({ agentId }) => agentId)).toEqual(["busy", "fresh"]);
  });

  test("what is old is forgotten in batches, each of which reports whether there may be more", async () => {
    const { store } = opened();
    const { namespaceId } = await schedule(store, workflow({ a: {} }));
    const old = Array.from({ length: 5 }, (_, n) => seen(namespaceId, `${n}`, { agoMs: 601_000 }));
    await store.markAgents("here:1", old);
    let rounds = 1;
    // Others have left what is old, too.
    while (await store.forgetOld(2)) rounds++;
    expect(rounds).toBeGreaterThanOrEqual(3);
    expect(await agents(namespaceId)).toEqual([]);
    expect(await store.forgetOld(2)).toBe(false);
  });
}

export function describeQueueActivity(opened: Opened<Store>): void {
  /** A run with two tasks in one queue. */
  const inOneQueue = (more: { namespaceId?: number; agoMs?: number } = {}) => {
    const steps = { a: { task: "book", queue: "q" }, b: { task: "undo", queue: "q" } };
    return schedule(opened().store, workflow(steps), more);
  };
  test("a task is listed with whether all its agents are cordoned, by id, version or session", async () => {
    const { store } = opened();
    const { namespaceId, ref } = await inOneQueue();
    const cordoned = async () => [...(await store.reads.runLiveness(ref.runId)).cordoned];
    const cordon = { namespaceId, by: "ada", why: "" };
    const asking = (agentId: string, tasks: readonly string[], more: Partial<AgentSeen> = {}) =>
      seen(namespaceId, agentId, { poll: { queues: ["q"], tasks }, ...more });
    await store.circuits.cordon({ ...cordon, kind: "agent", name: "one" });
    expect(await cordoned()).toEqual([]);
    await store.markAgents("here:1", [
      asking("one", ["book"]),
      asking("one", [], { agoMs: 30_000 }),
      asking("two", ["undo"]),
      asking("gone", ["book"], { agoMs: 61_000 }),
      seen(namespaceId, "elsewhere"),
    ]);
    expect(await cordoned()).toEqual([[0, 2]]);
    await store.circuits.cordon({ ...cordon, kind: "version", name: "1.2" });
    expect(await cordoned()).toEqual([
      [0, 2],
      [1, 2],
    ]);
    const other = asking("new", [], { agentVersion: "1.3" });
    await store.markAgents("here:1", [other]);
    expect(await cordoned()).toEqual([]);
    await store.circuits.cordon({ ...cordon, kind: "session", name: other.session });
    expect(await cordoned()).toEqual([
      [0, 3],
      [1, 3],
    ]);
  });

  const activityOf = async ({ namespaceId }: Pick<Scheduled, "namespaceId">) => {
    const [first] = await opened().store.operators.queueActivity(namespaceId, ["q"]);
    return first;
  };

  test("a queue is listed with the wait of its oldest task, also behind a pause", async () => {
    const { store } = opened();
    const old = await inOneQueue({ agoMs: 60_000 });
    const { namespaceId } = old;
    const oldest = (await activityOf(old))?.oldestAt ?? 0;
    const young = await inOneQueue({ namespaceId });
    expect((await activityOf(young))?.oldestAt).toBe(oldest);
    await claim(store, old, { limit: 1 });
    expect((await activityOf(young))?.oldestAt).toBeGreaterThan(oldest);
    await store.queues.pauseWorkflow({ namespaceId, workflow: "w" }, "");
    expect((await activityOf(young))?.oldestAt).toBeGreaterThan(oldest);
  });

  test("queues are listed in the order of the query, known or not", async () => {
    const { store } = opened();
    const run = await inOneQueue();
    const activities = await store.operators.queueActivity(run.namespaceId, ["z", "q"]);
    expect(activities).toMatchObject([
      { name: "z", oldestAt: null, polledAt: null, agents: 0 },
      { name: "q", polledAt: null, agents: 0 },
    ]);
    expect(await store.operators.queueActivity(run.namespaceId, [])).toEqual([]);
  });

  test("a queue is polled by agents that asked for it in the last minute", async () => {
    const { store } = opened();
    const run = await inOneQueue();
    const { namespaceId } = run;
    const asking = (tasks: string[], agoMs = 0) =>
      seen(namespaceId, "hotel", { poll: { queues: ["q", "r"], tasks }, agoMs });
    await store.markAgents("here:1", [
      asking([]),
      asking(["book"]),
      asking(["book", "other"]),
      asking(["book"], 61_000),
      seen(namespaceId, "elsewhere"),
      seen(namespaceId, "silent", { poll: null }),
    ]);
    await store.markPolled(newUuid(), run.lanes.slice(0, 1));
    expect(await activityOf(run)).toMatchObject({ agents: 3, polledAt: expect.any(Number) });
    const tasks = await store.operators.queueTasks(namespaceId, "q");
    expect(tasks).toMatchObject([
      { task: "book", ready: 1, leased: 0, agents: 3, polledAt: expect.any(Number) },
      { task: "undo", ready: 1, leased: 0, agents: 1, polledAt: null },
    ]);
  });

  test("the tasks of a queue that agents hold are read with their runs", async () => {
    const { store } = opened();
    const run = await inOneQueue();
    const { namespaceId } = run;
    expect(await store.operators.queueHoldings(namespaceId, "q")).toEqual([]);
    await claim(store, run);
    const holding = { workflow: "test", labels: {}, grantedAt: expect.any(Number) };
    expect(await store.operators.queueHoldings(namespaceId, "q")).toEqual([holding, holding]);
    expect(await store.operators.queueHoldings(namespaceId, "unknown")).toEqual([]);
  });

  test("a queue is listed with what waits and what agents have of each task", async () => {
    const { store } = opened();
    const run = await inOneQueue();
    const [book = 0] = run.lanes;
    await claim(store, { lanes: [book] });
    expect(await store.operators.queueTasks(run.namespaceId, "q")).toMatchObject([
      { task: "book", ready: 0, leased: 1, oldestAt: null },
      { task: "undo", ready: 1, leased: 0, oldestAt: expect.any(Number) },
    ]);
    expect(await store.operators.queueTasks(run.namespaceId, "unknown")).toEqual([]);
  });
}
