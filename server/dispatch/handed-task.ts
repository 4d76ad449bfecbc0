// Builds the tasks that agents receive, after the commit of the claim and outside its transaction.
// The input is rendered again from facts that never change, so it is not stored a second time; that
// it can be rendered was checked when the step became ready. A first try of a known run needs no
// query.

import type { Facts } from "../core/model/facts.ts";
import type { Payload } from "../core/model/payload.ts";
import { itemOf, numberOf } from "../core/model/step-key.ts";
import { effectKey } from "../core/model/strategy.ts";
import { nameAt, plannedTask, planStepAt } from "../core/plan/plan.ts";
import type { LanedPlan, Plans } from "../store/plans.ts";
import type { EngineStore, Granted, ReadyRow, RunId, TaskFacts } from "../store/store.ts";
import { readTrace, type TraceContext } from "../store/trace.ts";
import type { HandedTask } from "./dispatcher.ts";
import type { KnownRuns } from "./known-runs.ts";
import { formatCallbackToken, formatTaskToken, type TaskToken } from "./token.ts";
import type { Waiter } from "./waiters.ts";

/** Heartbeats that an agent sends within the silence that would end its lease. */
const HEARTBEATS_PER_LEASE = 3;

/** The span of an attempt, in the trace of its run; null: none. */
export type TaskTrace = (
  trace: TraceContext,
  of: {
    readonly runId: RunId;
    readonly step: number;
    readonly fence: number;
    /** The number of a verify task; 0 for other tasks. */
    readonly n: number;
  },
) => TraceContext | null;

/** Without spans of attempts, the agent's spans are children of the span of the run's caller. */
export const UNTRACED: TaskTrace = (trace) => (readTrace(trace)?.callerId ? trace : null);

/** The leases that a waiter was granted. */
export interface Won {
  readonly waiter: Waiter;
  readonly granted: readonly Granted[];
}

interface Found {
  readonly waiter: Waiter;
  readonly lease: Granted;
  readonly facts: TaskFacts;
  readonly laned: LanedPlan;
}

export interface HandedTaskDeps {
  readonly store: Pick<EngineStore, "taskFacts" | "facts">;
  readonly plans: Plans;
  readonly runs: KnownRuns;
  readonly taskTrace: TaskTrace;
}

export type Handed =
  | { readonly kind: "made"; readonly task: HandedTask }
  /** This task alone has failed: the other tasks of the claim are delivered. */
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * The tasks by their leases, each built by itself. A lease that has ended meanwhile has no task.
 */
export async function handedTasks(
  { store, plans, runs, taskTrace }: HandedTaskDeps,
  won: readonly Won[],
): Promise<ReadonlyMap<Granted, Handed>> {
  const all = await taskFacts(
    store,
    runs,
    won.flatMap(({ granted }) => granted),
  );
  const byLease = new Map(all.map((facts) => [`${facts.runId}/${facts.step}`, facts]));
  const live = won.flatMap(({ waiter, granted }) =>
    granted.flatMap((lease) => {
      const facts = byLease.get(`${lease.ready.runId}/${lease.ready.step}`);
      return facts ? [{ waiter, lease, facts }] : [];
    }),
  );
  const failed = new Map<Granted, Handed>();
  const found: Found[] = [];
  const planned = await Promise.allSettled(
    live.map(({ waiter, facts }) => plans.get(waiter.namespaceId, facts.definitionId)),
  );
  for (const [place, one] of live.entries()) {
    const plan = planned[place];
    if (plan?.status === "fulfilled") found.push({ ...one, laned: plan.value });
    else failed.set(one.lease, { kind: "failed", error: plan?.reason });
  }
  const seen = await factsFor(store, found);
  return new Map([
    ...failed,
    ...found.map((one) => [one.lease, made(one, seen, taskTrace)] as const),
  ]);
}

function made(one: Found, seen: ReadonlyMap<RunId, Facts>, taskTrace: TaskTrace): Handed {
  try {
    return { kind: "made", task: handedTask(one, seen, taskTrace) };
  } catch (error) {
    return { kind: "failed", error };
  }
}

async function taskFacts(
  store: Pick<EngineStore, "taskFacts">,
  runs: KnownRuns,
  leases: readonly Granted[],
): Promise<readonly TaskFacts[]> {
  const known = leases.map(({ ready }) => (ready.isFirstTry ? firstTryFacts(ready, runs) : null));
  const others = leases.filter((_, place) => known[place] === null);
  const found = others.length === 0 ? [] : await store.taskFacts(others);
  for (const facts of found) runs.keep(facts.runId, facts);
  return [...known.filter((facts) => facts !== null), ...found];
}

