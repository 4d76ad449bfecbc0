// Waiters: agents that wait for tasks. Each parked poll is a waiter, and so is each poll that a
// Complete carries.
//
//   waiter: parked → (reserved by a batch → parked again) → settled: served, empty or failed
//
// A claim reserves the capacity of waiters in memory while it queries. It releases them when it has
// nothing for them, or at the end of its transaction, so no waiter is served twice. A reserved
// waiter is not settled before its claim has ended, and its release scans those of its lanes that
// have got work meanwhile. The claims of all shards serve the same waiters.

import type { BatchNo } from "../scheduler/advance.ts";
import type { AgentIdentity, HandedTask } from "./dispatcher.ts";
import type { Asks } from "./lanes.ts";
import type { Taker, WeightedLane } from "./matching.ts";

export interface Waiter {
  readonly id: number;
  readonly agent: AgentIdentity;
  readonly pollSeq: number;
  readonly namespace: string;
  readonly namespaceId: number;
  /** A Complete carries it: only the batch of its reports may serve it. */
  readonly isCarried: boolean;
  /**
   * For a poll carried by Complete: the batch that holds its last report; null while reports are
   * still pending. Served by another batch it would take unrelated tasks, and the successors of its
   * reports would find no agent.
   */
  batch: BatchNo | null;
  readonly places: number;
  readonly asks: Asks;
  lanes: readonly WeightedLane[];
  reserved: boolean;
  over: boolean;
}

type WantedWaiter = Omit<Waiter, "id" | "batch" | "reserved" | "over">;

export interface ServedTasks {
  readonly tasks: readonly HandedTask[];
  /** Monotonic time of the start of the granting transaction. */
  readonly grantedAtMs: number;
}

export interface Parked {
  readonly waiter: Waiter;
  /** Resolves with tasks, or with none once `end` was called and no claim reserves it. */
  readonly served: Promise<ServedTasks>;
  /** The poll stops waiting. */
  end(): void;
}

/** Claims from these lanes soon. Each shard has its own. */
export type Scan = (lanes: ReadonlySet<number>) => unknown;

export interface Waiters {
  park(wanted: WantedWaiter): Parked;
  /**
   * Free waiters of these lanes that `admit` accepts, the longest waiting first. Within a session,
   * the polls that this batch carries come first. Polls that another batch carries are left out,
   * because their calls are answered anyway. `lanes` has to contain all lanes of the polls that the
   * batch carries. Of a lane with thousands of waiters it returns no more than can take `placesMax`
   * rows, but waiters of at least two sessions: a row that one session must not have is for the
   * other.
   */
  waitingFor<T extends Taker>(
    batch: BatchNo | null,
    lanes: ReadonlySet<number>,
    admit: (waiter: Waiter) => T | null,
    placesMax: number,
  ): readonly T[];
  reserve(waiters: readonly Waiter[]): void;
  /** These lanes have work: `release` scans them for each of their waiters that is reserved now. */
  remind(lanes: ReadonlySet<number>, scan: Scan): void;
  /** Settles the waiter with tasks. */
  serve(waiter: Waiter, served: ServedTasks): void;
  fail(waiter: Waiter, error: unknown): void;
  /** Releases waiters that get nothing, and scans their lanes that have got work meanwhile. */
  release(waiters: readonly Waiter[]): void;
  /** Settles all waiters with no tasks, each as soon as no claim reserves it. */
  endAll(): void;
  /** Parked and carried polls. */
  count(): number;
  /** Lanes that these polls ask for. */
  lanes(): readonly number[];
  /**
   * Those, and all that were asked for since the last call: a poll may have been served at once.
   */
  lanesAskedFor(): readonly number[];
  /** The polls whose last reports are in this batch. */
  carriedBy(batch: BatchNo): readonly Waiter[];
  /** Parked and carried polls. */
  all(): readonly Waiter[];
  setLanes(waiter: Waiter, lanes: readonly WeightedLane[]): void;
}

interface Settling {
  readonly resolve: (served: ServedTasks) => void;
  readonly reject: (error: unknown) => void;
}

interface State {
  /** All polls that wait, parked and carried ones, the longest waiting first. */
  readonly waiting: Map<Waiter, Settling>;
  readonly byLane: Map<number, Set<Waiter>>;
  readonly carried: Set<Waiter>;
  /** Of reserved waiters, their lanes that have got work since, by what scans them. */
  readonly reminded: Map<Waiter, Map<Scan, Set<number>>>;
  /** Lanes that were asked for since the last `lanesAskedFor`. */
  askedFor: Set<number>;
  nextId: number;
}

export const NOTHING: ServedTasks = Object.freeze({ tasks: [], grantedAtMs: Number.NaN });

