// Accepts runs: reserves the key, stores the run with its first ready steps, and hands those over
// to waiting agents in the same transaction. Many calls share one.
import type { Clock, Random } from "../clock.ts";
import { start } from "../core/decide.ts";
import { runWakeAt } from "../core/evolve.ts";
import { emptyView } from "../core/model.ts";
import { DroverError } from "../errors.ts";
import { createFlights, type Landing } from "../flights.ts";
import type { PassRecord } from "../store/changes.ts";
import { partitionOf } from "../store/partition.ts";
import type { LanedPlan, Plans } from "../store/plans.ts";
import type { KeyHolder, NewRun, Store, Tx } from "../store/store.ts";
import { commitAndTell, type HandOver, type Told } from "./advance.ts";
import { newRunId } from "./run-id.ts";
import type { ScheduleRequest } from "./scheduler.ts";

const SPACING_MS = 4;
const FULL_AT = 200;
const ITEMS_MAX = 500;
const WAITING_MAX = 20_000;
/** A key is kept for 30 days, and at least until its run has ended. */
export const KEY_KEPT_MS = 30 * 24 * 60 * 60 * 1_000;

export interface ScheduleOptions {
  readonly store: Store;
  readonly plans: Plans;
  readonly clock: Clock;
  readonly random: Random;
  readonly handOver: HandOver;
  readonly tell: (told: Told) => void;
  readonly isRetryable: (error: unknown) => boolean;
}

export interface Scheduled {
  readonly runId: string;
  readonly created: boolean;
}

interface Item {
  readonly request: ScheduleRequest;
  readonly laned: LanedPlan;
  readonly workflow: string;
  /** 0: inline. */
  readonly version: number;
}

export function createSchedule(options: ScheduleOptions) {
  const { clock } = options;
  const flights = createFlights<Item, Scheduled>({
    name: "schedule",
    clock,
    spacingMs: SPACING_MS,
    fullAt: FULL_AT,
    itemsMax: ITEMS_MAX,
    outMax: 1,
    waitingMax: WAITING_MAX,
    isRetryable: options.isRetryable,
    async fly(items) {
      const use = { name: "schedule" };
      const flown = await commitAndTell(options, use, (tx) => accept(options, tx, items));
      return flown.landings;
    },
  });

  return Object.freeze({
    async schedule(request: ScheduleRequest): Promise<Scheduled> {
      const found = await resolve(options, request);
      const problem = found.laned.judge.inputProblem(request.input);
      if (problem !== null)
        throw new DroverError(
          "INVALID_REQUEST",
          `The input breaks the workflow's schema: ${problem}`,
          {
            fields: [{ path: "input", message: problem }],
          },
        );
      return flights.submit({ request, ...found });
    },
    idle: () => flights.idle(),
  });
}

/** Finds the definition that the request names, and its plan. */
async function resolve(
  { store, plans }: ScheduleOptions,
  { namespace, target }: ScheduleRequest,
): Promise<Omit<Item, "request">> {
  if (target.kind === "inline") {
    const id = await store.internDefinition(namespace.id, target.definition);
    return {
      laned: await plans.get(namespace.id, id),
      workflow: target.definition.workflow,
      version: 0,
    };
  }
  const found = await store.workflowVersion(namespace.id, target.name, target.version);
  if (!found) {
    const which = target.version === 0 ? "" : ` version ${target.version}`;
    throw new DroverError(
      "WORKFLOW_NOT_FOUND",
      `there is no workflow "${target.name}"${which} in namespace "${namespace.name}": register it first`,
      { metadata: { workflow: target.name, version: String(target.version) } },
    );
  }
  const laned = await plans.get(namespace.id, found.definitionId);
  return { laned, workflow: target.name, version: found.version };
}

async function accept(
  options: ScheduleOptions,
  tx: Tx,
  items: readonly Item[],
): Promise<{ records: readonly PassRecord[]; landings: readonly Landing<Scheduled>[] }> {
  const ids = items.map(() => newRunId(tx.now, options.random));
  const holders = await reserve(tx, items, ids);
  const runs: NewRun[] = [];
  const records: PassRecord[] = [];
  const landings = items.map((item, place): Landing<Scheduled> => {
    const runId = ids[place] ?? "";
    const { key, digest } = item.request;
    const holder = key === null ? null : holders.get(keyOf(item.request, key));
    if (holder && holder.runId !== runId) return known(holder, digest, key ?? "");
    const { run, record } = begin(tx, item, runId);
    runs.push(run);
    records.push(record);
    return { kind: "done", result: { runId, created: true } };
  });
  if (runs.length > 0) {
    await tx.insertRuns(runs);
    await tx.write(records);
  }
  return { records, landings };
}

/** One reservation for each key of the flight: the first call that names it. */
async function reserve(
  tx: Tx,
  items: readonly Item[],
  ids: readonly string[],
): Promise<ReadonlyMap<string, KeyHolder>> {
  const wanted = new Map(
    items
      .map(({ request }, place) => ({ request, runId: ids[place] ?? "" }))
      .reverse()
      .flatMap(({ request, runId }) => {
        const { key, digest, namespace } = request;
        if (key === null) return [];
        const reservation = { namespaceId: namespace.id, key, runId, digest, keepMs: KEY_KEPT_MS };
        return [[keyOf(request, key), reservation] as const];
      }),
  );
  if (wanted.size === 0) return new Map();
  const holders = await tx.reserveKeys([...wanted.values()]);
  return new Map(holders.map((holder) => [`${holder.namespaceId}/${holder.key}`, holder]));
}

function keyOf({ namespace }: ScheduleRequest, key: string): string {
  return `${namespace.id}/${key}`;
}

function known(holder: KeyHolder, digest: string, key: string): Landing<Scheduled> {
  if (holder.digest === digest)
    return { kind: "done", result: { runId: holder.runId, created: false } };
  return {
    kind: "failed",
    error: new DroverError(
      "KEY_REUSED",
      `key "${key}" names run ${holder.runId}, which was scheduled by another request: use a new key for a new run`,
      { metadata: { key, run_id: holder.runId } },
    ),
  };
}

function begin(tx: Tx, item: Item, runId: string): { run: NewRun; record: PassRecord } {
  const { request, laned } = item;
  const facts = {
    run: {
      id: runId,
      workflow: item.workflow,
      version: item.version,
      key: request.key,
      labels: request.labels,
      createdAt: tx.now,
      input: request.input,
    },
    steps: new Map(),
  };
  const { view, effects } = start(laned, tx.now, laned.judge.needsFacts ? facts : null);
  const before = emptyView(view.run);
  const run: NewRun = {
    runId,
    partition: partitionOf(request.namespace.region, runId),
    namespaceId: request.namespace.id,
    definitionId: laned.definitionId,
    priority: request.priority,
    run: view.run,
    wakeAt: runWakeAt(view.run),
    key: request.key,
    workflow: item.workflow,
    version: item.version,
    labels: request.labels,
    input: request.input,
    createdAt: tx.now,
  };
  const { laneOf } = laned;
  return { run, record: { head: run, before, after: view, effects, laneOf, actor: null } };
}
