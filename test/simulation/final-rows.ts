// The rows at the end, and the invariants that hold for them after any faults.

import { keyOfEnd } from "../../server/core/definition/trigger.ts";
import { asks } from "../../server/core/evolve.ts";
import { brokenInvariants } from "../../server/core/invariants.ts";
import {
  emptyView,
  isFinal,
  isUndoLeft,
  movingSide,
  type Run,
  type Step,
  type View,
} from "../../server/core/model/model.ts";
import { ITEMS_MAX } from "../../server/core/model/step-key.ts";
import { countWaits, NO_WAITS, waitOf } from "../../server/core/model/waits.ts";
import { type Plan, planOf } from "../../server/core/plan/plan.ts";
import { partitionOf } from "../../server/store/partition.ts";
import type { RunRef, Store } from "../../server/store/store.ts";
import { everyRow } from "../support/rows-to-load.ts";
import { type EndTrigger, type FinalRows, type FinalRun, finalRun } from "./history-rows.ts";
import type { SimulatedStore } from "./simulated-store.ts";
import type { StoreWitness } from "./store-witness.ts";

export interface AtRest {
  /** Runs that neither ended nor wait for a person. */
  readonly unsettled: readonly string[];
  /** Those, and runs that wait for a person. */
  readonly open: readonly string[];
}

const EVERYTHING = { attempts: true, interventions: true, escalations: true };

async function everyRun(store: SimulatedStore, namespaces: readonly string[]) {
  const found = [];
  for (const name of namespaces) {
    const namespace = await store.namespace(name);
    if (!namespace) throw new Error(`there is no namespace ${name}`);
    const runs = await store.rows.runs(namespace.id);
    found.push(...runs.map((run) => ({ run, namespace })));
  }
  return found;
}

export async function atRest(
  store: SimulatedStore,
  namespaces: readonly string[],
  triggers: readonly EndTrigger[],
  /** Keys whose runs a shard has lost. */
  lostKeys: ReadonlySet<string> = new Set(),
): Promise<AtRest> {
  const runs = await everyRun(store, namespaces);
  const keys = new Set(runs.map(({ run, namespace }) => `${namespace.name} ${run.key}`));
  const isSetOff = (namespace: string, key: string): boolean =>
    keys.has(`${namespace} ${key}`) || lostKeys.has(key);
  const unsettled: string[] = [];
  const open: string[] = [];
  for (const { run, namespace } of runs) {
    if (run.endedAt !== null) {
      for (const { name } of triggers.filter((one) => setsOff(one, namespace.name, run)))
        if (!isSetOff(namespace.name, keyOfEnd(name, run.runId)))
          open.push(`the end of ${run.runId} has set off no ${name}`);
      continue;
    }
    const detail =
      run.state === "ESCALATED" ? await store.reads.runDetail(run.runId, EVERYTHING) : null;
    const asks = detail?.escalations.some(({ closedAt }) => closedAt === null) ?? false;
    open.push(`${run.runId} is ${run.state}`);
    if (!asks) unsettled.push(`${run.runId} is ${run.state}`);
  }
  return { unsettled, open };
}

export function setsOff(
  { namespace, workflow, states }: EndTrigger,
  of: string,
  run: { readonly workflow: string; readonly state: string },
): boolean {
  const isMeant: boolean = states.some((state) => state === run.state);
  return namespace === of && workflow === run.workflow && isMeant;
}

async function refusalsOf(store: SimulatedStore, namespaces: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of namespaces) {
    const namespaceId = (await store.namespace(name))?.id ?? 0;
    const refused = await store.rows.refusals(namespaceId);
    for (const { runId, trigger, reason, message } of refused)
      if (runId !== null) found.push(`${trigger} after ${runId}: ${reason}, ${message}`);
  }
  return found;
}

export async function deliveriesOf(store: SimulatedStore, namespaces: readonly string[]) {
  const found = [];
  for (const namespace of namespaces) {
    const id = (await store.namespace(namespace))?.id ?? 0;
    const all = await store.rows.deliveries(id);
    found.push(...all.map((row) => ({ namespace, ...row })));
  }
  return found;
}

