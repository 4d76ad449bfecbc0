/** What servers learn of durations is added up, in any order, for versions of workflows alone. */
import { expect, test } from "vitest";
import { createSketch, GENERATION_SAMPLES, type Sketch } from "../../server/store/sketch.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import { newNamespace, type Opened } from "./fixture.ts";

function sketchOf(ms: readonly number[]): Sketch {
  const sketch = createSketch();
  for (const one of ms) sketch.add(one);
  return sketch;
}

const times = (count: number, ms: number): Sketch => sketchOf(Array(count).fill(ms));

/** The definition of a version of its own. */
async function version(store: EngineStore): Promise<number> {
  const namespaceId = await newNamespace(store);
  const definitionId = await store.internDefinition(namespaceId, workflow({ a: {}, b: {} }));
  await store.registerWorkflow({ namespaceId, name: "w", definitionId, keepDefault: false });
  return definitionId;
}

export function describeDurations(opened: Opened): void {
  test("what several servers have seen is added up, step by step", async () => {
    const { durations } = opened().store;
    const definitionId = await version(opened().store);
    expect(await durations.learned([definitionId])).toEqual([]);
    await Promise.all(
      [10, 20, 30].map((ms) =>
        durations.add([
          { definitionId, step: 1, sketch: times(ms, ms) },
          { definitionId, step: 0, sketch: times(1, ms) },
        ]),
      ),
    );
    expect(await durations.learned([definitionId])).toEqual([
      { definitionId, step: 0, samples: 3, p50Ms: 20, p90Ms: 30, p99Ms: 30 },
      { definitionId, step: 1, samples: 60, p50Ms: 20, p90Ms: 30, p99Ms: 30 },
    ]);
  });

  test("definitions that are no version of a workflow are left out", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const inline = await store.internDefinition(namespaceId, workflow({ a: {} }));
    const definitionId = await version(store);
    await store.durations.add([
      { definitionId: inline, step: 0, sketch: times(5, 10) },
      { definitionId, step: 0, sketch: times(5, 10) },
    ]);
    const learned = await store.durations.learned([inline, definitionId]);
    expect(learned.map((one) => one.definitionId)).toEqual([definitionId]);
  });

  test("only what was asked for is returned, and nothing to an empty query", async () => {
    const { store } = opened();
    const one = await version(store);
    const two = await version(store);
    for (const definitionId of [one, two])
      await store.durations.add([{ definitionId, step: 0, sketch: times(1, 10) }]);
    expect((await store.durations.learned([two])).map((all) => all.definitionId)).toEqual([two]);
    expect(await store.durations.learned([])).toEqual([]);
    await store.durations.add([]);
  });

  test("a service that has changed is learned anew: two generations are stored", async () => {
    const { store } = opened();
    const definitionId = await version(store);
    const p99After = async (ms: number): Promise<number | undefined> => {
      await store.durations.add([{ definitionId, step: 0, sketch: times(GENERATION_SAMPLES, ms) }]);
      return (await store.durations.learned([definitionId]))[0]?.p99Ms;
    };
    expect(await p99After(1_000)).toBeGreaterThanOrEqual(1_000);
    expect(await p99After(10)).toBeGreaterThanOrEqual(1_000);
    expect(await p99After(10)).toBe(10);
  });
}
