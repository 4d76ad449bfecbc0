/** Pins as they are listed, and what a queue shows of them. */
import { expect, test } from "vitest";
import type { Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import { newNamespace, type Opened, schedule } from "../fixture.ts";
import { pinning } from "../pinning.ts";

const ONE = workflow({ a: {} });
const WINDOW_MS = 60_000;

export function describePinLists(opened: Opened<Store>): void {
  const { pin, unpin, versionOf } = pinning(opened);

  test("a queue lists what it keeps for a version beside the rest, while there is something", async () => {
    const { store } = opened();
    const run = await schedule(store, ONE);
    const { namespaceId } = run;
    await pin(run, "2");
    const tasks = async () =>
      (await store.operators.queueTasks(namespaceId, "default")).map(
        ({ task, agentVersion, ready }) => [task, agentVersion, ready],
      );
    expect(await tasks()).toEqual([
      ["a", null, 0],
      ["a", "2", 1],
    ]);
    const { orphans } = await store.operators.attention(namespaceId);
    expect(orphans).toMatchObject([{ queue: "default", task: "a", agentVersion: "2" }]);
    await unpin(run);
    expect(await tasks()).toEqual([["a", null, 1]]);
  });

  test("a person's setting of a circuit is listed once, for all versions of agents", async () => {
    const { store } = opened();
    const run = await schedule(store, ONE);
    const { namespaceId } = run;
    const [base = 0] = run.lanes;
    await pin(run, "2");
    await pin(run, "3");
    await store.circuits.setOverride(
      { lane: base, agentId: "" },
      { forced: "open", by: "ada", why: "" },
    );
    expect(await store.lists.circuits(namespaceId, { after: null, limit: 9 })).toMatchObject([
      { lane: base, agentVersion: null },
    ]);
  });

  test("pins are listed by workflow and version, and the first of two alike stays", async () => {
    const { store } = opened();
    const run = await versionOf({ namespaceId: await newNamespace(store) }, ONE);
    const { namespaceId } = run;
    const list = () => store.lists.pins(namespaceId, "default");
    expect(await list()).toEqual([]);
    await pin(run, "new", 1);
    await pin(run, "old");
    const known = await list();
    expect(known.map(({ version, agentVersion }) => [version, agentVersion])).toEqual([
      [0, "old"],
      [1, "new"],
    ]);
    await pin(run, "old");
    expect(await list()).toEqual(known);
    const { pinned } = await store.circuits.snapshot(WINDOW_MS);
    const definitions = pinned.pins
      .filter((one) => one.namespaceId === namespaceId)
      .map(({ definitionId, agentVersion }) => [definitionId, agentVersion]);
    expect(definitions).toEqual(
      expect.arrayContaining([
        [null, "old"],
        [run.definitionId, "new"],
      ]),
    );
    await unpin(run, 1);
    await unpin(run, 1);
    expect(await list()).toMatchObject([{ version: 0 }]);
  });

  test("a workflow or a version that is not there is not listed as pinned", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    expect(await pin({ namespaceId }, "2")).toBeNull();
    const run = await versionOf({ namespaceId }, ONE);
    expect(await pin(run, "2", 2)).toBeNull();
    expect(await store.lists.pins(namespaceId, "default")).toEqual([]);
  });
}
