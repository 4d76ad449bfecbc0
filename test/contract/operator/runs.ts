/** Lists of runs: by creation, in pages, by filter; counted, and by what they are runs of. */
import { beforeAll, expect, test } from "vitest";
import { ANY_RUN, type RunFilter, type RunPage } from "../../../server/store/lists.ts";
import type { RunDefinition } from "../../../server/store/reads.ts";
import type { EngineStore, RunId, Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import { childOf } from "../children.ts";
import {
  cancel,
  claimOne,
  newNamespace,
  type Opened,
  ownPartition,
  pass,
  report,
  type Scheduled,
  schedule,
  success,
} from "../fixture.ts";
import { beginAs } from "../hand-made.ts";

export interface Listed {
  readonly namespaceId: number;
  /** In the order of their creation. */
  readonly runs: readonly Scheduled[];
  readonly createdAt: readonly number[];
}

export function describeRunLists(opened: Opened<Store>): void {
  let listed: Listed | undefined;
  beforeAll(async () => {
    listed = await makeRuns(opened().store);
  });
  const made = (): Listed => {
    if (!listed) throw new Error("the runs were not made");
    return listed;
  };

  async function list(page: Partial<RunPage>, filter: Partial<RunFilter> = {}): Promise<number[]> {
    const { namespaceId, runs } = made();
    const found = await opened().store.lists.runs(namespaceId, {
      filter: { ...ANY_RUN, ...filter },
      order: "created-asc",
      limit: 100,
      after: null,
      ...page,
    });
    return found.map(({ runId }) => runs.findIndex(({ ref }) => ref.runId === runId));
  }

  const idOf = (at: number): RunId => made().runs[at]?.ref.runId ?? "";

  test("runs of the namespace are listed by creation, from either end", async () => {
    expect(await list({})).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await list({ order: "created-desc" })).toEqual([5, 4, 3, 2, 1, 0]);
  });

  test("a page continues after the last run of the one before", async () => {
    expect(await list({ limit: 4 })).toEqual([0, 1, 2, 3]);
    expect(await list({ limit: 4, after: idOf(3) })).toEqual([4, 5]);
    expect(await list({ limit: 4, after: idOf(5) })).toEqual([]);
    expect(await list({ limit: 2, after: idOf(3), order: "created-desc" })).toEqual([2, 1]);
  });

  test("runs are listed by state, of those that are open and of those that have ended", async () => {
    expect(await list({}, { states: ["RUNNING"] })).toEqual([2, 3, 5]);
    expect(await list({}, { states: ["COMPLETED"] })).toEqual([0]);
    expect(await list({}, { states: ["STOPPING"] })).toEqual([4]);
    expect(await list({}, { states: ["CANCELLED", "STOPPING"] })).toEqual([1, 4]);
    expect(await list({}, { states: ["ESCALATED"] })).toEqual([]);
    const twice = { states: ["RUNNING", "RUNNING", "CANCELLED", "CANCELLED"] } as const;
    expect(await list({ limit: 4 }, twice)).toEqual([1, 2, 3, 5]);
  });

  test("runs are listed by workflow", async () => {
    expect(await list({}, { workflow: "odd" })).toEqual([1, 3, 5]);
    expect(await list({}, { workflow: "neither" })).toEqual([]);
  });

  test("runs are listed by labels, all of which must fit", async () => {
    expect(await list({}, { labels: { city: "Bern" } })).toEqual([0, 1, 2]);
    expect(await list({}, { labels: { city: "Bern", half: "1" } })).toEqual([1]);
    expect(await list({}, { labels: { half: "" } })).toEqual([]);
  });

  test("runs are listed from a time on, and up to before another", async () => {
    const { createdAt } = made();
    const [, one = null, , three = null] = createdAt;
    expect(await list({}, { createdAfter: one })).toEqual([1, 2, 3, 4, 5]);
    expect(await list({}, { createdBefore: three })).toEqual([0, 1, 2]);
    expect(await list({}, { createdAfter: one, createdBefore: three })).toEqual([1, 2]);
  });

  test("filters, order and pages go together", async () => {
    const filter = { workflow: "odd", states: ["RUNNING"] } as const;
    expect(await list({ order: "created-desc", limit: 1 }, filter)).toEqual([5]);
    expect(await list({ order: "created-desc", limit: 1, after: idOf(5) }, filter)).toEqual([3]);
  });

  test("a namespace without runs lists none", async () => {
    const { store } = opened();
    const page = { filter: ANY_RUN, order: "created-asc", limit: 10, after: null } as const;
    expect(await store.lists.runs(await newNamespace(store), page)).toEqual([]);
  });

  test("runs are counted by filter, up to a bound, with the time of the query", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    for (const team of ["red", "red", "blue"])
      await schedule(store, workflow({ a: {} }), { namespaceId, labels: { team } });
    const { count, now } = await store.lists.countRuns(namespaceId, ANY_RUN, 10);
    expect(count).toBe(3);
    const [newest] = await store.lists.runs(namespaceId, {
      filter: ANY_RUN,
      order: "created-desc",
      limit: 1,
      after: null,
    });
    expect(now).toBeGreaterThanOrEqual(newest?.createdAt ?? Number.NaN);
    expect(Number.isInteger(now)).toBe(true);
    const red = { ...ANY_RUN, labels: { team: "red" } };
    expect((await store.lists.countRuns(namespaceId, red, 10)).count).toBe(2);
    expect((await store.lists.countRuns(namespaceId, ANY_RUN, 2)).count).toBe(2);
  });

  test("the workflows of runs are listed once each, by name and version, up to a bound", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const seen: RunDefinition[] = [];
    for (const [name, version] of [
      ["a", 1],
      ["b", 1],
      ["a", 1],
      ["b", 2],
    ] as const) {
      const run = await schedule(store, workflow({ [name]: {} }), {
        namespaceId,
        workflow: name,
        version,
        labels: { name },
      });
      seen.push({ workflow: name, version, definitionId: run.definitionId });
    }
    const [a, b, , newer] = seen;
    const list = (most: { runs: number; definitions: number }, filter = ANY_RUN) =>
      store.lists.definitions(namespaceId, filter, most);
    expect(await list({ runs: 9, definitions: 9 })).toEqual([a, b, newer]);
    expect(await list({ runs: 3, definitions: 9 })).toEqual([a, b]);
    expect(await list({ runs: 9, definitions: 1 })).toEqual([a]);
    expect(await list({ runs: 9, definitions: 9 }, { ...ANY_RUN, labels: { name: "b" } })).toEqual([
      b,
      newer,
    ]);
  });

  test("the children of a run can be listed, and no others", async () => {
    const { store } = opened();
    const parent = await beginAs(store, []);
    const child = await childOf(store, parent);
    await childOf(store, await beginAs(store, []));
    const filter = { ...ANY_RUN, parent: parent.ref.runId };
    const page = { filter, order: "created-asc", limit: 10, after: null } as const;
    const listed = await store.lists.runs(parent.namespaceId, page);
    expect(listed.map(({ runId }) => runId)).toEqual([child.ref.runId]);
    expect(await store.lists.countRuns(parent.namespaceId, filter, 10)).toMatchObject({ count: 1 });
  });

  test("a child that began after a time is listed from there on, though its parent had started", async () => {
    const { store } = opened();
    const parent = await beginAs(store, [], { agoMs: 60_000 });
    const { namespaceId } = parent;
    const { runId } = (await childOf(store, parent)).ref;
    const { createdAt = 0 } = (await store.reads.findRun(namespaceId, { runId })) ?? {};
    const list = async (createdAfter: number | null, createdBefore: number | null) => {
      const filter = { ...ANY_RUN, createdAfter, createdBefore };
      const page = { filter, order: "created-desc", limit: 1_000, after: null } as const;
      const found = await store.lists.runs(namespaceId, page);
      const family = [parent.ref.runId, runId];
      return found.map((run) => family.indexOf(run.runId)).filter((place) => place >= 0);
    };
    expect(await list(createdAt, null)).toEqual([1]);
    expect(await list(createdAt, createdAt + 1)).toEqual([1]);
    expect(await list(null, createdAt)).toEqual([0]);
    expect(await list(createdAt + 1, null)).toEqual([]);
  });
}

/** Six runs a minute apart: 0 COMPLETED, 1 CANCELLED, 4 STOPPING, the others RUNNING. */
export async function makeRuns(store: EngineStore): Promise<Listed> {
  const namespaceId = await newNamespace(store);
  const partition = ownPartition();
  const runs: Scheduled[] = [];
  for (const at of [0, 1, 2, 3, 4, 5])
    runs.push(
      await schedule(store, workflow({ a: { task: `t${at}` } }), {
        namespaceId,
        partition,
        agoMs: (6 - at) * 60_000,
        workflow: at % 2 === 1 ? "odd" : "even",
        labels: { city: at < 3 ? "Bern" : "Thun", half: String(at % 2) },
      }),
    );
  const [done, cancelled, , , stopping] = runs;
  if (!done || !cancelled || !stopping) throw new Error("six runs should have been made");
  await pass(store, done, report(await claimOne(store, done), success));
  await pass(store, cancelled, cancel(false));
  await claimOne(store, stopping);
  await pass(store, stopping, cancel(false));
  const createdAt = await Promise.all(
    runs.map(async ({ ref }) => (await store.reads.findRun(namespaceId, ref))?.createdAt ?? 0),
  );
  return { namespaceId, runs, createdAt };
}
