// A run that is to begin, and its first pass.
import { start } from "../core/decide.ts";
import { runWakeAt } from "../core/evolve.ts";
import { emptyView } from "../core/model/model.ts";
import type { Joined } from "../core/model/permits.ts";
import type { ReusedStep } from "../core/recovery/reuse.ts";
import type { DroverError } from "../errors.ts";
import { type Audit, withDetails } from "../store/audit.ts";
import { partitionOf } from "../store/partition.ts";
import type { PassRecord } from "../store/pass-record.ts";
import type { LanedPlan } from "../store/plans.ts";
import type { RerunOf } from "../store/reads.ts";
import type { NewRun, Tx } from "../store/store.ts";
import { makeRoom } from "./permits.ts";
import type { ScheduleRequest } from "./scheduler.ts";

export interface Resolved {
  readonly laned: LanedPlan;
  readonly workflow: string;
  /** 0: an inline definition. */
  readonly version: number;
}

/** A run that is to begin. */
export interface ScheduleItem extends Resolved {
  readonly request: ScheduleRequest;
  /**
   * The key that makes the call idempotent, and its name in errors; null: the call is not
   * idempotent.
   */
  readonly reserved: { readonly key: string; readonly name: string } | null;
  /** Why the run may not begin. A run that its key names already is returned all the same. */
  readonly refusal: DroverError | null;
  readonly rerunOf: RerunOf | null;
  readonly reused: readonly ReusedStep[];
  /** Recorded with the run; left out: nothing is. */
  readonly audit?: Audit;
}

/** The key whose shard and place the run has; null: it has no key. */
export function placingKey({
  request: { concurrency },
  reserved,
}: Pick<ScheduleItem, "request" | "reserved">): string | null {
  return concurrency?.key ?? reserved?.key ?? null;
}

export interface Scheduled {
  readonly runId: string;
  readonly created: boolean;
}

export interface StartedRun {
  readonly run: NewRun;
  readonly laned: LanedPlan;
  readonly record: PassRecord;
}

/** `joined`: the answer of its concurrency key; null: it has none. */
export function begin(
  tx: Tx,
  item: ScheduleItem,
  runId: string,
  joined: Joined | null,
): StartedRun {
  const { request, laned } = item;
  const facts = {
    run: {
      id: runId,
      workflow: item.workflow,
      version: item.version,
      createdAt: tx.now,
      key: request.key,
      labels: request.labels,
      input: request.input,
    },
    steps: new Map(),
  };
  const { view, effects } = start(laned, tx.now, laned.evaluator.needsFacts ? facts : null, {
    startAt: request.startAt,
    keyed: request.concurrency !== null,
    waits: joined?.answer === "waits",
    reused: item.reused,
  });
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
    notify: request.notify,
    createdAt: tx.now,
    rerunOf: item.rerunOf,
    parent: null,
    concurrency: request.concurrency,
    ...(request.triggered ? { triggered: request.triggered } : {}),
    ...(request.trace ? { trace: request.trace } : {}),
  };
  const { laneOf } = laned;
  const all = [...effects, ...makeRoom(joined?.cancelled ?? null)];
  const audit = item.audit ? [withDetails(item.audit, { new_run: runId })] : [];
  const record = { head: run, before, after: view, effects: all, laneOf, actor: null, audit };
  return { run, laned, record };
}
