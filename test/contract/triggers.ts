/**
 * Triggers: stored by name with what their callers are known by; a row for each ended run that one
 * waits for, until it is settled.
 */
import { expect, test } from "vitest";
import type {
  TriggerAction,
  TriggerAuth,
  TriggerDefinition,
} from "../../server/core/definition/trigger.ts";
import type { EndKind, Run } from "../../server/core/model/model.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { newNamespace, newUuid, type Opened, ownPartition, type Scheduled } from "./fixture.ts";
import { beginAs, passAs } from "./hand-made.ts";

export const SECRET = { value: "a secret of sixteen", digest: "ab".repeat(32) };
const OTHER = { value: "another secret, long", digest: "cd".repeat(32) };
const ENDED = { state: { kind: "FAILED", reason: "STEP_FAILED" } } as const;

const action: TriggerAction = {
  kind: "schedule",
  workflow: "deploy",
  version: 0,
  input: null,
  key: "",
  labels: {},
  priority: 0,
};
const HMAC: TriggerAuth = {
  kind: "hmac",
  header: "x-signature",
  prefix: "",
  timestampHeader: null,
  toleranceMs: 1_000,
};

export function inbound(name: string, kind: TriggerAuth["kind"] = "hmac"): TriggerDefinition {
  const auth: TriggerAuth = kind === "hmac" ? HMAC : { kind };
  return { name, source: { kind: "http", auth }, when: "", action };
}

function atEnd(
  name: string,
  of: { readonly workflow?: string; readonly states?: readonly EndKind[] } = {},
): TriggerDefinition {
  const source = { kind: "run-end", workflow: "build", states: [], ...of } as const;
  return { name, source, when: "", action };
}