export interface Ended {
  readonly namespaces: readonly string[];
  readonly at: number;
  readonly drained: boolean;
  /** Ids of webhooks that were made of the notifications. */
  readonly deliveriesMade: ReadonlySet<string>;
  readonly triggers: readonly EndTrigger[];
}

export interface Ending {
  readonly rows: FinalRows;
  /** Invariants of the core that a run breaks. */
  readonly broken: readonly string[];
}

export async function finalRows(
  store: SimulatedStore,
  witness: StoreWitness,
  { namespaces, at, drained, deliveriesMade, triggers }: Ended,
  /** Every due time that is still to come, by run. */
  dueAtByRun: ReadonlyMap<string, number>,
): Promise<Ending> {
  const runs: FinalRun[] = [];
  const all = await everyRun(store, namespaces);
  const broken: string[] = [];
  for (const { run, namespace } of all) {
    const partition = partitionOf(namespace.region, run.runId);
    const detail = await store.reads.runDetail(run.runId, EVERYTHING);
    if (!detail) throw new Error(`run ${run.runId} is listed and cannot be read`);
    const wakeAt = dueAtByRun.get(run.runId) ?? null;
    const definition = witness.definitions.get(run.definitionId);
    if (!definition) throw new Error(`definition ${run.definitionId} was never seen`);
    const plan = planOf(definition);
    const steps = new Map([...detail.steps, ...(await itemsOf(store, run.runId, plan))]);
    runs.push(finalRun({ ...detail, steps }, { namespace: namespace.name, partition, wakeAt }));
    const own = store.shards.of(partition);
    broken.push(...(await brokenOf(own, { runId: run.runId, partition }, plan)));
    if (!(await isStored(store, run.definitionId)))
      broken.push(`run ${run.runId} is of definition ${run.definitionId}, which is not stored`);
  }
  const rows: FinalRows = {
    at,
    drained,
    definitions: [...witness.definitions].map(([id, definition]) => ({ id, definition })),
    runs,
    keys: await keysOf(store, witness, namespaces),
    permits: await permitsOf(store, namespaces, runs),
    schedules: await schedulesOf(store, witness, namespaces),
    occurrences: witness.occurrences,
    triggers,
    refusals: await refusalsOf(store, namespaces),
    hooks: await hooksOf(store, namespaces),
    deliveries: (await deliveriesOf(store, namespaces)).map(
      ({ namespace, id, hook, kind, count, runId, n, state, nextTryAt }) => ({
        namespace,
        id,
        hook,
        kind,
        count,
        runId,
        n,
        state,
        nextTryAt,
        made: deliveriesMade.has(id),
      }),
    ),
    owners: [...witness.owners].map(([partition, { node, epoch }]) => ({ partition, node, epoch })),
  };
  return { rows, broken };
}

/** Invariants of the core that the rows of a run break. */
export async function brokenOf(
  store: Pick<Store, "transact">,
  ref: RunRef,
  plan: Plan,
): Promise<readonly string[]> {
  const view = await load(store, ref, plan);
  return brokenInvariants(plan, view).map((problem) => `run ${ref.runId}: ${problem}`);
}

/** The rows of the items of its maps, by their step keys. */
export async function itemsOf(
  store: Pick<Store, "reads">,
  runId: string,
  { steps }: Plan,
): Promise<Map<number, Step>> {
  const found = new Map<number, Step>();
  for (const { no, work } of steps) {
    if (work.kind !== "map") continue;
    const all = { map: no, after: 0, limit: ITEMS_MAX, forwards: null };
    const page = await store.reads.runItems(runId, all);
    for (const [key, item] of page.steps) found.set(key, item);
  }
  return found;
}

async function namesOf(
  store: SimulatedStore,
  namespaces: readonly string[],
): Promise<Map<number, string>> {
  const names = new Map<number, string>();
  for (const name of namespaces) {
    const namespace = await store.namespace(name);
    if (namespace) names.set(namespace.id, name);
  }
  return names;
}

