/**
 * What the tests of the contract share: a store to test, runs in it, and the batches of a server in
 * their shortest form (schedule, claim, pass, read). Each run has a namespace of its own, so lanes
 * are never shared by chance, and a partition that the test may choose.
 *
 * A batch may pretend to have happened `agoMs` ago: that is how timers come due without
 * waiting.
 */

import { randomBytes } from "node:crypto";
import {
  type Decision,
  decide,
  type PassItem,
  type Rules,
  start,
} from "../../server/core/decide.ts";
import type { Definition } from "../../server/core/definition/definition.ts";
import { runWakeAt } from "../../server/core/evolve.ts";
import type { EpochMs, Outcome } from "../../server/core/model/attempt.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import type { Answer, RunEvent, StepsToLoad } from "../../server/core/model/event.ts";
import {
  emptyView,
  type Lease,
  movingSide,
  type Run,
  type Step,
  type View,
} from "../../server/core/model/model.ts";
import type { Payload } from "../../server/core/model/payload.ts";
import { type Plan, planOf } from "../../server/core/plan/plan.ts";
import type { Actor, LaneOf, PassRecord } from "../../server/store/pass-record.ts";
import { laneOfPlan, tasksOf } from "../../server/store/plans.ts";
import type {
  EngineStore,
  Granted,
  NewRun,
  RunHead,
  RunId,
  RunRef,
  Tx,
} from "../../server/store/store.ts";
import { evaluatorOf } from "../property/random-run.ts";
import { everyRow, WHOLE_RUN } from "../support/rows-to-load.ts";

