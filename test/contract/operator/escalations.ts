/** Lists of escalations, page by page. */
import { expect, test } from "vitest";
import type { EngineStore, Store } from "../../../server/store/store.ts";
import { newNamespace, type Opened } from "../fixture.ts";
import { beginAs, passAs } from "../hand-made.ts";
import { asked, closed } from "../people.ts";

export function describeEscalationLists(opened: Opened<Store>): void {
  /** Two runs with two questions each; the first of the first is closed. */
  async function makeRuns(store: EngineStore) {
    const namespaceId = await newNamespace(store);
    const runs = [
      await beginAs(store, [], { namespaceId, agoMs: 60_000, workflow: "older" }),
      await beginAs(store, [], { namespaceId, workflow: "newer" }),
    ] as const;
    for (const run of runs)
      await passAs(store, run, { effects: [asked(1), asked(2, "expired", 1)] });
    await passAs(store, runs[0], { effects: [closed()] });
    return { namespaceId, older: runs[0], newer: runs[1] };
  }

  const all = { openOnly: false, limit: 10, after: null };

  test("escalations of a namespace are listed by run, the newest first, and by number", async () => {
    const { store } = opened();
    const { namespaceId, older, newer } = await makeRuns(store);
    const found = await store.lists.escalations(namespaceId, all);
    expect(found.map(({ workflow, n }) => `${workflow} ${n}`)).toEqual([
      "newer 1",
      "newer 2",
      "older 1",
      "older 2",
    ]);
    expect(found[1]).toEqual({
      runId: newer.ref.runId,
      workflow: "newer",
      definitionId: newer.definitionId,
      n: 2,
      step: 1,
      reason: "expired",
      code: "broken",
      message: "question 2",
      answer: null,
      openedAt: expect.any(Number),
      closedAt: null,
      closedBy: null,
      claim: null,
      deadlineAt: null,
    });
    expect(found[2]).toMatchObject({ runId: older.ref.runId, closedBy: "a late report" });
  });

  test("those that are open are listed alone", async () => {
    const { store } = opened();
    const { namespaceId } = await makeRuns(store);
    const found = await store.lists.escalations(namespaceId, { ...all, openOnly: true });
    expect(found.map(({ workflow, n }) => `${workflow} ${n}`)).toEqual([
      "newer 1",
      "newer 2",
      "older 2",
    ]);
  });

  test("a page continues after the last escalation of the one before", async () => {
    const { store } = opened();
    const { namespaceId, newer, older } = await makeRuns(store);
    const page = async (runId: string, n: number) => {
      const found = await store.lists.escalations(namespaceId, {
        openOnly: false,
        limit: 2,
        after: { runId, n },
      });
      return found.map((one) => `${one.workflow} ${one.n}`);
    };
    expect(await page(newer.ref.runId, 1)).toEqual(["newer 2", "older 1"]);
    expect(await page(newer.ref.runId, 2)).toEqual(["older 1", "older 2"]);
    expect(await page(older.ref.runId, 2)).toEqual([]);
  });

  test("a namespace lists nothing of another", async () => {
    const { store } = opened();
    await makeRuns(store);
    expect(await store.lists.escalations(await newNamespace(store), all)).toEqual([]);
  });
}