async function schedulesOf(
  store: SimulatedStore,
  { schedules }: StoreWitness,
  namespaces: readonly string[],
): Promise<FinalRows["schedules"]> {
  const names = await namesOf(store, namespaces);
  const ids = schedules.map(({ id }) => id);
  const stored = (
    await Promise.all(store.shards.all.map((shard) => shard.schedules.byId(ids)))
  ).flat();
  return schedules.map(({ id, namespaceId, name, partition, spec, createdAt }) => {
    const { calendar, overlap, catchUpMs, jitterMs } = spec;
    const current = stored.find((one) => one.id === id);
    return {
      id,
      namespace: names.get(namespaceId) ?? "",
      name,
      partition,
      createdAt,
      spec: { calendar, overlap, catchUpMs, jitterMs },
      current: current ? { next: current.next, pause: current.pause } : null,
    };
  });
}

async function keysOf(store: SimulatedStore, witness: StoreWitness, namespaces: readonly string[]) {
  const names = await namesOf(store, namespaces);
  // Those of re-runs are named otherwise, as no caller may name a run.
  const named = [...witness.keys.values()].filter(({ key }) => !key.startsWith("\u0001"));
  return named.map(({ namespaceId, key, runId, digest }) => ({
    namespace: names.get(namespaceId) ?? "",
    key,
    runId,
    digest,
  }));
}

async function hooksOf(
  store: SimulatedStore,
  namespaces: readonly string[],
): Promise<FinalRows["hooks"]> {
  const found: FinalRows["hooks"][number][] = [];
  for (const namespace of namespaces) {
    const all = await store.outbox.hooks((await store.namespace(namespace))?.id ?? 0);
    found.push(...all.map(({ name, events }) => ({ namespace, name, events })));
  }
  return found;
}

async function permitsOf(
  store: SimulatedStore,
  namespaces: readonly string[],
  runs: readonly FinalRun[],
): Promise<FinalRows["permits"]> {
  const found: FinalRows["permits"][number][] = [];
  for (const namespace of namespaces) {
    const namespaceId = (await store.namespace(namespace))?.id ?? 0;
    const keys = runs.flatMap((run) =>
      run.namespace === namespace && run.concurrency ? [run.concurrency.key] : [],
    );
    const wanted = [...new Set(keys)].map((key) => ({ namespaceId, key }));
    const all = await Promise.all(
      store.shards.all.map((shard) =>
        shard.transact({ name: "final" }, (tx) => tx.lockPermits(wanted)),
      ),
    );
    for (const { key, permits } of all.flat())
      found.push(...permits.map(({ runId, holds }) => ({ namespace, key, runId, holds })));
  }
  return found;
}

function isStored(store: SimulatedStore, definitionId: number): Promise<boolean> {
  return store.definition(definitionId).then(
    () => true,
    () => false,
  );
}

function load(store: Pick<Store, "transact">, ref: RunRef, plan: Plan): Promise<View> {
  return store.transact({ name: "final" }, async (tx) => {
    const [open] = await tx.lockRuns([ref], true);
    const [ended] = open ? [] : await tx.endedRuns([ref]);
    const head = open ?? ended;
    if (!head) throw new Error(`run ${ref.runId} is neither open nor ended`);
    const rows = (await tx.loadSteps([{ runId: ref.runId, ...everyRow(plan) }])).get(ref.runId);
    const view: View = { ...emptyView(head.run), steps: rows ?? new Map() };
    return ended ? { ...view, run: counted(view, plan) } : view;
  });
}

/** The counters of a run go with its open row: an ended one is counted anew. */
function counted({ run, steps }: View, plan: Plan): Run {
  const all = [...steps.values()];
  const left = (always: boolean): number =>
    plan.steps.filter((step) => {
      const row = steps.get(step.no);
      return step.always === always && !(row && isFinal(row.forward));
    }).length;
  return {
    ...run,
    moving: all.filter((step) => movingSide(step) !== null).length,
    waits: all.reduce((counts, step) => countWaits(counts, null, waitOf(step)), NO_WAITS),
    asking: all.filter(asks).length,
    undosLeft: all.filter((step) => isUndoLeft(step.undo)).length,
    // A map counts by its items.
    undone: all.filter(({ undo, items }) => undo.kind === "DONE" && !items).length,
    stepsLeft: left(false),
    alwaysLeft: left(true),
  };
}
