/**
 * What the tests of the contract share: a store to test, runs in it, and the flights of a server in
 * their shortest form (schedule, claim, pass, look). Each run has a namespace of its own, so lanes
 * are never shared by chance, and a partition that the test may choose.
 *
 * A flight may pretend to have happened `agoMs` ago: that is how moments come to be due without
 * waiting.
 */
import { randomBytes } from "node:crypto";
import { type Decision, decide, type PassItem, start } from "../../server/core/decide.ts";
import { type Definition, type Plan, planOf } from "../../server/core/definition.ts";
import type { Answer, RunEvent } from "../../server/core/event.ts";
import { runWakeAt } from "../../server/core/evolve.ts";
import {
  type Lease,
  movingSide,
  type Outcome,
  type Step,
  type View,
} from "../../server/core/model.ts";
import type { Payload } from "../../server/core/payload.ts";
import type { Actor, PassRecord } from "../../server/store/changes.ts";
import type { Granted, NewRun, RunRef, Store, Tx } from "../../server/store/store.ts";

export interface OpenedStore {
  readonly store: Store;
  /** Turns the clock of a store that has a virtual one; others have their own. */
  elapse(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** The store that the tests of a suite share. */
export type Opened = () => OpenedStore;

export interface Scheduled {
  readonly ref: RunRef;
  readonly plan: Plan;
  readonly namespaceId: number;
  readonly definitionId: number;
  readonly laneOf: PassRecord["laneOf"];
  readonly lanes: readonly number[];
}

export interface ScheduleOptions
  extends Partial<Pick<NewRun, "key" | "priority" | "labels" | "input" | "workflow" | "version">> {
  readonly namespaceId?: number;
  readonly runId?: string;
  readonly partition?: number;
  readonly agoMs?: number;
}

export const json = (text: string): Payload => ({ kind: "json", json: text });
export const hex = (bytes: number): string => randomBytes(bytes).toString("hex");
export const newSession = (): string => hex(16);
export const SESSION = newSession();

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
  const end = `${hex(5)}${partition.toString(16).padStart(2, "0")}`;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-8${hex(2).slice(1)}-${end}`;
}

/** A partition that no other test of this process looks at; the last one is for all the others. */
export function ownPartition(): number {
  if (partitions === 255) throw new Error("no partition is left: tests look at too many");
  return partitions++;
}
let partitions = 0;
const SHARED_PARTITION = 255;

export async function newNamespace(store: Store): Promise<number> {
  return (await store.createNamespace(`ns-${hex(6)}`)).id;
}

export async function schedule(
  store: Store,
  definition: Definition,
  options: ScheduleOptions = {},
): Promise<Scheduled> {
  const placed = await place(store, definition, options);
  return store.transact({ name: "schedule" }, (tx) => insert(tx, placed, options));
}

type Placed = Omit<Scheduled, "ref">;

/** What a run needs before its transaction: its definition, and the lanes of its tasks. */
export async function place(
  store: Store,
  definition: Definition,
  options: ScheduleOptions = {},
): Promise<Placed> {
  const namespaceId = options.namespaceId ?? (await newNamespace(store));
  const definitionId = await store.internDefinition(namespaceId, definition);
  const plan = planOf(definition);
  const tasks = plan.steps.flatMap((step) => [step, ...(step.compensate ? [step.compensate] : [])]);
  const ids = await store.lanes(tasks.map(({ queue, task }) => ({ namespaceId, queue, task })));
  const byName = new Map(tasks.map(({ queue, task }, at) => [`${queue}/${task}`, ids[at] ?? 0]));
  const laneOf: PassRecord["laneOf"] = (no, side) => {
    const step = plan.steps[no];
    const task = side === "forward" ? step : step?.compensate;
    if (!task) throw new Error(`step ${no} has no ${side} task`);
    return { lane: byName.get(`${task.queue}/${task.task}`) ?? 0, task };
  };
  return { plan, namespaceId, definitionId, laneOf, lanes: [...new Set(ids)] };
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
  const { view, effects } = start(plan, at);
  const { run } = view;
  const head = { ...ref, namespaceId, definitionId, priority: options.priority ?? 5, run };
  await tx.insertRuns([
    {
      ...head,
      wakeAt: runWakeAt(run),
      key: options.key ?? null,
      workflow: options.workflow ?? plan.workflow,
      version: options.version ?? 1,
      labels: options.labels ?? {},
      input: options.input ?? null,
      createdAt: at,
    },
  ]);
  const before = { ...view, steps: new Map() };
  await tx.write([{ head, before, after: view, effects, laneOf, actor: null }]);
  return { ...placed, ref };
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

/** A flight of the one door: lock, load, decide, write. */
export function pass(
  store: Store,
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
  const [head] = [...(await tx.lockRuns([run.ref], true)), ...(await tx.endedRuns([run.ref]))];
  if (!head) throw new Error(`run ${run.ref.runId} is not there`);
  const { runId } = run.ref;
  const steps = (await tx.loadSteps([{ runId, steps: "all" }])).get(runId) ?? new Map();
  const keys = events.flatMap((event) =>
    event.kind === "report"
      ? [{ runId, step: event.step, fence: event.fence, task: event.task }]
      : [],
  );
  const attempts = (await tx.loadAttempts(keys)).get(runId) ?? [];
  const before: View = { run: head.run, steps, attempts };
  const items = events.map((event) => ({ event, draw: options.draw ?? 0.5 }));
  const decision = decide(run.plan, before, tx.now - (options.agoMs ?? 0), items);
  const { effects, view: after } = decision;
  const [answer] = decision.answers.values();
  if (!answer) throw new Error("a pass without an answer");
  const { laneOf } = run;
  const record = { head, before, after, effects, laneOf, actor: options.actor ?? null };
  return { ...decision, before, record, answer };
}

/** The run and its steps as they are stored. */
export function look(store: Store, run: Scheduled): Promise<Pick<View, "run" | "steps">> {
  return store.transact({ name: "look" }, async (tx) => {
    const { before } = await prepare(tx, run, [{ kind: "run-moment" }], { agoMs: 1e12 });
    return { run: before.run, steps: before.steps };
  });
}

export async function lookAt(store: Store, run: Scheduled, no: number): Promise<Step> {
  const step = (await look(store, run)).steps.get(no);
  if (!step) throw new Error(`step ${no} has no row`);
  return step;
}

export async function leaseOf(store: Store, run: Scheduled, no: number): Promise<Lease> {
  const moving = movingSide(await lookAt(store, run, no))?.state;
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
  store: Store,
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
  const rows = await tx.lockReady(lanes.map((lane) => ({ lane, limit })));
  return tx.grant(rows.map((ready) => ({ ready, secret: hex(16), session, agentId, pollSeq })));
}

/** Claims the one step that is ready. */
export async function claimOne(
  store: Store,
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
  if (outcome.kind === "undelivered") throw new Error("no agent reports undelivered");
  const { ready, secret, agentId, session } = granted;
  const { step, task, fence } = ready;
  return { kind: "report", step, task, fence, secret, outcome, digest, agentId, session };
}

/** The agent has been silent for ever: the lease is lost. */
export function silence(granted: Granted): RunEvent {
  const { step, fence } = granted.ready;
  return { kind: "lease-moment", step, fence, lastBeatAt: null, watchingSince: 0 };
}

export const cancel = (undo: boolean): RunEvent => ({ kind: "cancel", undo, note: "enough" });

/** A pass so late that every heartbeat, backoff and deadline is over. */
export const LATE = { agoMs: -3_600_000 };
