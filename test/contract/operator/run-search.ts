/** Runs found by what failed in them, by their keys, and by the time of their end. */
import { beforeAll, describe, expect, test } from "vitest";
import { ANY_RUN, type RunFilter, type RunPage } from "../../../server/store/lists.ts";
import type { Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import {
  cancel,
  claimOne,
  failure,
  newNamespace,
  type Opened,
  pass,
  permanent,
  report,
  type Scheduled,
  schedule,
} from "../fixture.ts";

interface Made {
  readonly namespaceId: number;
  readonly runs: readonly Scheduled[];
  readonly endedAt: readonly (number | null)[];
}

const PAGE = { order: "created-asc", limit: 100, after: null } as const;
const FAILED = { failure: { step: null, code: "broken" } } as const;

export function describeRunSearch(opened: Opened<Store>): void {
  let created: Made | undefined;
  beforeAll(async () => {
    created = await makeRuns(opened().store);
  });
  const made = (): Made => {
    if (!created) throw new Error("the runs were not made");
    return created;
  };

  /** The runs that are found, by their numbers. */
  async function list(
    filter: Partial<RunFilter>,
    page: Partial<RunPage> = {},
  ): Promise<readonly number[]> {
    const { namespaceId, runs } = made();
    const asked = { ...PAGE, filter: { ...ANY_RUN, ...filter }, ...page };
    const found = await opened().store.lists.runs(namespaceId, asked);
    return found.map(({ runId }) => runs.findIndex(({ ref }) => ref.runId === runId));
  }

  const keyed = (prefix: string): Partial<RunFilter> => ({ key: { kind: "prefix", prefix } });

  test("a failure is found by its step, by its error code, and by both", async () => {
    expect(await list({ failure: { step: "hotel", code: null } })).toEqual([0, 1]);
    expect(await list(FAILED)).toEqual([0, 1, 2]);
    expect(await list({ failure: { step: "car", code: "broken" } })).toEqual([2]);
    expect(await list({ failure: { step: "car", code: "busy" } })).toEqual([]);
    expect(await list({ ...FAILED, workflow: "trip" })).toEqual([0]);
    expect(await list({ ...FAILED, states: ["FAILED"] })).toEqual([0, 1]);
  });

  test("a step that is retried has not failed", async () => {
    expect(await list({ failure: { step: null, code: "busy" } })).toEqual([]);
  });

  test("a step about which a person is asked is found as one that failed", async () => {
    expect(await list({ ...FAILED, states: ["ESCALATED"] })).toEqual([2]);
  });

  test("a run is found by its key, and by the beginning of it", async () => {
    expect(await list({ key: { kind: "is", key: "order-1" } })).toEqual([0]);
    expect(await list(keyed("order-1"))).toEqual([0, 4]);
    expect(await list(keyed("order-"))).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await list(keyed("order-"), { order: "created-desc", limit: 2 })).toEqual([5, 4]);
    expect(await list(keyed("ORDER-"))).toEqual([]);
    expect(await list({ ...keyed("order-1"), states: ["FAILED"] })).toEqual([0]);
    expect(await list({ ...keyed("order-1"), states: ["RUNNING"] })).toEqual([4]);
  });

  test.each(["%", "_", "é", "\u{10ffff}"])(
    "the character %s in a key has no other meaning",
    async (mark) => {
      const { store } = opened();
      const namespaceId = await newNamespace(store);
      const run = await schedule(store, workflow({ a: {} }), { namespaceId, key: `${mark}1` });
      await schedule(store, workflow({ a: {} }), { namespaceId, key: "x1" });
      const found = await store.lists.runs(namespaceId, {
        ...PAGE,
        filter: { ...ANY_RUN, ...keyed(mark) },
      });
      expect(found.map(({ runId }) => runId)).toEqual([run.ref.runId]);
    },
  );

  test("runs are found by the time of their end, which open runs do not have", async () => {
    const { endedAt } = made();
    const [, second = null] = endedAt;
    const ended = (is: (at: number) => boolean) =>
      endedAt.flatMap((at, n) => (at !== null && is(at) ? [n] : []));
    const of = second ?? 0;
    expect(await list({ endedAfter: 0 })).toEqual([0, 1, 3]);
    expect(await list({ endedAfter: of })).toEqual(ended((at) => at >= of));
    expect(await list({ endedBefore: of })).toEqual(ended((at) => at < of));
    expect(await list({ endedAfter: of, endedBefore: of + 1 })).toEqual(ended((at) => at === of));
    expect(await list({ endedAfter: 0, states: ["RUNNING"] })).toEqual([]);
    expect(await list({ endedAfter: 0, states: ["FAILED", "RUNNING"] })).toEqual([0, 1]);
    expect(await list({ endedAfter: 0, states: ["CANCELLED", "COMPLETED"] })).toEqual([3]);
    expect(await list({ endedAfter: 0, substates: ["agent"] })).toEqual([]);
  });

  describe("a search that reads a part of the runs alone", () => {
    const ended = { ...ANY_RUN, endedAfter: 0 };
    const page = { ...PAGE, filter: ended, limit: 10, readMax: 2 } as const;

    test("says up to which run it is complete", async () => {
      const { namespaceId, runs } = made();
      const { lists } = opened().store;
      expect(await lists.searchedTo(namespaceId, page)).toBe(runs[1]?.ref.runId);
      const newest = { ...page, order: "created-desc" } as const;
      expect(await lists.searchedTo(namespaceId, newest)).toBe(runs[4]?.ref.runId);
      expect(await list(ended, newest)).toEqual([]);
    });

    test("is complete after its last page, and finds what one page finds", async () => {
      const { namespaceId } = made();
      const found: number[] = [];
      let after: string | null = null;
      do {
        const asked: RunPage = { ...page, after };
        found.push(...(await list(ended, asked)));
        after = await opened().store.lists.searchedTo(namespaceId, asked);
      } while (after !== null);
      expect(found).toEqual(await list(ended));
    });

    test.each<Partial<RunFilter>>([{}, { states: ["FAILED"] }, keyed("order-")])(
      "is never asked to stop if an index finds the runs (%j)",
      async (filter) => {
        const { namespaceId } = made();
        const asked = { ...page, filter: { ...ANY_RUN, ...filter } };
        expect(await opened().store.lists.searchedTo(namespaceId, asked)).toBeNull();
      },
    );
  });
}

