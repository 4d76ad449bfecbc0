/** Triggers as they are listed, and what they have refused, by reason. */
import { expect, test } from "vitest";
import type { TriggerDefinition } from "../../../server/core/definition/trigger.ts";
import type { Store } from "../../../server/store/store.ts";
import { REFUSALS_MAX } from "../../../server/store/triggers.ts";
import { newNamespace, newUuid, type Opened } from "../fixture.ts";
import { inbound, SECRET } from "../triggers.ts";

export function describeTriggerLists(opened: Opened<Store>): void {
  const store = (): Store => opened().store;
  const put = (
    namespaceId: number,
    definition: TriggerDefinition,
    secret: typeof SECRET | null = null,
  ) => store().triggers.put({ namespaceId, definition, secret });

  test("a trigger is listed without its secret, as it was changed last", async () => {
    const namespaceId = await newNamespace(store());
    expect(await put(namespaceId, inbound("push"))).toBeNull();
    expect(await store().lists.triggers(namespaceId)).toEqual([]);
    expect(await put(namespaceId, inbound("push"), SECRET)).toEqual({ created: true });
    const changed = { ...inbound("push"), when: "body.ok" };
    expect(await put(namespaceId, changed)).toEqual({ created: false });
    const times = { createdAt: expect.any(Number), changedAt: expect.any(Number) };
    const record = { definition: changed, secretDigest: SECRET.digest, ...times };
    expect(await store().lists.triggers(namespaceId)).toEqual([record]);
    expect(await store().triggers.find(namespaceId, "push")).toEqual({
      ...record,
      secret: SECRET.value,
    });
    expect(await store().triggers.find(await newNamespace(store()), "push")).toBeNull();
  });

  test("a trigger is deleted once, with its refusals", async () => {
    const namespaceId = await newNamespace(store());
    await put(namespaceId, inbound("push"), SECRET);
    const refused = { namespaceId, trigger: "push", reason: "X", message: "no", runId: null };
    await store().triggers.refuse([{ ...refused, count: 1 }]);
    expect(await store().triggers.delete(namespaceId, "push")).toBe(true);
    expect(await store().triggers.delete(namespaceId, "push")).toBe(false);
    expect(await store().lists.refusals(namespaceId, null, 10)).toEqual([]);
    expect(await store().triggers.find(namespaceId, "push")).toBeNull();
  });

  test("refusals of one reason are one row with their count, the last first", async () => {
    const namespaceId = await newNamespace(store());
    await put(namespaceId, inbound("push"), SECRET);
    await put(namespaceId, inbound("pull"), SECRET);
    const runId = newUuid();
    const refusal = {
      namespaceId,
      trigger: "push",
      reason: "MAPPING_FAILED",
      runId: null,
      count: 2,
    };
    await store().triggers.refuse([{ ...refusal, message: "there is no id" }]);
    await opened().elapse(5);
    await store().triggers.refuse([{ ...refusal, trigger: "pull", message: "there is no id" }]);
    await opened().elapse(5);
    await store().triggers.refuse([{ ...refusal, message: "there is no id", runId, count: 3 }]);
    await store().triggers.refuse([{ ...refusal, trigger: "gone", message: "there is no id" }]);
    const all = await store().lists.refusals(namespaceId, null, 10);
    expect(all.map(({ trigger, count, runId: of }) => [trigger, count, of])).toEqual([
      ["push", 5, runId],
      ["pull", 2, null],
    ]);
    expect(await store().lists.refusals(namespaceId, "pull", 10)).toMatchObject([
      { trigger: "pull", reason: "MAPPING_FAILED", message: "there is no id" },
    ]);
    expect(await store().lists.refusals(namespaceId, null, 1)).toHaveLength(1);
  });

  test("of one trigger so many refusals are stored, the last ones", async () => {
    const namespaceId = await newNamespace(store());
    await put(namespaceId, inbound("push"), SECRET);
    const refusal = { namespaceId, trigger: "push", reason: "X", runId: null, count: 1 };
    await store().triggers.refuse([{ ...refusal, message: "the first" }]);
    await opened().elapse(5);
    const more = Array.from({ length: REFUSALS_MAX }, (_, n) => ({
      ...refusal,
      message: `no ${n}`,
    }));
    await store().triggers.refuse(more);
    const listed = await store().lists.refusals(namespaceId, "push", 1_000);
    expect(listed).toHaveLength(REFUSALS_MAX);
    expect(listed.map(({ message }) => message)).not.toContain("the first");
  });
}
