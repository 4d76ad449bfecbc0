// The one door. Every change of a run passes here: lock the runs, load what the events name, decide
// (pure), write what changed, hand over to whoever waits, commit, then tell. All events share
// flights; a supervisor's count only while it owns the run's partition (fence.ts).
import type { Clock, Random } from "../clock.ts";
import { decide } from "../core/decide.ts";
import { type Answer, type RunEvent, stepsToLoad } from "../core/event.ts";
import { emptyView, isEnded, movingSide, type View } from "../core/model.ts";
import { createFlights, type Landing, type OnFlown } from "../flights.ts";
import type { Actor, PassRecord } from "../store/changes.ts";
import type { LanedPlan, Plans } from "../store/plans.ts";
import type { NewRun, RunHead, RunId, RunRef, Store, TransactOptions, Tx } from "../store/store.ts";
import { NOTHING_WRITTEN } from "../store/written.ts";
import { beginChildren, withEndedChildren } from "./children.ts";
import { fencedOf } from "./fence.ts";
import { flightSize } from "./flight-size.ts";
import { laneOfPass } from "./item-lanes.ts";
import { questionsOf, withQuestions } from "./lane-questions.ts";
import { type MendDeps, mend } from "./mend.ts";
import { rowsBeside, secretOf } from "./rows-beside.ts";
import type { RunTraces } from "./run-traces.ts";
import { passSlotsOn } from "./slots.ts";
import { type Stood, withStood } from "./stood.ts";
import { type Told, told, type Worked } from "./told.ts";
import type { UsualDurations } from "./usual-durations.ts";

const SPACING_MS = 4;
const FULL_AT = 200;
const ITEMS_MAX = 500;
const FLIGHTS_OUT_MAX = 2;
const WAITING_MAX = 20_000;
const LOCK_WAIT_MS = 1_000;

/** On whose behalf a supervisor acts: its node, and the epoch in which it owns the partition. */
export type SupervisorActor = Actor;

export type Advanced = Answer | { readonly kind: "fenced" } | { readonly kind: "no-such-run" };

/** Number of a flight with events on board; each try has its own. */
export type FlightNo = number;

/** Serves waiting agents within a flight, from the lanes that it has filled. */
export interface HandOver {
  /** `flight`: with events on board; null: it begins runs. */
  claim(tx: Tx, lanes: ReadonlySet<number>, flight: FlightNo | null): Promise<Claim | null>;
  /** Hears of runs whose first tasks may be among those that are delivered next. */
  begun(runs: readonly NewRun[]): void;
}

/** Tasks claimed in a transaction, to be handed over once it has committed. */
export interface Claim {
  /**
   * Lanes that have no ready row left, or give none before a moment or an event that somebody waits
   * for: nobody needs to look there.
   */
  readonly drained: ReadonlySet<number>;
  deliver(): void;
  /** The transaction did not commit, or nobody knows. */
  giveUp(error: unknown): void;
}

export interface AdvanceOptions {
  readonly store: Store;
  readonly plans: Plans;
  readonly clock: Clock;
  readonly random: Random;
  readonly handOver: HandOver;
  readonly usual: UsualDurations;
  readonly tell: (told: Told) => void;
  readonly isRetryable: (error: unknown) => boolean;
  readonly stood: Stood;
  readonly onFlown?: OnFlown | undefined;
  readonly onUnmended: MendDeps["onUnmended"];
  /** Left out: children are part of no trace. */
  readonly traces?: RunTraces | undefined;
}

export interface Advance {
  /** `onBoard` hears each time a flight leaves with the event: its hand-over comes after that. */
  submit(
    run: RunRef,
    event: RunEvent,
    actor?: SupervisorActor | null,
    onBoard?: (flight: FlightNo) => void,
  ): Promise<Advanced>;
  idle(): Promise<void>;
}

interface Item {
  readonly run: RunRef;
  readonly event: RunEvent;
  readonly actor: SupervisorActor | null;
  readonly draw: number;
  readonly onBoard: ((flight: FlightNo) => void) | undefined;
}