export function createWaiters(): Waiters {
  const state: State = {
    waiting: new Map(),
    byLane: new Map(),
    carried: new Set(),
    reminded: new Map(),
    askedFor: new Set(),
    nextId: 1,
  };
  const { waiting, byLane, carried } = state;
  return Object.freeze({
    park: (wanted) => park(state, wanted),
    waitingFor: (batch, lanes, admit, placesMax) =>
      waitingFor(byLane, batch, lanes, admit, placesMax),
    reserve,
    remind: (lanes, scan) => remind(state, lanes, scan),
    serve: (waiter, served) => void leave(state, waiter)?.resolve(served),
    fail: (waiter, error) => void leave(state, waiter)?.reject(error),
    release: (waiters) => release(state, waiters),
    endAll() {
      for (const waiter of [...waiting.keys()]) end(state, waiter);
    },
    count: () => waiting.size,
    lanes: () => [...byLane.keys()],
    lanesAskedFor: () => lanesAskedFor(state),
    carriedBy: (batch) => [...carried].filter((waiter) => waiter.batch === batch),
    all: () => [...waiting.keys()],
    setLanes: (waiter, lanes) => setLanes(state, waiter, lanes),
  } satisfies Waiters);
}

function park(state: State, wanted: WantedWaiter): Parked {
  const waiter: Waiter = {
    ...wanted,
    id: state.nextId++,
    batch: null,
    reserved: false,
    over: false,
  };
  const served = new Promise<ServedTasks>((resolve, reject) => {
    state.waiting.set(waiter, { resolve, reject });
  });
  if (waiter.isCarried) state.carried.add(waiter);
  enter(state, waiter);
  return {
    waiter,
    served,
    end: () => end(state, waiter),
  };
}

/** The waiter stops waiting; a claim that reserves it now may still serve it. */
function end(state: State, waiter: Waiter): void {
  waiter.over = true;
  if (!waiter.reserved) leave(state, waiter)?.resolve(NOTHING);
}

function leave(state: State, waiter: Waiter): Settling | undefined {
  const settling = state.waiting.get(waiter);
  state.waiting.delete(waiter);
  state.carried.delete(waiter);
  state.reminded.delete(waiter);
  exit(state, waiter);
  return settling;
}

function enter({ byLane, askedFor }: State, waiter: Waiter): void {
  for (const { lane } of waiter.lanes) {
    byLane.set(lane, (byLane.get(lane) ?? new Set()).add(waiter));
    askedFor.add(lane);
  }
}

function exit({ byLane }: State, waiter: Waiter): void {
  for (const { lane } of waiter.lanes) {
    const of = byLane.get(lane);
    of?.delete(waiter);
    if (of?.size === 0) byLane.delete(lane);
  }
}

function setLanes(state: State, waiter: Waiter, lanes: readonly WeightedLane[]): void {
  if (!state.waiting.has(waiter)) return;
  exit(state, waiter);
  waiter.lanes = lanes;
  enter(state, waiter);
}

function lanesAskedFor(state: State): readonly number[] {
  const asked = state.askedFor;
  state.askedFor = new Set();
  return [...asked.union(new Set(state.byLane.keys()))];
}

function waitingFor<T extends Taker>(
  byLane: State["byLane"],
  batch: BatchNo | null,
  lanes: ReadonlySet<number>,
  admit: (waiter: Waiter) => T | null,
  placesMax: number,
): readonly T[] {
  const found = new Map<Waiter, T>();
  for (const lane of lanes) {
    const sessions = new Set<string>();
    let places = 0;
    for (const waiter of byLane.get(lane) ?? []) {
      if (waiter.reserved || waiter.over) continue;
      if (waiter.isCarried && (batch === null || waiter.batch !== batch)) continue;
      const taker = found.get(waiter) ?? admit(waiter);
      if (!taker) continue;
      found.set(waiter, taker);
      if (!taker.lanes.some((one) => one.lane === lane)) continue;
      places += taker.places;
      sessions.add(taker.session);
      if (places >= placesMax && sessions.size > 1) break;
    }
  }
  return carriedFirst([...found.keys()]).flatMap((waiter) => found.get(waiter) ?? []);
}

/** By age. At the turns of a session, its carried polls come before its parked ones. */
function carriedFirst(waiters: readonly Waiter[]): readonly Waiter[] {
  const byAge = waiters.toSorted((a, b) => a.id - b.id);
  if (!byAge.some(({ isCarried }) => isCarried)) return byAge;
  const own = Map.groupBy(byAge, ({ agent }) => agent.session);
  for (const [session, of] of own)
    own.set(session, [
      ...of.filter(({ isCarried }) => isCarried),
      ...of.filter(({ isCarried }) => !isCarried),
    ]);
  return byAge.flatMap(({ agent }) => own.get(agent.session)?.shift() ?? []);
}

function reserve(waiters: readonly Waiter[]): void {
  for (const waiter of waiters) waiter.reserved = true;
}

function remind({ byLane, reminded }: State, lanes: ReadonlySet<number>, scan: Scan): void {
  for (const lane of lanes)
    for (const waiter of byLane.get(lane) ?? []) {
      if (!waiter.reserved) continue;
      const of = reminded.get(waiter) ?? new Map<Scan, Set<number>>();
      reminded.set(waiter, of.set(scan, (of.get(scan) ?? new Set()).add(lane)));
    }
}

function release(state: State, waiters: readonly Waiter[]): void {
  const { reminded } = state;
  const lanes = new Map<Scan, Set<number>>();
  for (const waiter of waiters) {
    waiter.reserved = false;
    if (waiter.over) leave(state, waiter)?.resolve(NOTHING);
    else
      for (const [scan, of] of reminded.get(waiter) ?? [])
        lanes.set(scan, (lanes.get(scan) ?? new Set()).union(of));
    reminded.delete(waiter);
  }
  for (const [scan, of] of lanes) void scan(of);
}
