/** Circuits and cordons as they are listed. */
import { expect, test } from "vitest";
import { CIRCUIT_DEFAULTS } from "../../../server/core/model/circuit.ts";
import type { Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import { change } from "../circuits.ts";
import { newNamespace, type Opened, schedule } from "../fixture.ts";

const WINDOW_MS = CIRCUIT_DEFAULTS.windowMs;

export function describeCircuitLists(opened: Opened<Store>): void {
  const oneStep = () => schedule(opened().store, workflow({ a: {} }));

  test("circuits are listed by namespace, those that are plainly closed are not", async () => {
    const { store } = opened();
    const { namespaceId, lanes } = await oneStep();
    const [lane = 0] = lanes;
    const list = (after: { lane: number; agentId: string } | null, limit = 10) =>
      store.lists.circuits(namespaceId, { after, limit });
    expect(await list(null)).toEqual([]);
    await change(store, { lane });
    await change(store, { lane, agentId: "one" });
    await change(store, { lane, agentId: "two", state: { kind: "closed" } });
    expect(await list(null)).toMatchObject([
      { queue: "default", task: "a", agentId: "" },
      { queue: "default", task: "a", agentId: "one" },
    ]);
    expect(await list({ lane, agentId: "" })).toMatchObject([{ agentId: "one" }]);
    const ofAgents = { after: null, limit: 10, agentIds: ["one", "two"] };
    expect(await store.lists.circuits(namespaceId, ofAgents)).toMatchObject([{ agentId: "one" }]);
    expect(await list(null, 1)).toHaveLength(1);
    await store.circuits.setOverride(
      { lane, agentId: "" },
      { forced: "closed", by: "ada", why: "" },
    );
    await store.circuits.setOverride(
      { lane, agentId: "two" },
      { forced: "open", by: "ada", why: "" },
    );
    const open = { after: null, limit: 10, openOnly: true };
    expect(await store.lists.circuits(namespaceId, open)).toMatchObject([
      { agentId: "one" },
      { agentId: "two", override: { forced: "open" } },
    ]);
  });

  test("cordons of agents and versions are listed by namespace, with the first reason", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const other = await newNamespace(store);
    const cordon = { namespaceId, kind: "agent", name: "one", by: "ada", why: "slow" } as const;
    const first = await store.circuits.cordon(cordon);
    expect(first).toMatchObject(cordon);
    expect(await store.circuits.cordon({ ...cordon, by: "bob" })).toEqual(first);
    await store.circuits.cordon({ ...cordon, kind: "version", name: "1.2" });
    expect(await store.lists.cordons(namespaceId)).toMatchObject([
      { kind: "agent", name: "one" },
      { kind: "version", name: "1.2" },
    ]);
    expect(await store.lists.cordons(other)).toEqual([]);
    expect((await store.circuits.snapshot(WINDOW_MS)).cordons).toContainEqual(first);
    expect(await store.circuits.uncordon(cordon)).toBe(true);
    expect(await store.circuits.uncordon(cordon)).toBe(false);
    expect(await store.lists.cordons(namespaceId)).toHaveLength(1);
  });

  test("what the supervisor did about circuits is listed with the other interventions", async () => {
    const { store } = opened();
    const { ref, lanes, namespaceId } = await oneStep();
    const [lane = 0] = lanes;
    const about = { runId: ref.runId, step: -1, fence: 0 };
    await change(store, { lane, saw: "all failed", did: "opened it", about });
    await change(store, { lane, agentId: "one", saw: "it failed", did: "opened that", about });
    const any = { runId: null, from: null, until: null, after: null, limit: 10 };
    const page = { ...any, rules: ["queue-circuit", "agent-circuit"] } as const;
    expect(await store.operators.interventions(namespaceId, page)).toHaveLength(2);
  });
}
