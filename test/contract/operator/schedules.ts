/** Schedules as they are listed. */
import { expect, test } from "vitest";
import type { Store } from "../../../server/store/store.ts";
import { newNamespace, newUuid, type Opened } from "../fixture.ts";
import { NEXT, SPEC } from "../schedules.ts";

export function describeScheduleLists(opened: Opened<Store>): void {
  const store = (): Store => opened().store;
  const make = ({ namespaceId, name }: { namespaceId: number; name: string }) =>
    store().transact({ name: "create" }, (tx) =>
      tx.insertSchedule({
        id: newUuid(),
        namespaceId,
        name,
        partition: 255,
        spec: SPEC,
        next: NEXT,
        pauseReason: null,
      }),
    );

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
