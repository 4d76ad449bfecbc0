/** Deliveries to hooks as they are listed. */
import { expect, test } from "vitest";
import type { Store } from "../../../server/store/store.ts";
import { newNamespace, type Opened } from "../fixture.ts";
import { passAs } from "../hand-made.ts";
import { ENDED, hooked } from "../hooks.ts";

export function describeDeliveryLists(opened: Opened<Store>): void {
  const store = (): Store => opened().store;
  const { hook, due, begin } = hooked(opened);
  const all = { states: [], hook: null, limit: 10, after: null };

  test("deliveries are listed newest first, by page, state and hook", async () => {
    const namespaceId = await hook(["run-ended"], "a");
    const runs: string[] = [];
    for (let made = 0; made < 3; made++) {
      const run = await begin(namespaceId);
      await passAs(store(), run, { run: ENDED });
      await due(namespaceId);
      runs.unshift(run.ref.runId);
    }
    const list = async (more = {}) => store().lists.deliveries(namespaceId, { ...all, ...more });
    const first = await list({ limit: 2 });
    expect(first.map((one) => one.runId)).toEqual(runs.slice(0, 2));
    const rest = await list({ limit: 2, after: first[1] ?? null });
    expect(rest.map((one) => one.runId)).toEqual(runs.slice(2));
    expect(await list({ states: ["given-up"] })).toEqual([]);
    expect(await list({ states: ["pending"], hook: "a" })).toHaveLength(3);
    expect(await list({ hook: "b" })).toEqual([]);
    expect(await store().lists.deliveries(await newNamespace(store()), all)).toEqual([]);
  });

  test("a delivery is listed as its last try has left it", async () => {
    const namespaceId = await hook(["run-ended"]);
    await passAs(store(), await begin(namespaceId), { run: ENDED });
    const [delivery] = await due(namespaceId);
    if (!delivery) throw new Error("no delivery is due");
    const failed = {
      id: delivery.id,
      triesBefore: 0,
      state: "pending",
      error: "answered 500",
    } as const;
    await store().outbox.settle([{ ...failed, nextTryInMs: 60_000 }]);
    const [waiting] = await store().lists.deliveries(namespaceId, all);
    expect((waiting?.nextTryAt ?? 0) - delivery.now).toBeGreaterThanOrEqual(60_000);
    const delivered = { ...failed, triesBefore: 1, state: "delivered", error: null } as const;
    await store().outbox.settle([{ ...delivered, nextTryInMs: 0 }]);
    expect(await store().lists.deliveries(namespaceId, all)).toMatchObject([
      { id: delivery.id, tries: 2, state: "delivered", error: null, nextTryAt: null },
    ]);
  });
}
