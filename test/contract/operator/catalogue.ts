/** Lists of namespaces, regions, workflows and their versions. */
import { expect, test } from "vitest";
import { NO_LIMITS } from "../../../server/store/namespaces.ts";
import { partitionsOf } from "../../../server/store/partition.ts";
import type { Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import { register } from "../catalogue.ts";
import { cancel, hex, newNamespace, newUuid, type Opened, pass, schedule } from "../fixture.ts";
import { LIMITS } from "../namespaces.ts";

const one = workflow({ a: {} });
const two = workflow({ a: {}, b: {} });

export function describeCatalogueLists(opened: Opened<Store>): void {
  test("a namespace keeps its region, and is listed by its name", async () => {
    const { store } = opened();
    const [a, b] = [`a-${hex(6)}`, `b-${hex(6)}`];
    const region = `eu-${hex(4)}`;
    const made = await store.createNamespace(b, region);
    await store.createNamespace(a);
    expect(await store.createNamespace(b, "default")).toEqual(made);
    const listed = await store.lists.namespaces({ names: [b, a, "unknown"], after: null }, 10);
    expect(listed).toMatchObject([
      { name: a, region: "default" },
      { id: made.id, name: b, region },
    ]);
    expect(await store.lists.namespaces({ names: [b, a], after: a }, 10)).toHaveLength(1);
    expect(await store.lists.namespaces({ names: null, after: null }, 1)).toHaveLength(1);
    const regions = await store.lists.regions();
    expect(regions[0]).toMatchObject({ id: 0, name: "default" });
    expect(regions).toContainEqual({ id: made.region, name: region, watched: 0 });
  });

  test("a namespace is listed with what it keeps and may take", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const record = async () => {
      const all = await store.lists.namespaces({ names: null, after: null }, 10_000);
      return all.find(({ id }) => id === namespaceId);
    };
    expect(await record()).toMatchObject({ retentionMs: null, limits: NO_LIMITS });
    await store.namespaces.setRetention(namespaceId, 3_600_000);
    await store.namespaces.setLimits(namespaceId, LIMITS);
    expect(await record()).toMatchObject({ retentionMs: 3_600_000, limits: LIMITS });
    expect(await record()).toMatchObject({ storesLogs: true });
    await store.namespaces.setLogs(namespaceId, false);
    expect(await record()).toMatchObject({ limits: LIMITS, storesLogs: false });
    await store.namespaces.setRetention(namespaceId, null);
    await store.namespaces.setLimits(namespaceId, NO_LIMITS);
    expect(await record()).toMatchObject({ retentionMs: null, limits: NO_LIMITS });
  });

  test("a region is listed with how many of its partitions are watched", async () => {
    const { store } = opened();
    const [name, region] = [`ns-${newUuid()}`, `region-${newUuid()}`];
    const { region: id } = await store.createNamespace(name, region);
    const session = await store.partitions.join({ node: newUuid(), address: "127.0.0.1:1" });
    await session.tryLock(partitionsOf(id).slice(0, 3));
    const regions = await store.lists.regions();
    expect(regions.find((one) => one.name === region)).toEqual({ id, name: region, watched: 3 });
    await session.leave();
  });

  test("each version is listed with the open runs of its content, newest first", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await register(store, namespaceId, one);
    await register(store, namespaceId, two);
    const first = await schedule(store, one, { namespaceId });
    await schedule(store, one, { namespaceId, version: 0 });
    const open = async (limit = 10) =>
      (await store.lists.versions(namespaceId, ["test", "nothing"], limit)).map(
        ({ version, openRuns }) => [version, openRuns],
      );
    expect(await open()).toEqual([
      [2, 0],
      [1, 2],
    ]);
    await pass(store, first, cancel(false));
    expect(await open()).toEqual([
      [2, 0],
      [1, 1],
    ]);
    expect(await open(1)).toEqual([[2, 0]]);
  });

  test("workflows are listed by name, page by page", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    for (const name of ["car", "air", "bus"])
      await register(store, namespaceId, { ...one, workflow: name });
    await register(store, namespaceId, { ...two, workflow: "bus" }, true);
    const names = async (after: string | null, limit: number) =>
      (await store.lists.workflows(namespaceId, after, limit)).map(({ name }) => name);
    expect(await names(null, 2)).toEqual(["air", "bus"]);
    expect(await names("bus", 2)).toEqual(["car"]);
    const [bus] = await store.lists.workflows(namespaceId, "air", 1);
    expect(bus).toMatchObject({ name: "bus", defaultVersion: 1, latestVersion: 2 });
    expect(bus?.createdAt).toBeGreaterThan(0);
  });
}