export function describeTriggers(opened: Opened): void {
  const store = (): EngineStore => opened().store;
  const put = (
    namespaceId: number,
    definition: TriggerDefinition,
    secret: typeof SECRET | null = null,
  ) => store().triggers.put({ namespaceId, definition, secret });
  const begin = (namespaceId: number, partition: number, more = {}) =>
    beginAs(store(), [], { namespaceId, partition, workflow: "build", ...more });
  const end = (run: Scheduled, by: Partial<Run> = ENDED) => passAs(store(), run, { run: by });
  const ended = async (partition: number) => {
    const found = await store().triggers.ended([partition], 100);
    return found.map(({ trigger, runId }) => [trigger, runId]);
  };

  test("a trigger is found with its secret, and changed by its name", async () => {
    const namespaceId = await newNamespace(store());
    expect(await put(namespaceId, inbound("push"))).toBeNull();
    expect(await store().triggers.find(namespaceId, "push")).toBeNull();
    expect(await put(namespaceId, inbound("push"), SECRET)).toEqual({ created: true });
    const changed = { ...inbound("push"), when: "body.ok" };
    expect(await put(namespaceId, changed)).toEqual({ created: false });
    const times = { createdAt: expect.any(Number), changedAt: expect.any(Number) };
    const record = { definition: changed, secretDigest: SECRET.digest, ...times };
    expect(await store().triggers.find(namespaceId, "push")).toEqual({
      ...record,
      secret: SECRET.value,
    });
    expect(await store().triggers.find(await newNamespace(store()), "push")).toBeNull();
  });

  test("of a bearer only the digest is stored, and no secret outlives another kind of auth", async () => {
    const namespaceId = await newNamespace(store());
    await put(namespaceId, inbound("push"), SECRET);
    expect(await put(namespaceId, inbound("push", "bearer"))).toBeNull();
    await put(namespaceId, inbound("push", "bearer"), OTHER);
    const known = { secret: null, secretDigest: OTHER.digest };
    expect(await store().triggers.find(namespaceId, "push")).toMatchObject(known);
    expect(await put(namespaceId, inbound("push", "bearer"))).toEqual({ created: false });
    expect(await store().triggers.find(namespaceId, "push")).toMatchObject(known);
    expect(await put(namespaceId, inbound("push"))).toBeNull();
    await put(namespaceId, atEnd("push"));
    const none = { secret: null, secretDigest: null };
    expect(await store().triggers.find(namespaceId, "push")).toMatchObject(none);
  });

  test("a trigger is deleted once", async () => {
    const namespaceId = await newNamespace(store());
    await put(namespaceId, inbound("push"), SECRET);
    expect(await store().triggers.delete(namespaceId, "push")).toBe(true);
    expect(await store().triggers.delete(namespaceId, "push")).toBe(false);
    expect(await store().triggers.find(namespaceId, "push")).toBeNull();
  });

  test("a run that ends is there for each trigger that waits for its workflow and state", async () => {
    const namespaceId = await newNamespace(store());
    const partition = ownPartition();
    await put(namespaceId, atEnd("any"));
    await put(namespaceId, atEnd("failed", { states: ["FAILED", "CANCELLED"] }));
    await put(namespaceId, atEnd("completed", { states: ["COMPLETED"] }));
    await put(namespaceId, atEnd("other", { workflow: "test" }));
    await put(namespaceId, inbound("push"), SECRET);
    await put(await newNamespace(store()), atEnd("elsewhere"));
    const run = await begin(namespaceId, partition);
    expect(await ended(partition)).toEqual([]);
    await end(run);
    const { runId } = run.ref;
    expect((await ended(partition)).sort()).toEqual([
      ["any", runId],
      ["failed", runId],
    ]);
    expect(await ended(ownPartition())).toEqual([]);
    const [first] = await store().triggers.ended([partition], 1);
    const { definitionId } = run;
    expect(first).toMatchObject({
      runId,
      definitionId,
      state: "FAILED",
      reason: "STEP_FAILED",
      depth: 0,
      namespace: { id: namespaceId, name: expect.stringMatching(/^ns-/) },
      definition: { source: { kind: "run-end" } },
    });
  });

  test("an end that no server has acted on is overdue, and one that is settled is not", async () => {
    const namespaceId = await newNamespace(store());
    const partition = ownPartition();
    await put(namespaceId, atEnd("any"));
    const run = await begin(namespaceId, partition);
    await end(run);
    // It ended just now: a second from now it will be overdue.
    const overdue = async () => (await store().overdue([partition], -1_000)).rows["run-end"];
    // Webhooks of other tests may be due in the same partition.
    const outside = async () => (await store().dueRows([partition], 10)).outside;
    expect(await outside()).toContain("triggers");
    expect((await store().overdue([partition], 60_000)).rows["run-end"]).toBe(0);
    expect(await overdue()).toBe(1);
    const [first] = await store().triggers.ended([partition], 1);
    if (!first) throw new Error("the end is not there");
    await store().triggers.settle([{ id: first.id, again: false, began: null }]);
    expect(await overdue()).toBe(0);
    expect(await outside()).not.toContain("triggers");
  });

  test("what an end sets off is of the region of its namespace", async () => {
    const region = `region-${newUuid()}`;
    const { id, name, region: number } = await store().createNamespace(`ns-${newUuid()}`, region);
    const partition = ownPartition();
    await put(id, atEnd("any"));
    await end(await begin(id, partition));
    const [first] = await store().triggers.ended([partition], 1);
    expect(first?.namespace).toEqual({ id, name, region: number });
    expect(number).toBeGreaterThan(0);
  });

  test("an end that is settled is gone, and one to be checked again is not there at once", async () => {
    const namespaceId = await newNamespace(store());
    const partition = ownPartition();
    await put(namespaceId, atEnd("any"));
    for (let n = 0; n < 3; n++) await end(await begin(namespaceId, partition));
    const [first, second, third] = await store().triggers.ended([partition], 10);
    if (!first || !second || !third) throw new Error("three runs have ended");
    const { runId: began } = (await begin(namespaceId, partition)).ref;
    await store().triggers.settle([
      { id: first.id, again: false, began: null },
      { id: second.id, again: false, began },
      { id: third.id, again: true, began: null },
    ]);
    expect(await ended(partition)).toEqual([]);
  });

  test("an end stays to be checked where the run that it has started is lost again", async () => {
    const namespaceId = await newNamespace(store());
    const partition = ownPartition();
    await put(namespaceId, atEnd("any"));
    await end(await begin(namespaceId, partition));
    const [first] = await store().triggers.ended([partition], 10);
    if (!first) throw new Error("a run has ended");
    await store().triggers.settle([{ id: first.id, again: false, began: newUuid() }]);
    expect(await store().triggers.ended([partition], 10)).toEqual([first]);
  });

  test("what a deleted trigger had waited for is marked so", async () => {
    const namespaceId = await newNamespace(store());
    const partition = ownPartition();
    await put(namespaceId, atEnd("any"));
    await end(await begin(namespaceId, partition));
    await store().triggers.delete(namespaceId, "any");
    const found = await store().triggers.ended([partition], 10);
    expect(found).toMatchObject([{ trigger: "any", definition: null }]);
  });

  test("a run has the count of triggers behind it, or behind the runs whose child it is", async () => {
    const namespaceId = await newNamespace(store());
    const partition = ownPartition();
    await put(namespaceId, atEnd("any"));
    const triggered = { trigger: "any", ofRun: newUuid(), depth: 7 };
    const behind = await begin(namespaceId, partition, { triggered });
    const parent = { runId: behind.ref.runId, stepId: "a" };
    const child = await begin(namespaceId, partition, { parent });
    await end(child);
    await end(behind);
    const found = await store().triggers.ended([partition], 10);
    expect(found.map(({ runId, depth }) => [runId, depth])).toEqual([
      [child.ref.runId, 7],
      [behind.ref.runId, 7],
    ]);
  });

  test("the count of triggers behind a run is deleted after its end, once nothing asks for it", async () => {
    const namespaceId = await newNamespace(store());
    const partition = ownPartition();
    await put(namespaceId, atEnd("any"));
    const triggered = { trigger: "any", ofRun: newUuid(), depth: 7 };
    const run = await begin(namespaceId, partition, { triggered });
    const parent = { runId: run.ref.runId, stepId: "a" };
    const forget = () => store().forgetOld(1_000, { triggeredMs: 0 });
    /** As the end of a child of the run has it, which is settled then. */
    const depths = async () => {
      const found = await store().triggers.ended([partition], 10);
      await store().triggers.settle(found.map(({ id }) => ({ id, again: false, began: null })));
      return found.map(({ depth }) => depth);
    };
    await opened().elapse(5);
    await forget();
    await end(await begin(namespaceId, partition, { parent }));
    await end(run);
    await opened().elapse(5);
    await store().forgetOld(1_000);
    await forget();
    expect(await depths()).toEqual([7, 7]);
    await forget();
    await end(await begin(namespaceId, partition, { parent }));
    expect(await depths()).toEqual([0]);
  });
}