/**
 * Six runs: 0 and 1 failed at `hotel`, 2 is escalated at `car`, 3 is cancelled, 4 is RUNNING, and
 * 5 is RUNNING after a failure that is retried.
 */
async function makeRuns(store: Store): Promise<Made> {
  const namespaceId = await newNamespace(store);
  const begin = (at: number, step: string, more: object = {}, name = "order") =>
    schedule(store, workflow({ [step]: { task: `t${at}`, ...more } }), {
      namespaceId,
      agoMs: (6 - at) * 60_000,
      workflow: name,
      key: KEYS[at] ?? "",
    });
  const runs = [
    await begin(0, "hotel", {}, "trip"),
    await begin(1, "hotel"),
    await begin(2, "car", { onFailure: "escalate" }),
    await begin(3, "hotel"),
    await begin(4, "hotel"),
    await begin(5, "hotel", { retry: [{ initialMs: 3_600_000 }] }),
  ];
  for (const run of runs.slice(0, 3)) {
    await pass(store, run, report(await claimOne(store, run), permanent));
  }
  const [, , , cancelled, , retried] = runs;
  if (!cancelled || !retried) throw new Error("six runs should have been made");
  await pass(store, cancelled, cancel(false));
  await pass(store, retried, report(await claimOne(store, retried), failure));
  const records = await Promise.all(runs.map(({ ref }) => store.reads.findRun(namespaceId, ref)));
  return { namespaceId, runs, endedAt: records.map((record) => record?.endedAt ?? null) };
}

const KEYS = ["order-1", "order-2", "order-3", "order-4", "order-10", "order-5"];
