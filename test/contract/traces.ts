/** The trace that a run is part of: stored when it begins, read with its tasks and by itself. */
import { expect, test } from "vitest";
import { undoneBy, workflow } from "../support/core-world.ts";
import { claimOne, type Opened, schedule } from "./fixture.ts";

const TRACE = Object.freeze({
  traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  tracestate: "vendor=1",
});

const definition = workflow({ a: { compensate: undoneBy("undo") } });

export function describeTraces(opened: Opened): void {
  test("a run keeps the trace that it began with, and its tasks carry it", async () => {
    const { store } = opened();
    const run = await schedule(store, definition, { trace: TRACE });
    const granted = await claimOne(store, run);
    expect(await store.taskFacts([granted])).toMatchObject([{ trace: TRACE }]);
    const { runId } = run.ref;
    const traced = await store.reads.tracedRuns([runId, "00000000-0000-7000-8000-000000000000"]);
    expect([...traced.values()]).toEqual([
      {
        runId,
        namespaceId: run.namespaceId,
        definitionId: run.definitionId,
        workflow: "test",
        version: 1,
        createdAt: expect.any(Number),
        trace: TRACE,
        parentId: null,
        rerunOf: null,
      },
    ]);
  });

  test("a run without a trace has none", async () => {
    const { store } = opened();
    const run = await schedule(store, definition);
    const granted = await claimOne(store, run);
    expect(await store.taskFacts([granted])).toMatchObject([{ trace: null }]);
    const traced = await store.reads.tracedRuns([run.ref.runId]);
    expect(traced.get(run.ref.runId)).toMatchObject({ trace: null });
    expect(await store.reads.tracedRuns([])).toEqual(new Map());
  });
}
