/** Schedules as they are listed. */
import { expect, test } from "vitest";
import type { Store } from "../../../server/store/store.ts";
import { newNamespace, newUuid, type Opened } from "../fixture.ts";
import { NEXT, SPEC } from "../schedules.ts";

interface Wanted {
  readonly namespaceId: number;
  readonly name: string;
  readonly workflow?: string;
  /** Left out: it is not paused. */
  readonly pauseReason?: string;
}

export function makeSchedule(store: Store, wanted: Wanted): Promise<boolean> {
  const { namespaceId, name, workflow = SPEC.workflow, pauseReason = null } = wanted;
  const spec = { ...SPEC, workflow };
  const placed = { id: newUuid(), partition: 255, next: NEXT };
  return store.transact({ name: "create" }, (tx) =>
    tx.insertSchedule({ ...placed, namespaceId, name, spec, pauseReason }),
  );
}

export function describeScheduleLists(opened: Opened<Store>): void {
  const store = (): Store => opened().store;
  const make = (wanted: Wanted) => makeSchedule(store(), wanted);

  test("schedules are listed by name, page by page", async () => {
    const namespaceId = await newNamespace(store());
    for (const name of ["b", "C", "a"]) await make({ namespaceId, name });
    const list = async (after: string | null) =>
      (await store().lists.schedules(namespaceId, { workflow: null, after, limit: 2 })).map(
        ({ name }) => name,
      );
    expect(await list(null)).toEqual(["C", "a"]);
    expect(await list("a")).toEqual(["b"]);
  });

  test("schedules of one workflow are listed alone, as it is since their last change", async () => {
    const namespaceId = await newNamespace(store());
    for (const name of ["a", "b"]) await make({ namespaceId, name });
    const moved = await store().schedules.find(namespaceId, "b");
    if (!moved) throw new Error("the schedule is not stored");
    await store().transact({ name: "change" }, (tx) =>
      tx.changeSchedule({ ...moved, spec: { ...SPEC, workflow: "other" } }),
    );
    const list = async (workflow: string) => {
      const page = { workflow, after: null, limit: 5 };
      return (await store().lists.schedules(namespaceId, page)).map(({ name }) => name);
    };
    expect(await list(SPEC.workflow)).toEqual(["a"]);
    expect(await list("other")).toEqual(["b"]);
    expect(await list("none")).toEqual([]);
  });
}
