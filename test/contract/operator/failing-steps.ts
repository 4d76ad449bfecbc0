/** Failures by workflow, step and error code, before and after housekeeping has summed them. */
import { expect, test } from "vitest";
import type { Outcome } from "../../../server/core/model/attempt.ts";
import type { Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import {
  claimOne,
  failure,
  newNamespace,
  type Opened,
  pass,
  permanent,
  prepare,
  report,
  type Scheduled,
  schedule,
  success,
} from "../fixture.ts";

const ONCE_MORE: Outcome = {
  kind: "failure",
  class: "permanent",
  code: "broken",
  message: "once more",
  retryAfterMs: null,
  noEffect: true,
};
const BEGINNING = 0;
const ROWS_MAX = 1_000;

export function describeFailingSteps(opened: Opened<Store>): void {
  const begin = (namespaceId: number, name = "w"): Promise<Scheduled> =>
    schedule(opened().store, workflow({ [name]: {} }), { namespaceId, workflow: name });

  async function end(run: Scheduled, outcome: Outcome): Promise<void> {
    await pass(opened().store, run, report(await claimOne(opened().store, run), outcome));
  }

  async function failing(namespaceId: number, limit = 10) {
    const { store } = opened();
    const read = () => store.operators.failingSteps(namespaceId, BEGINNING, limit);
    const before = await read();
    while (await store.forgetOld(ROWS_MAX));
    expect(await read()).toEqual(before);
    return before;
  }

  test("attempts and steps that failed are counted, with the last run and message", async () => {
    const namespaceId = await newNamespace(opened().store);
    await end(await begin(namespaceId), permanent);
    const last = await begin(namespaceId);
    await end(last, ONCE_MORE);
    await end(await begin(namespaceId), success);
    expect(await failing(namespaceId)).toMatchObject([
      {
        workflow: "w",
        step: "w",
        isUndo: false,
        code: "broken",
        attempts: 2,
        steps: 2,
        lastRunId: last.ref.runId,
        lastMessage: "once more",
      },
    ]);
  });

  test("a step that is retried has failed attempts, and has not failed", async () => {
    const namespaceId = await newNamespace(opened().store);
    await end(await begin(namespaceId), failure);
    expect(await failing(namespaceId)).toMatchObject([{ code: "busy", attempts: 1, steps: 0 }]);
  });

  test("workflows and error codes are counted apart, those that fail most first", async () => {
    const namespaceId = await newNamespace(opened().store);
    await end(await begin(namespaceId, "retried"), failure);
    await end(await begin(namespaceId, "retried"), failure);
    await end(await begin(namespaceId, "seldom"), permanent);
    await end(await begin(namespaceId, "often"), permanent);
    await end(await begin(namespaceId, "often"), permanent);
    const found = await failing(namespaceId);
    expect(found.map(({ workflow: of }) => of)).toEqual(["often", "seldom", "retried"]);
    expect(await failing(namespaceId, 2)).toEqual(found.slice(0, 2));
  });

  test("failures of one workflow are those of it among all", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await end(await begin(namespaceId, "mine"), permanent);
    await end(await begin(namespaceId, "mine"), failure);
    await end(await begin(namespaceId, "other"), permanent);
    const of = (limit: number, since = BEGINNING) =>
      store.operators.failingStepsOf(namespaceId, "mine", since, limit);
    const found = await of(10);
    expect(found).toEqual((await failing(namespaceId)).filter(({ workflow: w }) => w === "mine"));
    expect(found).toHaveLength(2);
    expect(await of(10)).toEqual(found);
    expect(await of(1)).toEqual(found.slice(0, 1));
    expect(await of(10, (await store.operators.now()) + 60_000)).toEqual([]);
  });

  test("failures of other namespaces, and of earlier minutes, are left out", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await end(await begin(await newNamespace(store)), permanent);
    expect(await failing(namespaceId)).toEqual([]);
    await end(await begin(namespaceId), permanent);
    const later = (await store.operators.now()) + 60_000;
    expect(await store.operators.failingSteps(namespaceId, later, 10)).toEqual([]);
  });

  test("what a transaction wrote that was taken back is not counted", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const run = await begin(namespaceId);
    const granted = await claimOne(store, run);
    const failed = store.transact({ name: "failing" }, async (tx) => {
      await tx.write([(await prepare(tx, run, [report(granted, permanent)])).record]);
      throw new Error("not today");
    });
    await expect(failed).rejects.toThrow("not today");
    expect(await failing(namespaceId)).toEqual([]);
  });
}