export function createAdvance(options: AdvanceOptions): Advance {
  const { clock, random } = options;
  const slots = Array.from({ length: FLIGHTS_OUT_MAX }, (_, slot) => slot);
  let flown: FlightNo = 0;

  const flights = createFlights<Item, Advanced>({
    name: "advance",
    clock,
    spacingMs: SPACING_MS,
    fullAt: FULL_AT,
    itemsMax: ITEMS_MAX,
    outMax: FLIGHTS_OUT_MAX,
    waitingMax: WAITING_MAX,
    keyOf: (item) => item.run.runId,
    isRetryable: options.isRetryable,
    onFlown: options.onFlown,
    async fly(items, wait) {
      const flight = ++flown;
      for (const { onBoard } of items) onBoard?.(flight);
      const slot = slots.pop() ?? 0;
      const use = {
        name: "advance",
        leadsWithLock: true,
        ...(wait ? { lockTimeoutMs: LOCK_WAIT_MS } : {}),
      };
      try {
        const work = (tx: Tx) => pass(options, tx, items, { wait, slot });
        return (await commitAndTell(options, use, work, flight)).landings;
      } finally {
        slots.push(slot);
      }
    },
  });

  return Object.freeze({
    submit: (
      run: RunRef,
      event: RunEvent,
      actor: SupervisorActor | null = null,
      onBoard?: (flight: FlightNo) => void,
    ) => flights.submit({ run, event, actor, draw: random.fraction(), onBoard }),
    idle: () => flights.idle(),
  });
}

interface Flown extends Worked {
  readonly landings: readonly Landing<Advanced>[];
}

async function pass(
  options: AdvanceOptions,
  tx: Tx,
  items: readonly Item[],
  { wait, slot }: { wait: boolean; slot: number },
): Promise<Flown> {
  const fenced = await fencedOf(tx, items, slot, ({ run }) => run.partition);
  const free = items.filter((item) => !fenced.has(item));
  const doubted = free.filter(({ event }) => event.kind === "integrity");
  const mended = await mend(options, tx, oncePerRun(doubted));
  // Whoever else is on board sees it put right, with the next flight.
  const live = doubted.length > 0 ? [] : free;
  const heads = await findRuns(tx, live, wait);
  const views = await withQuestions(tx, await loadViews(options, tx, heads, live));
  const answers = new Map<Item, Advanced>();
  for (const item of doubted) answers.set(item, { kind: "done" });
  const records: PassRecord[] = [...mended.records];
  const size = flightSize();
  for (const { head, view, laned, events } of views) {
    // Who has no answer flies again.
    if (size.isFull()) break;
    const decision = decide(laned, view, tx.now, events);
    size.add(decision.effects);
    for (const [{ item }, answer] of decision.answers) answers.set(item, answer);
    if (decision.effects.length === 0) continue;
    const actor = events.find(({ item }) => item.actor)?.item.actor ?? null;
    const { view: after, effects } = decision;
    const laneOf = await laneOfPass(options.store, head.namespaceId, laned, decision);
    const slowAfter = slowAfterOf(options.usual, head);
    records.push({ head, before: view, after, effects, laneOf, slowAfter, actor });
  }
  const passed = await passSlotsOn(tx, records, mended.slots);
  const children = await beginChildren(options, tx, passed.records);
  if (mended.strays.length > 0) await tx.removeStrays(mended.strays);
  if (mended.reopened.length > 0) await tx.reopenRuns(mended.reopened);
  if (children.runs.length > 0) await tx.insertRuns(children.runs);
  const written = records.length > 0 ? await tx.write(children.records) : NOTHING_WRITTEN;
  if (passed.changes.length > 0) await tx.writeSlots(passed.changes);
  const questions = questionsOf(views, records);
  if (questions.length > 0) await tx.writeLaneQuestions(questions);
  return {
    ...{ ...written, records: children.records, begun: children.runs },
    landings: items.map((item) => landing(item, answers, fenced, wait && doubted.length === 0)),
  };
}

/** How long attempts at the steps of a run may take before one is slow. */
export function slowAfterOf(
  usual: UsualDurations,
  { definitionId }: Pick<RunHead, "definitionId">,
): NonNullable<PassRecord["slowAfter"]> {
  return (step) => usual.of(definitionId, step)?.slowAfterMs ?? null;
}

