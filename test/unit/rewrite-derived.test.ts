/** The transaction that rewrites derived rows, over the memory store: fence and intervention. */
import { expect, it } from "vitest";
import { systemClock } from "../../server/clock.ts";
import type { CommitSummary } from "../../server/scheduler/commit-summary.ts";
import { createRewriteDerived } from "../../server/scheduler/rewrite-derived.ts";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import type { EngineStore, RunRef, Tx } from "../../server/store/store.ts";
import { cancel, newUuid, ownPartition, pass, schedule } from "../contract/fixture.ts";
import { workflow } from "../support/core-world.ts";
import { NO_TYPICAL_DURATIONS } from "../support/no-typical-durations.ts";

const NOW = 1_767_225_600_000;
const SAW = ["the lease of step 1 was missing", "wake_at was later than a timer of page 0"];

/** A node that owns a partition of a memory store, in which these runs differ. */
async function world() {
  const memory = createMemoryStore({ now: () => NOW, elapsedMs: () => 0 });
  const partition = ownPartition();
  const node = newUuid();
  const session = await memory.partitions.join({ node, address: "here" });
  await session.tryLock([partition]);
  const [taken] = await session.takeOver([partition]);
  if (!taken) throw new Error(`partition ${partition} was not taken`);
  const [differ, asked]: [Set<string>, string[]] = [new Set(), []];
  const rewriteDerived: Tx["rewriteDerived"] = async (runs) => {
    asked.push(...runs.map(({ runId }) => runId));
    return runs.flatMap(({ runId, partition: of }) =>
      differ.has(runId) ? [{ runId, partition: of, saw: SAW }] : [],
    );
  };
  const store: EngineStore = {
    ...memory,
    transact: (use, work) => memory.transact(use, (tx) => work({ ...tx, rewriteDerived })),
  };
  const published: CommitSummary[] = [];
  const rewrite = createRewriteDerived({
    store,
    clock: systemClock,
    typical: NO_TYPICAL_DURATIONS,
    handOver: { claim: async () => null, started: () => undefined, ended: () => undefined },
    publish: (summary) => void published.push(summary),
    onError: (error) => {
      throw error;
    },
  });
  const begin = () => schedule(memory, workflow({ a: {} }), { partition });
  const interventionsOf = async ({ runId }: RunRef) => {
    const wanted = { attempts: false, interventions: true, escalations: false };
    return (await memory.reads.runDetail(runId, wanted))?.interventions ?? [];
  };
  const actor = { node, epoch: taken.epoch };
  return { store, differ, asked, rewrite, begin, interventionsOf, actor, published };
}

it("records what it saw as an intervention of the run, by the node and epoch of the actor", async () => {
  const { differ, rewrite, begin, interventionsOf, actor, published } = await world();
  const [{ ref }, other] = [await begin(), await begin()];
  differ.add(ref.runId);
  const rewritten = await rewrite([ref, other.ref].map((run) => ({ run, actor })));
  expect(rewritten).toEqual([{ ...ref, saw: SAW }]);
  expect(await interventionsOf(ref)).toMatchObject([
    {
      step: null,
      rule: "integrity",
      saw: SAW.join("; "),
      ...actor,
      did: "rewrote its derived rows from its state. This is a defect of Drover: please report it",
    },
  ]);
  expect(await interventionsOf(other.ref)).toEqual([]);
  expect(published.flatMap(({ worked }) => worked.records.map(({ head }) => head.runId))).toEqual([
    ref.runId,
  ]);
});

it("changes nothing of the run itself", async () => {
  const { store, differ, rewrite, begin, actor } = await world();
  const { ref } = await begin();
  differ.add(ref.runId);
  const wanted = { attempts: true, interventions: false, escalations: true };
  const before = await store.reads.runDetail(ref.runId, wanted);
  await rewrite([{ run: ref, actor }]);
  expect(await store.reads.runDetail(ref.runId, wanted)).toEqual(before);
});

it("does nothing for a supervisor that no longer owns the partition in that epoch", async () => {
  const { differ, asked, rewrite, begin, interventionsOf, actor } = await world();
  const { ref } = await begin();
  differ.add(ref.runId);
  const late = { ...actor, epoch: actor.epoch - 1 };
  expect(await rewrite([{ run: ref, actor: late }])).toEqual([]);
  expect(asked).toEqual([]);
  expect(await interventionsOf(ref)).toEqual([]);
});

it("leaves out a run that has ended meanwhile", async () => {
  const { store, differ, asked, rewrite, begin, actor } = await world();
  const run = await begin();
  differ.add(run.ref.runId);
  await pass(store, run, cancel(false));
  expect(await rewrite([{ run: run.ref, actor }])).toEqual([]);
  expect(asked).toEqual([]);
});
