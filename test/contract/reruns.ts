/** Runs that do another one again: what they reuse, as rows, and what an undo of it gets. */
import { expect, test } from "vitest";
import { start } from "../../server/core/decide.ts";
import { runWakeAt } from "../../server/core/evolve.ts";
import { emptyView } from "../../server/core/model/model.ts";
import type { ReusedStep } from "../../server/core/recovery/reuse.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { undoneBy, workflow } from "../support/core-world.ts";
import {
  claimOne,
  json,
  lockAndLoad,
  newRun,
  newRunId,
  newUuid,
  type Opened,
  pass,
  permanent,
  place,
  report,
  type Scheduled,
  SHARED_PARTITION,
} from "./fixture.ts";

const definition = workflow({
  a: { compensate: undoneBy("undo") },
  skipped: { needs: [] },
  b: { needs: ["a", "skipped"], onFailure: "compensate" },
});

function reusedBy(of: string): readonly ReusedStep[] {
  return [
    {
      no: 0,
      as: "SUCCEEDED",
      strategies: [{ planned: 0, changed: true, effectStatus: "MADE" }],
      fence: 3,
      output: json('{"booking":7}'),
      inputs: new Map([[0, json('{"to":"Rome"}')]]),
      of,
    },
    {
      no: 1,
      as: "SKIPPED",
      strategies: [{ planned: 0, changed: false, effectStatus: "NONE" }],
      fence: 0,
      output: null,
      inputs: new Map(),
      of,
    },
  ];
}

async function rerunOf(store: EngineStore, of: string): Promise<Scheduled> {
  const placed = await place(store, definition);
  const { plan, rules, namespaceId, definitionId, laneOf } = placed;
  return store.transact({ name: "rerun" }, async (tx) => {
    const partition = SHARED_PARTITION;
    const ref = { runId: newRunId(tx.now, partition), partition };
    const started = newRun(plan, { ...ref, namespaceId, definitionId }, {}, tx.now);
    const { view, effects } = start(rules, tx.now, null, { reused: reusedBy(of) });
    const head = { ...ref, namespaceId, definitionId, priority: 5, run: view.run };
    const rerunOf = { runId: of, from: "b" };
    await tx.insertRuns([{ ...started, ...head, rerunOf, wakeAt: runWakeAt(view.run) }]);
    const before = emptyView(view.run);
    await tx.write([{ head, before, after: view, effects, laneOf, actor: null }]);
    return { ...placed, ref, effects };
  });
}

const everything = { attempts: true, interventions: false, escalations: false };

export function describeReruns(opened: Opened): void {
  test("what is reused is stored as it ended, with its output and its origin", async () => {
    const { store } = opened();
    const old = newUuid();
    const run = await rerunOf(store, old);
    const { steps } = await store.transact({ name: "read" }, (tx) => lockAndLoad(tx, run.ref));
    expect(new Map([...steps].map(([no, { forward }]) => [no, forward.kind]))).toEqual(
      new Map([
        [0, "SUCCEEDED"],
        [1, "SKIPPED"],
        [2, "READY"],
      ]),
    );
    const { runId } = run.ref;
    const facts = (await store.facts([{ runId, steps: [0, 1, 2] }])).get(runId);
    expect([...(facts?.steps ?? [])]).toEqual([
      [0, { status: "SUCCEEDED", output: json('{"booking":7}'), error: null }],
      [1, { status: "SKIPPED", output: null, error: null }],
    ]);
    const detail = await store.reads.runDetail(runId, everything);
    expect(detail?.run.rerunOf).toEqual({ runId: old, from: "b" });
    expect([...(detail?.reused ?? [])]).toEqual([
      [0, old],
      [1, old],
    ]);
    expect(detail?.attempts).toMatchObject([{ step: 0, kind: "answer", fence: 3 }]);
    expect(await store.reads.changedInputs(runId)).toEqual([
      { step: 0, strategy: 0, input: json('{"to":"Rome"}') },
    ]);
  });

  test("an undo of what is reused gets the input, the output and the run of the effect", async () => {
    const { store } = opened();
    const old = newUuid();
    const run = await rerunOf(store, old);
    const forward = await claimOne(store, run);
    expect(await store.taskFacts([forward])).toMatchObject([{ effectOf: null }]);
    await pass(store, run, report(forward, permanent));
    const undo = await claimOne(store, run);
    expect(undo.ready).toMatchObject({ step: 0, task: "compensate", fence: 4 });
    expect(await store.taskFacts([undo])).toMatchObject([
      {
        effectOf: old,
        changedInput: { payload: json('{"to":"Rome"}') },
        output: json('{"booking":7}'),
      },
    ]);
  });
}