/** A run is examined once for all who doubt it. */
function oncePerRun(items: readonly Item[]): readonly Item[] {
  return [...new Map(items.map((item) => [item.run.runId, item])).values()];
}

function landing(
  item: Item,
  answers: ReadonlyMap<Item, Advanced>,
  fenced: ReadonlySet<Item>,
  wait: boolean,
): Landing<Advanced> {
  if (fenced.has(item)) return { kind: "done", result: { kind: "fenced" } };
  const answer = answers.get(item);
  if (answer) return { kind: "done", result: answer };
  // Nobody holds it and it has not ended: there is no such run.
  return wait ? { kind: "done", result: { kind: "no-such-run" } } : { kind: "again" };
}

async function findRuns(
  tx: Tx,
  items: readonly Item[],
  wait: boolean,
): Promise<readonly RunHead[]> {
  const refs = new Map(items.map(({ run }) => [run.runId, run]));
  const open = refs.size === 0 ? [] : await tx.lockRuns([...refs.values()], wait);
  for (const head of open) refs.delete(head.runId);
  const ended = refs.size === 0 ? [] : await tx.endedRuns([...refs.values()]);
  return [...open, ...ended];
}

interface Loaded {
  readonly head: RunHead;
  readonly view: View;
  readonly laned: LanedPlan;
  readonly events: readonly Judged[];
}

/** An event as it is judged: with the facts that were read after the lock. */
interface Judged {
  readonly item: Item;
  readonly event: RunEvent;
  readonly draw: number;
}

async function loadViews(
  options: AdvanceOptions,
  tx: Tx,
  heads: readonly RunHead[],
  items: readonly Item[],
): Promise<readonly Loaded[]> {
  const byRun = new Map<RunId, Judged[]>();
  for (const item of items) {
    const events = byRun.get(item.run.runId) ?? [];
    byRun.set(item.run.runId, events);
    events.push({ item, event: item.event, draw: item.draw });
  }
  const found = await Promise.all(
    heads.map(async (head) => ({
      head,
      laned: await options.plans.get(head.namespaceId, head.definitionId),
      events: byRun.get(head.runId) ?? [],
    })),
  );
  const wanted = found.flatMap(({ head, laned, events }) => {
    if (isEnded(head.run.state)) return [];
    const of = events.map(({ event }) => event);
    return [{ runId: head.runId, ...stepsToLoad(head.run.state.kind, laned.plan, of) }];
  });
  const steps = wanted.length === 0 ? new Map() : await tx.loadSteps(wanted);
  const views = found.map(({ head, laned, events }) => {
    const view: View = { ...emptyView(head.run), steps: steps.get(head.runId) ?? new Map() };
    return { head, laned, events, view: withStood(view, laned, options.stood) };
  });
  const seen = withSecrets(await withRowsBeside(tx, await withFacts(tx, views)));
  return withBeats(tx, options.usual, await withEndedChildren(tx, options.plans, seen));
}

/** What expressions may ask about, for the steps that the pass has loaded. */
async function withFacts(tx: Tx, loaded: readonly Loaded[]): Promise<readonly Loaded[]> {
  const wanted = loaded.flatMap(({ head, laned: { plan, judge }, view, events }) => {
    if (!judge.needsFacts || isEnded(view.run.state)) return [];
    const of = events.map(({ event }) => event);
    const { whole, places } = stepsToLoad(view.run.state.kind, plan, of);
    const asking = whole ? plan.steps.map(({ no }) => no) : places;
    return [{ runId: head.runId, steps: [...new Set(asking.flatMap(judge.factsFor))] }];
  });
  if (wanted.length === 0) return loaded;
  const facts = await tx.loadFacts(wanted);
  return loaded.map((one) => ({
    ...one,
    view: { ...one.view, facts: facts.get(one.head.runId) ?? null },
  }));
}