export interface OpenedStore<S extends EngineStore = EngineStore> {
  readonly store: S;
  /** Turns the clock of a store that has a virtual one; others have their own. */
  elapse(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** The store that the tests of a suite share. */
export type Opened<S extends EngineStore = EngineStore> = () => OpenedStore<S>;

export interface Scheduled {
  readonly ref: RunRef;
  readonly plan: Plan;
  readonly rules: Rules;
  readonly namespaceId: number;
  readonly definitionId: number;
  readonly laneOf: LaneOf;
  readonly lanes: readonly number[];
  /** What its first pass did. */
  readonly effects: readonly Effect[];
}

export interface ScheduleOptions
  extends Partial<
    Pick<
      NewRun,
      | "key"
      | "priority"
      | "labels"
      | "input"
      | "workflow"
      | "version"
      | "notify"
      | "parent"
      | "concurrency"
      | "triggered"
      | "trace"
    >
  > {
  readonly namespaceId?: number;
  readonly runId?: string;
  readonly partition?: number;
  readonly agoMs?: number;
  /** It is to start so much later. */
  readonly startInMs?: number;
  /** It has a concurrency key, and perhaps waits for a permit of it. */
  readonly keyed?: boolean;
  readonly waits?: boolean;
}

export const json = (text: string): Payload => ({ kind: "json", json: text });
export const hex = (bytes: number): string => randomBytes(bytes).toString("hex");
export const newSession = (): string => hex(16);
/** Of the test that runs: a session belongs to one namespace, and each test has its own. */
export let SESSION = newSession();
export function renewSession(): void {
  SESSION = newSession();
}

export function newUuid(): string {
  const id = hex(16);
  return `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-8${id.slice(17, 20)}-${id.slice(20)}`;
}

let made = 0;

/** A UUIDv7: ids made later are greater. The last byte is the partition. */
export function newRunId(at: number, partition: number): string {
  made++;
  const time = Math.floor(at).toString(16).padStart(12, "0");
  const count = (made % 0x1000).toString(16).padStart(3, "0");
  const end = `${hex(5)}${(partition % 256).toString(16).padStart(2, "0")}`;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-8${hex(2).slice(1)}-${end}`;
}

/** A partition that no other test of this process uses; the last one is for all the others. */
export function ownPartition(): number {
  if (partitions === 255) throw new Error("no partition is left: tests use too many");
  return partitions++;
}
let partitions = 0;
export const SHARED_PARTITION = 255;

export async function newNamespace(store: EngineStore): Promise<number> {
  return (await store.createNamespace(`ns-${hex(6)}`)).id;
}

export async function schedule(
  store: EngineStore,
  definition: Definition,
  options: ScheduleOptions = {},
): Promise<Scheduled> {
  const placed = await place(store, definition, options);
  return store.transact({ name: "schedule" }, (tx) => insert(tx, placed, options));
}

export type Placed = Omit<Scheduled, "ref" | "effects">;

/** What a run needs before its transaction: its definition, and the lanes of its tasks. */
export async function place(
  store: EngineStore,
  definition: Definition,
  options: ScheduleOptions = {},
): Promise<Placed> {
  const namespaceId = options.namespaceId ?? (await newNamespace(store));
  const definitionId = await store.internDefinition(namespaceId, definition);
  const plan = planOf(definition);
  const keys = tasksOf(plan).map(({ task }) => ({
    namespaceId,
    queue: task.queue,
    task: task.task,
  }));
  const ids = await store.lanes(keys);
  const laneOf = laneOfPlan(plan, ids);
  const rules = { plan, evaluator: evaluatorOf(definition) };
  return { plan, rules, namespaceId, definitionId, laneOf, lanes: [...new Set(ids)] };
}

/** A view of nothing but a run and its steps. */
export function viewOf(run: Run, steps: ReadonlyMap<number, Step>): View {
  return { ...emptyView(run), steps };
}

/** The first pass of a run, in a transaction. */
export async function insert(
  tx: Tx,
  placed: Placed,
  options: ScheduleOptions = {},
): Promise<Scheduled> {
  const { plan, namespaceId, definitionId, laneOf } = placed;
  const at = tx.now - (options.agoMs ?? 0);
  const partition = options.partition ?? SHARED_PARTITION;
  const ref = { runId: options.runId ?? newRunId(at, partition), partition };
  const started = newRun(plan, { ...ref, namespaceId, definitionId }, options, at);
  const { labels, input, key, version } = started;
  const run = { id: ref.runId, workflow: started.workflow, version, key, labels, input };
  const facts = { run: { ...run, createdAt: at }, steps: new Map() };
  const startAt = options.startInMs === undefined ? null : at + options.startInMs;
  const { view, effects } = start(placed.rules, at, facts, {
    startAt,
    keyed: options.keyed ?? false,
    waits: options.waits ?? false,
  });
  const head = { ...ref, namespaceId, definitionId, priority: started.priority, run: view.run };
  await tx.insertRuns([{ ...started, ...head, wakeAt: runWakeAt(view.run) }]);
  const before = viewOf(view.run, new Map());
  await tx.write([{ head, before, after: view, effects, laneOf, actor: null }]);
  return { ...placed, ref, effects };
}

/** The row of a run that begins, but for its first state. */
export function newRun(
  plan: Plan,
  placed: Pick<NewRun, "runId" | "partition" | "namespaceId" | "definitionId">,
  options: ScheduleOptions,
  at: EpochMs,
): Omit<NewRun, "run" | "wakeAt"> {
  return {
    ...placed,
    priority: options.priority ?? 5,
    key: options.key ?? null,
    workflow: options.workflow ?? plan.workflow,
    version: options.version ?? 1,
    labels: options.labels ?? {},
    input: options.input ?? null,
    notify: options.notify ?? null,
    createdAt: at,
    rerunOf: null,
    parent: options.parent ?? null,
    concurrency: options.concurrency ?? null,
    ...(options.triggered ? { triggered: options.triggered } : {}),
    ...(options.trace ? { trace: options.trace } : {}),
  };
}

export interface PassOptions {
  readonly agoMs?: number;
  readonly draw?: number;
  readonly actor?: Actor;
}

export interface Passed extends Decision<PassItem> {
  readonly before: View;
  readonly record: PassRecord;
  readonly answer: Answer;
}

/** A pass: lock, load, decide, write. */
export function pass(
  store: EngineStore,
  run: Scheduled,
  event: RunEvent,
  options: PassOptions = {},
): Promise<Passed> {
  return store.transact({ name: event.kind }, async (tx) => {
    const decided = await prepare(tx, run, [event], options);
    await tx.write([decided.record]);
    return decided;
  });
}

/** All of a pass but its writing. */
export async function prepare(
  tx: Tx,
  run: Scheduled,
  events: readonly RunEvent[],
  options: PassOptions = {},
): Promise<Passed> {
  const { head, steps } = await lockAndLoad(tx, run.ref);
  const { runId } = run.ref;
  const before = await withEvents(tx, runId, events, viewOf(head.run, steps));
  const items = events.map((event) => ({ event, draw: options.draw ?? 0.5 }));
  const decision = decide(run.rules, before, tx.now - (options.agoMs ?? 0), items);
  const { effects, view: after } = decision;
  const [answer] = decision.answers.values();
  if (!answer) throw new Error("a pass without an answer");
  const { laneOf } = run;
  const record = { head, before, after, effects, laneOf, actor: options.actor ?? null };
  return { ...decision, before, record, answer };
}

/** The ended attempt that an event may be about. */
function fenceOf(view: View, event: RunEvent): readonly { step: number; fence: number }[] {
  if (event.kind === "report" || event.kind === "callback") return [event];
  if (event.kind !== "due-timer" || event.on !== "callback") return [];
  const { step } = event;
  return [{ step, fence: view.steps.get(step)?.fence ?? 0 }];
}

/** What the events of a pass are evaluated by, besides the steps. */
export async function withEvents(
  tx: Tx,
  runId: RunId,
  events: readonly RunEvent[],
  view: View,
): Promise<View> {
  const keys = events.flatMap((event) =>
    fenceOf(view, event).map(({ step, fence }) => ({ runId, step, fence })),
  );
  const asked = events.flatMap((event) => (event.kind === "answer" ? [{ runId, n: event.n }] : []));
  return {
    ...view,
    attempts: (await tx.loadAttempts(keys)).get(runId) ?? [],
    facts: (await tx.loadFacts([{ runId, steps: [...view.steps.keys()] }])).get(runId) ?? null,
    signals: (await tx.loadSignals([runId])).get(runId) ?? [],
    decisions: (await tx.loadDecisions([runId])).get(runId) ?? [],
    escalations: (await tx.loadEscalations(asked)).get(runId) ?? [],
    messages: (await tx.loadMessages([runId])).get(runId) ?? [],
  };
}

/** The run and its steps as they are stored. */
export function readRun(store: EngineStore, run: Scheduled): Promise<Pick<View, "run" | "steps">> {
  return store.transact({ name: "read" }, async (tx) => {
    const { head, steps } = await lockAndLoad(tx, run.ref, everyRow(run.plan));
    return { run: head.run, steps };
  });
}

export async function lockAndLoad(
  tx: Tx,
  ref: RunRef,
  wanted: StepsToLoad = WHOLE_RUN,
): Promise<{ readonly head: RunHead; readonly steps: ReadonlyMap<number, Step> }> {
  const [head] = [...(await tx.lockRuns([ref], true)), ...(await tx.endedRuns([ref]))];
  if (!head) throw new Error(`run ${ref.runId} is not there`);
  const { runId } = ref;
  const steps = (await tx.loadSteps([{ runId, ...wanted }])).get(runId) ?? new Map();
  return { head, steps };
}

export async function readStep(store: EngineStore, run: Scheduled, no: number): Promise<Step> {
  const step = (await readRun(store, run)).steps.get(no);
  if (!step) throw new Error(`step ${no} has no row`);
  return step;
}

export async function leaseOf(store: EngineStore, run: Scheduled, no: number): Promise<Lease> {
  const moving = movingSide(await readStep(store, run, no))?.state;
  if (moving?.kind !== "LEASED") throw new Error(`step ${no} is ${moving?.kind}, not LEASED`);
  return moving;
}

export interface ClaimOptions {
  readonly session?: string;
  readonly pollSeq?: number;
  readonly agentId?: string;
  readonly limit?: number;
}

/** Claims what is ready in the lanes of a run. */
export function claim(
  store: EngineStore,
  { lanes }: Pick<Scheduled, "lanes">,
  options: ClaimOptions = {},
): Promise<readonly Granted[]> {
  return store.transact({ name: "claim" }, (tx) => claimIn(tx, lanes, options));
}

export async function claimIn(
  tx: Tx,
  lanes: readonly number[],
  options: ClaimOptions = {},
): Promise<readonly Granted[]> {
  const { session = SESSION, pollSeq = 1, agentId = "agent-1", limit = 100 } = options;
  const { rows } = await tx.lockReady(lanes.map((lane) => ({ lane, limit })));
  return tx.grant(rows.map((ready) => ({ ready, secret: hex(16), session, agentId, pollSeq })));
}

/** Claims the one step that is ready. */
export async function claimOne(
  store: EngineStore,
  run: Scheduled,
  options: ClaimOptions = {},
): Promise<Granted> {
  const granted = await claim(store, run, options);
  const [first] = granted;
  if (!first || granted.length > 1) throw new Error(`${granted.length} steps were ready, not one`);
  return first;
}

export const success: Outcome = { kind: "success", output: json('{"ok":true}') };
export const failure: Outcome = {
  kind: "failure",
  class: "transient",
  code: "busy",
  message: "try later",
  retryAfterMs: null,
  noEffect: true,
};
export const permanent: Outcome = { ...failure, class: "permanent", code: "broken" };

export function report(granted: Granted, outcome: Outcome, digest = hex(32)): RunEvent {
  if (outcome.kind === "undelivered" || outcome.kind === "unsent" || outcome.kind === "superseded")
    throw new Error(`no agent reports ${outcome.kind}`);
  const { ready, secret, agentId, session } = granted;
  const { step, task, fence } = ready;
  return { kind: "report", step, task, fence, secret, outcome, digest, agentId, session };
}

/** The agent has been silent for long: the lease is lost. */
export function silence(granted: Granted): RunEvent {
  const { step, fence } = granted.ready;
  return { kind: "lease-timer", step, fence, lastHeartbeatAt: null, watchingSince: 0 };
}

export const cancel = (undo: boolean): RunEvent => ({ kind: "cancel", undo, note: "enough" });

/** A pass so late that every heartbeat, backoff and deadline is over. */
export const LATE = { agoMs: -3_600_000 };
