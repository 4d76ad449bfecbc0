/** Filters of runs that go together: the lists by each alone give what the list by two holds. */

import { beforeAll, expect, test } from "vitest";
import { ANY_RUN, type RunFilter, type RunPage } from "../../../server/store/lists.ts";
import type { Store } from "../../../server/store/store.ts";
import type { Opened } from "../fixture.ts";
import { type Listed, makeRuns } from "./runs.ts";

const FILTERS: readonly Partial<RunFilter>[] = [
  { states: ["RUNNING"] },
  { states: ["COMPLETED", "RUNNING"] },
  { states: ["CANCELLED"] },
  { states: ["CANCELLED", "STOPPING", "FAILED"] },
  { substates: ["working"] },
  { substates: ["agent"] },
  { substates: ["retry", "agent"] },
  { workflow: "odd" },
  { labels: { city: "Bern" } },
  { labels: { city: "Thun", half: "1" } },
  { failure: { step: "a", code: null } },
  { failure: { step: null, code: "broken" } },
  { failure: { step: "a", code: "broken" } },
  { failure: { step: "a", code: "other" } },
  { key: { kind: "prefix", prefix: "k" } },
  { key: { kind: "is", key: "key 1" } },
  { endedAfter: 0 },
  { endedBefore: 0 },
];

export function describeRunFilters(opened: Opened<Store>): void {
  let made: Listed | undefined;
  beforeAll(async () => {
    made = await makeRuns(opened().store);
  });

  async function list(filter: Partial<RunFilter>, page: Partial<RunPage> = {}): Promise<string[]> {
    const asked = { filter: { ...ANY_RUN, ...filter }, order: "created-asc", limit: 9 } as const;
    const of = { ...asked, after: null, ...page };
    const runs = await opened().store.lists.runs(made?.namespaceId ?? 0, of);
    return runs.map(({ runId }) => runId);
  }

  test("two filters find what both of them find, in either order and page by page", async () => {
    const [, second = null, , , fifth = null] = made?.createdAt ?? [];
    const filters = [...FILTERS, { createdAfter: second }, { createdBefore: fifth }];
    for (const one of filters)
      for (const other of filters) {
        const isOther = !Object.keys(other).some((field) => field in one);
        if (!isOther) continue;
        const both = { ...one, ...other };
        const first = await list(one);
        const also = await list(other);
        const found = first.filter((run) => also.includes(run));
        expect(await list(both), JSON.stringify(both)).toEqual(found);
        const newest = await list(both, { order: "created-desc", limit: 1 });
        expect(newest).toEqual(found.slice(-1));
        const [oldest = null] = found;
        if (oldest !== null) expect(await list(both, { after: oldest })).toEqual(found.slice(1));
      }
  });
}