/** Rows that events of the pass are about, besides the run and its steps. */
async function withRowsBeside(tx: Tx, loaded: readonly Loaded[]): Promise<readonly Loaded[]> {
  const beside = await rowsBeside(tx, loaded);
  if (!beside) return loaded;
  return loaded.map((one) => {
    const { runId } = one.head;
    const attempts = beside.attempts.get(runId) ?? [];
    const view: View = {
      ...one.view,
      attempts,
      signals: beside.signals.get(runId) ?? [],
      decisions: beside.decisions.get(runId) ?? [],
      escalations: beside.escalations.get(runId) ?? [],
      messages: beside.messages.get(runId) ?? [],
      outputs: beside.outputs.get(runId) ?? new Map(),
    };
    return { ...one, view };
  });
}

/** A callback says which secret it is of by a digest: of the lease, or of an attempt that ended. */
function withSecrets(loaded: readonly Loaded[]): readonly Loaded[] {
  return loaded.map((one) => ({
    ...one,
    events: one.events.map((judged) =>
      judged.event.kind === "callback"
        ? { ...judged, event: { ...judged.event, secret: secretOf(one.view, judged.event) } }
        : judged,
    ),
  }));
}

/** A beat may have come between the supervisor's look and the lock on the lease. */
async function withBeats(
  tx: Tx,
  usual: UsualDurations,
  loaded: readonly Loaded[],
): Promise<readonly Loaded[]> {
  const sessionOf = (view: View, no: number): string | null => {
    const step = view.steps.get(no);
    const state = step ? movingSide(step)?.state : undefined;
    return state?.kind === "LEASED" ? state.session : null;
  };
  const sessions = loaded.flatMap(({ view, events }) =>
    events.flatMap(({ event }) =>
      event.kind === "lease-moment" ? (sessionOf(view, event.step) ?? []) : [],
    ),
  );
  if (sessions.length === 0) return loaded;
  const beats = await tx.lastBeats([...new Set(sessions)]);
  return loaded.map((one) => ({
    ...one,
    events: one.events.map((judged) => {
      if (judged.event.kind !== "lease-moment") return judged;
      const session = sessionOf(one.view, judged.event.step);
      const lastBeatAt = session === null ? null : (beats.get(session) ?? null);
      const known = usual.of(one.head.definitionId, judged.event.step);
      return { ...judged, event: { ...judged.event, lastBeatAt, usual: known } };
    }),
  }));
}

/**
 * A flight that changes runs: its work, the hand-over to agents that wait for what it made ready,
 * the commit; then the tasks are delivered and the others told.
 */
export async function commitAndTell<T extends Worked>(
  options: Pick<AdvanceOptions, "store" | "handOver" | "tell" | "usual" | "clock">,
  use: TransactOptions,
  work: (tx: Tx) => Promise<T>,
  flight: FlightNo | null = null,
): Promise<T> {
  const { store, handOver, tell, usual, clock } = options;
  const claims: Claim[] = [];
  const leftAtMs = clock.monotonicMs();
  const handOverOf = async (tx: Tx, lanes: ReadonlySet<number>) => {
    const claim = await handOver.claim(tx, lanes, flight);
    if (claim) claims.push(claim);
  };
  try {
    const flown = await store.transact(use, async (tx) => {
      const worked = await work(tx);
      await handOverOf(tx, new Set(worked.filled));
      // Whether a queue has limits is known when its lease has gone; most have none.
      const { freed } = await worked.ended;
      const more = freed.filter((lane) => !worked.filled.includes(lane));
      if (more.length > 0) await handOverOf(tx, new Set(more));
      return { worked, left: tx.placeReady(), now: tx.now };
    });
    const [left, ended] = await Promise.all([flown.left, flown.worked.ended]);
    handOver.begun(flown.worked.begun);
    for (const claim of claims) claim.deliver();
    const drained = claims.map((claim) => claim.drained);
    usual.seen(flown.worked.records);
    const out = { name: use.name, ms: clock.monotonicMs() - leftAtMs };
    tell(told(flown.worked, left, ended, drained, flown.now, out));
    return flown.worked;
  } catch (error) {
    for (const claim of claims) claim.giveUp(error);
    throw error;
  }
}