function firstTryFacts({ runId, step }: ReadyRow, runs: KnownRuns): TaskFacts | null {
  const run = runs.of(runId);
  return run && { runId, step, ...run, ...PLAIN };
}

/** What the task of a first try contains in addition to the data of its run. */
export const PLAIN = Object.freeze({
  lastDetails: null,
  items: null,
  strategy: 0,
  planned: 0,
  changedInput: null,
  output: null,
  effectOf: null,
});

/** The facts that expressions of the tasks use. A plan without expressions needs none. */
async function factsFor(
  store: Pick<EngineStore, "facts">,
  found: readonly Found[],
): Promise<ReadonlyMap<RunId, Facts>> {
  const steps = new Map<RunId, Set<number>>();
  for (const { lease, laned } of found) {
    if (!laned.evaluator.needsFacts) continue;
    const { runId, step } = lease.ready;
    const wanted = steps.get(runId) ?? new Set();
    steps.set(runId, wanted);
    for (const no of laned.evaluator.factsFor(step)) wanted.add(no);
  }
  if (steps.size === 0) return new Map();
  return store.facts([...steps].map(([runId, wanted]) => ({ runId, steps: [...wanted] })));
}

/** The facts for expressions. For a plan without expressions they are those of the run alone. */
function factsOf({ lease, facts, laned }: Found, seen: ReadonlyMap<RunId, Facts>): Facts {
  const { runId: id } = lease.ready;
  const { version, labels, input } = facts;
  const run = { id, workflow: laned.plan.workflow, version, key: null, labels, input };
  return seen.get(id) ?? { run: { ...run, createdAt: 0 }, steps: new Map() };
}

function queueOf(one: Found, written: string, seen: ReadonlyMap<RunId, Facts>): string {
  const evaluated = one.laned.evaluator.queue(one.lease.ready.step, written, factsOf(one, seen));
  return evaluated.kind === "value" ? evaluated.value : written;
}

function inputOf(one: Found, seen: ReadonlyMap<RunId, Facts>): Payload | null {
  const { lease, facts, laned } = one;
  if (facts.changedInput) return facts.changedInput.payload;
  const { runId, step } = lease.ready;
  const evaluated = laned.evaluator.input(step, facts.planned, factsOf(one, seen));
  // A person may have declared the step succeeded although it had no input.
  if (evaluated.kind === "failed" && lease.ready.task === "compensate") return null;
  if (evaluated.kind === "failed")
    throw new Error(
      `the input of step ${step} of run ${runId} could be computed when the step became ready, and cannot be any more: ${evaluated.message}`,
    );
  return evaluated.value;
}

function handedTask(one: Found, seen: ReadonlyMap<RunId, Facts>, taskTrace: TaskTrace): HandedTask {
  const { waiter, lease, facts, laned } = one;
  const { ready } = lease;
  const step = planStepAt(laned.plan, ready.step);
  if (!step) throw new Error(`definition ${facts.definitionId} has no step ${ready.step}`);
  const task = plannedTask(step, ready.task, facts.planned);
  const token: TaskToken = {
    namespace: waiter.namespace,
    runId: ready.runId,
    step: ready.step,
    task: ready.task,
    fence: ready.fence,
    secret: lease.secret,
  };
  const { strategy, items } = facts;
  const run = facts.effectOf ?? ready.runId;
  const effect = effectKey({ run, stepId: step.id, strategy, items });
  const suffix = { perform: "", verify: "v", compensate: "u" }[ready.task];
  return {
    token: formatTaskToken(token),
    callbackToken: formatCallbackToken(token),
    runId: ready.runId,
    stepId: nameAt(laned.plan, numberOf(ready.step)),
    item: itemOf(ready.step) === 0 ? null : itemOf(ready.step) - 1,
    attempt: ready.attempt,
    workflow: laned.plan.workflow,
    version: facts.version,
    kind: ready.task,
    task: task.task,
    queue: queueOf(one, task.queue, seen),
    input: inputOf(one, seen),
    lastDetails: facts.lastDetails,
    output: facts.output,
    idempotencyKey: `${effect}${suffix}`,
    effectKey: ready.task === "perform" ? "" : effect,
    fence: ready.fence,
    leaseMs: ready.heartbeatMs,
    attemptMs: Math.max(0, lease.attemptBy - lease.grantedAt),
    heartbeatIntervalMs: Math.floor(ready.heartbeatMs / HEARTBEATS_PER_LEASE),
    labels: facts.labels,
    trace: facts.trace && taskTrace(facts.trace, tryOf(ready)),
    storesLogs: step.storesLogs,
  };
}

function tryOf({ runId, step, fence, task, attempt }: ReadyRow): Parameters<TaskTrace>[1] {
  return { runId, step, fence, n: task === "verify" ? attempt : 0 };
}
