/** The cache of plans: what it holds is bounded, by number and by the length of the definitions. */
import { expect, test } from "vitest";
import type { Definition } from "../../server/core/definition/definition.ts";
import { createPlans } from "../../server/store/plans.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { evaluatorOf } from "../property/random-run.ts";
import { workflow } from "../support/core-world.ts";

const DEFINITION = workflow({ a: {} });
const LENGTH = JSON.stringify(DEFINITION).length;
const NAMESPACE = 1;

/** A store of definitions, and the ids of those that were read from it. */
function definitions(definition: (id: number) => Definition = () => DEFINITION) {
  const reads: number[] = [];
  const store: Pick<EngineStore, "definition" | "lanes"> = {
    async definition(id) {
      reads.push(id);
      return definition(id);
    },
    lanes: async (lanes) => lanes.map((_, index) => index),
  };
  return { reads, store };
}

test("a plan is made once, however many ask for it", async () => {
  const { reads, store } = definitions();
  const plans = createPlans(store, evaluatorOf);
  const [first, second] = await Promise.all([plans.get(NAMESPACE, 1), plans.get(NAMESPACE, 1)]);
  expect(second).toBe(first);
  expect(await plans.get(NAMESPACE, 1)).toBe(first);
  expect(reads).toEqual([1]);
});

test("the oldest goes if their definitions are longer than they may be together", async () => {
  const { reads, store } = definitions();
  const plans = createPlans(store, evaluatorOf, 2 * LENGTH);
  for (const id of [1, 2, 3]) await plans.get(NAMESPACE, id);
  for (const id of [3, 2]) await plans.get(NAMESPACE, id);
  expect(reads).toEqual([1, 2, 3]);
  await plans.get(NAMESPACE, 1);
  expect(reads).toEqual([1, 2, 3, 1]);
});

test("a definition that is longer by itself is known until the next", async () => {
  const { reads, store } = definitions();
  const plans = createPlans(store, evaluatorOf, LENGTH - 1);
  for (const id of [1, 1, 2, 2, 1]) await plans.get(NAMESPACE, id);
  expect(reads).toEqual([1, 2, 1]);
});

test("one that cannot be read is asked for again, and takes no room", async () => {
  let broken = true;
  const { reads, store } = definitions(() => {
    if (broken) throw new Error("not now");
    return DEFINITION;
  });
  const plans = createPlans(store, evaluatorOf, LENGTH);
  await expect(plans.get(NAMESPACE, 1)).rejects.toThrow("not now");
  broken = false;
  for (const id of [1, 1]) await plans.get(NAMESPACE, id);
  expect(reads).toEqual([1, 1]);
});
