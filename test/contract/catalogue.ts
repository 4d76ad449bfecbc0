/** Namespaces, definitions by content, versions of workflows, lanes. */
import { expect, test } from "vitest";
import type { Definition } from "../../server/core/definition/definition.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { undoneBy, workflow } from "../support/core-world.ts";
import { cancel, hex, json, newNamespace, type Opened, pass, schedule } from "./fixture.ts";

interface Registered {
  readonly version: number;
  readonly created: boolean;
  readonly definitionId: number;
}

export async function register(
  store: EngineStore,
  namespaceId: number,
  definition: Definition,
  keepDefault = false,
): Promise<Registered> {
  const definitionId = await store.internDefinition(namespaceId, definition);
  const name = definition.workflow;
  const workflowOf = { namespaceId, name, definitionId, keepDefault };
  return { ...(await store.registerWorkflow(workflowOf)), definitionId };
}

const one = workflow({ a: {} });
const two = workflow({ a: {}, b: {} });

export function describeCatalogue(opened: Opened): void {
  test("the namespace `default` is there from the start, another when it was created", async () => {
    const { store } = opened();
    expect(await store.namespace("default")).toMatchObject({ name: "default", region: 0 });
    const name = `ns-${hex(6)}`;
    expect(await store.namespace(name)).toBeNull();
    const created = await store.createNamespace(name);
    expect(await store.namespace(name)).toEqual(created);
    expect(await store.createNamespace(name)).toEqual(created);
  });

  test("a namespace keeps the region that it was made in", async () => {
    const { store } = opened();
    const name = `ns-${hex(6)}`;
    const made = await store.createNamespace(name, `eu-${hex(4)}`);
    expect(made.region).toBeGreaterThan(0);
    expect(await store.createNamespace(name, "default")).toEqual(made);
    expect(await store.namespace(name)).toEqual(made);
  });

  /** Checks this definition alone, as housekeeping checks pages of them. */
  const forgetUnused = async (definitionId: number) => {
    const { store, elapse } = opened();
    await elapse(5);
    const page = { after: definitionId - 1, limit: 1, keptMs: 0 };
    await store.namespaces.forgetDefinitions(page);
  };
  const isThere = (definitionId: number): Promise<boolean> =>
    opened()
      .store.definition(definitionId)
      .then(
        () => true,
        () => false,
      );

  test("a definition that nothing uses goes, once it was seen to be unused for so long", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const id = await store.internDefinition(namespaceId, one);
    await forgetUnused(id);
    expect(await isThere(id)).toBe(true);
    await store.namespaces.forgetDefinitions({ after: id - 1, limit: 1, keptMs: 60_000 });
    expect(await isThere(id)).toBe(true);
    await forgetUnused(id);
    expect(await isThere(id)).toBe(false);
    const again = await store.internDefinition(namespaceId, one);
    expect(again).not.toBe(id);
    expect(await store.definition(again)).toEqual(one);
  });

  test("one that a version of a workflow or a run has stays, also when the run has ended", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const { definitionId } = await register(store, namespaceId, one);
    await register(store, namespaceId, workflow({ newer: {} }));
    const inline = { namespaceId, version: 0 };
    const open = await schedule(store, two, inline);
    const ended = await schedule(store, workflow({ c: {} }), inline);
    await pass(store, ended, cancel(false));
    for (const id of [definitionId, open.definitionId, ended.definitionId]) {
      for (let round = 0; round < 3; round++) await forgetUnused(id);
      expect(await isThere(id)).toBe(true);
    }
    await opened().elapse(5);
    await store.namespaces.forgetRuns({ namespaceId, keptMs: 0, after: null, limit: 10 });
    for (let round = 0; round < 2; round++) await forgetUnused(ended.definitionId);
    expect(await isThere(ended.definitionId)).toBe(false);
  });

  test("one that a caller has just found stays until it is seen to be unused again", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const id = await store.internDefinition(namespaceId, one);
    await forgetUnused(id);
    expect(await store.internDefinition(namespaceId, one)).toBe(id);
    await forgetUnused(id);
    expect(await isThere(id)).toBe(true);
    const run = await schedule(store, one, { namespaceId, version: 0 });
    expect(run.definitionId).toBe(id);
    for (let round = 0; round < 2; round++) await forgetUnused(id);
    expect(await isThere(id)).toBe(true);
  });

  test("pages of definitions are walked to the end, and then begin anew", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const page = { limit: 1, keptMs: 60_000 };
    const ids = [
      await store.internDefinition(namespaceId, one),
      await store.internDefinition(namespaceId, two),
    ];
    const [first = 0, last = 0] = ids.sort((a, b) => a - b);
    const { namespaces } = store;
    const pageAfter = (after: number) => namespaces.forgetDefinitions({ ...page, after });
    expect(await pageAfter(first - 1)).toBe(first);
    expect(await pageAfter(last - 1)).toBe(last);
    expect(await pageAfter(Number.MAX_SAFE_INTEGER)).toBeNull();
  });

  test("the same content has one id in a namespace, however it was put together", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const ids = await Promise.all([
      store.internDefinition(namespaceId, { workflow: "w", timeoutMs: 5, steps: [] }),
      store.internDefinition(namespaceId, { steps: [], timeoutMs: 5, workflow: "w" }),
    ]);
    expect(ids[0]).toBe(ids[1]);
    const other = await store.internDefinition(namespaceId, { workflow: "w", steps: [] });
    expect(other).not.toBe(ids[0]);
    const elsewhere = await newNamespace(store);
    expect(await store.internDefinition(elsewhere, one)).not.toBe(
      await store.internDefinition(namespaceId, one),
    );
  });

  test("nothing is stored in a missing namespace: a fail-over may have lost it", async () => {
    const { store } = opened();
    // No id is negative.
    await expect(store.internDefinition(-1, one)).rejects.toMatchObject({
      reason: "STORE_UNAVAILABLE",
    });
  });

  test("no version has a definition that is not stored: a fail-over may have lost it", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const lost = { namespaceId, name: one.workflow, definitionId: 0, keepDefault: false };
    await expect(store.registerWorkflow(lost)).rejects.toMatchObject({
      reason: "STORE_UNAVAILABLE",
    });
    expect(await store.workflowVersion(namespaceId, one.workflow, "newest")).toBeNull();
    expect(await register(store, namespaceId, one)).toMatchObject({ version: 1, created: true });
  });

  test("a definition is read back as it was written", async () => {
    const { store } = opened();
    const definition = workflow({
      a: {
        input: json('{ "nights" : 2 }'),
        retry: [{ on: ["busy"], attempts: 3, factor: 1.5 }],
        timeouts: { heartbeatMs: 4_000 },
        compensate: undoneBy("undo-a", { queue: "q" }),
        onFailure: "compensate",
      },
      b: { needs: ["a"], input: { kind: "data", contentType: "x/y", data: new Uint8Array([9]) } },
    });
    const id = await store.internDefinition(await newNamespace(store), definition);
    expect(await store.definition(id)).toEqual(definition);
  });

  test("the first version of a workflow is 1, and its default in any case", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const first = await register(store, namespaceId, one, true);
    expect(first).toMatchObject({ version: 1, created: true });
    const { definitionId } = first;
    expect(await store.workflowVersion(namespaceId, "test", 0)).toEqual({
      version: 1,
      definitionId,
      createdAt: expect.any(Number),
    });
  });

  test("new content is the next version and becomes the default, unless the caller refuses that", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await register(store, namespaceId, one);
    const second = await register(store, namespaceId, two);
    expect(second).toMatchObject({ version: 2, created: true });
    const third = await register(store, namespaceId, workflow({ c: {} }), true);
    expect(third).toMatchObject({ version: 3, created: true });
    const { definitionId } = second;
    const byDefault = await store.workflowVersion(namespaceId, "test", 0);
    expect(byDefault).toMatchObject({ version: 2, definitionId });
  });

  test("content that is known under the name makes no version, and moves no default", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await register(store, namespaceId, one);
    await register(store, namespaceId, two);
    expect(await register(store, namespaceId, one)).toMatchObject({ version: 1, created: false });
    expect(await store.workflowVersion(namespaceId, "test", 0)).toMatchObject({ version: 2 });
  });

  test("the default moves to any version, and back; the answer names the one before", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await register(store, namespaceId, one);
    await register(store, namespaceId, two);
    const move = (version: number) => store.setDefaultVersion(namespaceId, "test", version);
    expect(await move(1)).toBe(2);
    expect(await store.workflowVersion(namespaceId, "test", 0)).toMatchObject({ version: 1 });
    expect(await move(1)).toBe(1);
    expect(await move(2)).toBe(1);
    expect(await store.workflowVersion(namespaceId, "test", 0)).toMatchObject({ version: 2 });
  });

  test("the default moves to no version that is not there", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await register(store, namespaceId, one);
    expect(await store.setDefaultVersion(namespaceId, "test", 2)).toBeNull();
    expect(await store.setDefaultVersion(namespaceId, "other", 1)).toBeNull();
    expect(await store.workflowVersion(namespaceId, "test", 0)).toMatchObject({ version: 1 });
  });

  test("registrations of one workflow at once make a version each", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const many = [1, 2, 3, 4].map((n) => workflow({ [`s${n}`]: {} }));
    const made = await Promise.all(many.map((each) => register(store, namespaceId, each)));
    expect(made.map(({ version }) => version).sort()).toEqual([1, 2, 3, 4]);
  });

  test("a version is found by its number, and the newest by being so; what is unknown is not", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const { definitionId } = await register(store, namespaceId, one);
    await register(store, namespaceId, two);
    expect(await store.workflowVersion(namespaceId, "test", 1)).toEqual({
      version: 1,
      definitionId,
      createdAt: expect.any(Number),
    });
    expect(await store.workflowVersion(namespaceId, "test", "newest")).toMatchObject({
      version: 2,
    });
    expect(await store.workflowVersion(namespaceId, "test", 3)).toBeNull();
    expect(await store.workflowVersion(namespaceId, "nothing", "newest")).toBeNull();
    expect(await store.workflowVersion(namespaceId, "nothing", 0)).toBeNull();
    expect(await store.workflowVersion(await newNamespace(store), "test", 1)).toBeNull();
  });

  test("a lane has one id for every server that asks, and ids come in the order of the keys", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const key = (queue: string, task: string) => ({ namespaceId, queue, task });
    const [a = 0, b = 0] = await store.lanes([key("q", "a"), key("q", "b")]);
    expect(a).not.toBe(b);
    expect(await store.lanes([key("q", "b"), key("r", "a"), key("q", "a"), key("q", "b")])).toEqual(
      [b, expect.any(Number), a, b],
    );
    const elsewhere = { ...key("q", "a"), namespaceId: await newNamespace(store) };
    expect(await store.lanes([elsewhere])).not.toEqual([a]);
    const asked = await Promise.all([1, 2, 3].map(() => store.lanes([key("new", "x")])));
    expect(new Set(asked.flat()).size).toBe(1);
  });

  test("the lanes of a queue are those that were ever named in it", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const key = (queue: string, task: string) => ({ namespaceId, queue, task });
    const [a, b] = await store.lanes([key("q", "a"), key("r", "b"), key("other", "c")]);
    const lanes = await store.lanesOfQueues(namespaceId, ["q", "r", "empty"]);
    expect([...lanes].sort((x, y) => (x.queue < y.queue ? -1 : 1))).toEqual([
      { lane: a, queue: "q", task: "a" },
      { lane: b, queue: "r", task: "b" },
    ]);
    expect(await store.lanesOfQueues(await newNamespace(store), ["q"])).toEqual([]);
  });
}
