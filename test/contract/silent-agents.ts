/** Sessions that have fallen silent: they do not count as polling until they call again. */
import { expect, test } from "vitest";
import type { AgentSeen, SilentSession } from "../../server/store/operators.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  claim,
  newSession,
  newUuid,
  type Opened,
  ownPartition,
  type Scheduled,
  schedule,
} from "./fixture.ts";

/** A run whose pickup is over, in a lane of the queue `q` that two agents have polled. */
export interface PolledRun extends Scheduled {
  readonly partition: number;
  readonly agents: readonly [AgentSeen, AgentSeen];
}

/** Queries that report whether agents poll a lane. */
export interface LaneReaders<S> {
  pollingState(store: S, run: PolledRun): Promise<object>;
  /** What all of them return while so many of its two agents count as polling. */
  polledBy(agents: number): object;
  /** Of a lane whose agents poll, while two others are silent. */
  readonly othersSilent: object;
}

export const ENGINE_READERS: LaneReaders<EngineStore> = {
  async pollingState(store, { ref, partition }) {
    const [due] = (await store.dueRows([partition], 1)).due;
    const { silent } = await store.reads.runLiveness(ref.runId);
    return { isPolled: [due?.polled, !silent.has(0)] };
  },
  polledBy: (agents) => ({ isPolled: [agents > 0, agents > 0] }),
  othersSilent: { isPolled: [true, true] },
};

export function describeSilentAgents<S extends EngineStore>(
  opened: Opened<S>,
  { polledBy, othersSilent, ...readers }: LaneReaders<S>,
): void {
  const pollingState = (run: PolledRun) => readers.pollingState(opened().store, run);

  async function polledRun(): Promise<PolledRun> {
    const { store } = opened();
    const partition = ownPartition();
    const steps = { a: { task: "book", queue: "q" } };
    const run = await schedule(store, workflow(steps), { partition, agoMs: 400_000 });
    const { namespaceId } = run;
    const agents = [seen(namespaceId), seen(namespaceId)] as const;
    await store.markAgents("here:1", agents);
    await store.markPolled(newUuid(), run.lanes);
    return { ...run, partition, agents };
  }

  function seen(namespaceId: number): AgentSeen {
    return {
      session: newSession(),
      namespaceId,
      agentId: "hotel",
      agentVersion: "1",
      labels: {},
      poll: { queues: ["q"], tasks: [] },
      agoMs: 0,
      calledAgoMs: 1_000,
      succeededAgoMs: null,
    };
  }

  async function lost({ session }: AgentSeen, heartbeatMs = 3_000): Promise<SilentSession> {
    const at = await opened().store.transact({ name: "now" }, async (tx) => tx.now);
    return { kind: "lost", session, at, heartbeatMs };
  }

  test("sessions that have lost a lease for silence do not count as polling", async () => {
    const { store } = opened();
    const run = await polledRun();
    const [one, other] = run.agents;
    expect(await pollingState(run)).toEqual(polledBy(2));
    await store.markSilent([await lost(one)]);
    expect(await pollingState(run)).toEqual(polledBy(1));
    await store.markSilent([await lost(other), await lost(one)]);
    expect(await pollingState(run)).toEqual(polledBy(0));
    const { silent } = await store.pollQuery({ lanes: [], runs: [], watermarks: [] });
    expect(silent).toEqual(expect.arrayContaining([one.session, other.session]));
  });

  test("a silent session counts again once it has called, and not while a poll is parked", async () => {
    const { store } = opened();
    const run = await polledRun();
    await store.markSilent(await Promise.all(run.agents.map((one) => lost(one))));
    const parked = run.agents.map((one) => ({ ...one, calledAgoMs: 60_000 }));
    await store.markAgents("here:1", parked);
    expect(await pollingState(run)).toEqual(polledBy(0));
    const called = run.agents.map((one) => ({ ...one, calledAgoMs: 0 }));
    await store.markAgents("here:1", called);
    expect(await pollingState(run)).toEqual(polledBy(2));
    const { silent } = await store.pollQuery({ lanes: [], runs: [], watermarks: [] });
    expect(silent).not.toContain(run.agents[0].session);
  });

  test("a session that sends heartbeats and has lost a lease all the same is not silent", async () => {
    const { store } = opened();
    const run = await polledRun();
    const [{ session, agentId, agentVersion, namespaceId }, other] = run.agents;
    await store.heartbeat([{ session, agentId, agentVersion, namespaceId, reports: [] }]);
    await store.markSilent([await lost(run.agents[0], 60_000), await lost(other)]);
    expect(await pollingState(run)).toEqual(polledBy(1));
  });

  test("a session whose connection has gone is silent, unless it holds a task or has called since", async () => {
    const { store } = opened();
    const run = await polledRun();
    const [one, other] = run.agents;
    const gone = ({ session }: AgentSeen, agoMs: number): SilentSession => {
      return { kind: "gone", session, agoMs };
    };
    const held = await schedule(store, workflow({ a: {} }));
    await claim(store, held, { session: one.session });
    await store.markSilent([gone(one, 0), gone(other, 60_000)]);
    expect(await pollingState(run)).toEqual(polledBy(2));
    await store.markSilent([gone(other, 0)]);
    expect(await pollingState(run)).toEqual(polledBy(1));
  });

  test("silent sessions of other queues, tasks and versions do not count for a lane", async () => {
    const { store } = opened();
    const run = await polledRun();
    const { namespaceId } = run;
    const elsewhere = [
      { ...seen(namespaceId), poll: { queues: ["r"], tasks: [] } },
      { ...seen(namespaceId), poll: { queues: ["q"], tasks: ["undo"] } },
    ];
    await store.markAgents("here:1", elsewhere);
    await store.markSilent(await Promise.all(elsewhere.map((one) => lost(one))));
    expect(await pollingState(run)).toMatchObject(othersSilent);
  });
}
