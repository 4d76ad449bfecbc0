// The integrity sweep: a row that nothing will ever wake, a run with no step that can move. Either
// is a bug of ours, and is put right all the same.
//
//   open     walks run_open of our partitions by key, a thousand runs a look, with all their rows
//   strays   walks the rows that belong to open runs alone: of those that are not, or not there
//   lost     walks all runs, ten thousand a look: those that have not ended, and are not open
//   asleep   walks all schedules, ten thousand a look: those that nothing wakes, and are not paused
//   then     a new round, thirty looks after the last began at the soonest
//
// A run that cannot be examined is left out, alone. A page that fails again and again is given up
// for this round, with what is left of its walk: the other walks are made.
//
// It works a tenth of the time at most: where an old snapshot is held, a look walks over all that
// has gone since, and takes seconds or runs into the limit of a statement.
//
// What it doubts is looked at again under the run's lock, by the one door (scheduler/mend.ts): this
// look is without one, and a run that moves meanwhile is left to the next round. A schedule goes
// through the door by which it fires (scheduler/fire.ts).
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { SupervisorConfig } from "../config.ts";
import { examine, NOTHING_FOUND } from "../core/examine.ts";
import { DroverError } from "../errors.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Advance, SupervisorActor } from "../scheduler/advance.ts";
import type { Plans } from "../store/plans.ts";
import type { ScheduleId, ScheduleRef } from "../store/schedules.ts";
import type { RunId, RunRef, Store } from "../store/store.ts";
import type { StoredHead, WalkedRun } from "../store/stored-runs.ts";
import type { Owned } from "./ownership.ts";

const RUNS_MAX = 1_000;
/** Steps and items in one look; a run with more is looked at by itself. */
const ROWS_MAX = 20_000;
const STRAYS_MAX = 1_000;
const LOOKED_THROUGH_MAX = 10_000;
/** Where there is little to walk, a round is over after four looks. */
const LOOKS_A_ROUND = 30;
const REST_BY_WORK = 9;
/** Failures of one page in a row, until the next walk begins. */
const FAILURES_MAX = 3;

export interface SweepOptions {
  readonly store: Pick<Store, "openRuns" | "storedRuns" | "strayRuns" | "unopenedRuns"> & {
    readonly schedules: Pick<Store["schedules"], "asleep">;
  };
  readonly plans: Plans;
  readonly advance: Pick<Advance, "submit">;
  readonly fire: (schedule: ScheduleRef, actor: SupervisorActor) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: Pick<SupervisorConfig, "sweepEveryMs">;
  readonly owner: () => { readonly node: string | null; readonly owned: readonly Owned[] };
  /** A run, a page or an event has failed. */
  readonly onFailed?: (() => void) | undefined;
}

export interface Sweep extends Loop {
  /** A whole round, at once; how many runs and schedules were doubted. */
  roundOnce(): Promise<number>;
  /**
   * How long ago the last whole round began, in milliseconds; or since the start, or since it has
   * owned a partition. A round in which a walk was given up is no whole one.
   */
  roundAgeMs(): number;
  /** Resolves when no event of ours is under way. */
  quiet(): Promise<void>;
}

type Place =
  | { readonly walk: "open"; readonly after: RunRef | null }
  | { readonly walk: "strays"; readonly after: RunId | null }
  | { readonly walk: "lost"; readonly after: RunId | null }
  | { readonly walk: "asleep"; readonly after: ScheduleId | null };

const FIRST: Place = { walk: "open", after: null };
const NEXT_WALK: Readonly<Record<Place["walk"], Place>> = Object.freeze({
  open: { walk: "strays", after: null },
  strays: { walk: "lost", after: null },
  lost: { walk: "asleep", after: null },
  asleep: FIRST,
});

export function createSweep(options: SweepOptions): Sweep {
  const { store, clock, log } = options;
  let place = FIRST;
  let beganAtMs = clock.monotonicMs();
  let lastBeganAtMs = beganAtMs;
  let stopped = false;
  /** Since the last round began, those included that had nothing to do. */
  let looks = LOOKS_A_ROUND;
  let restsUntilMs = beganAtMs;
  let under: Promise<unknown> = Promise.resolve();
  /** Of the page that is next, in a row. */
  let failures = 0;
  let isWhole = true;

  function failed(error: unknown, about: object): void {
    options.onFailed?.();
    log.warn({ event: "sweep.failed", ...about, err: String(error) });
  }

  /** One page; how much of it was doubted. */
  async function look(): Promise<number> {
    const { owned } = options.owner();
    if (owned.length === 0) return 0;
    if (place === FIRST) {
      beganAtMs = clock.monotonicMs();
      isWhole = true;
    }
    const { doubted, next } = await lookAt(place, owned);
    under = submitAll(doubted);
    await under;
    moveTo(next);
    return doubted.length;
  }

  function giveUp(): void {
    isWhole = false;
    moveTo(NEXT_WALK[place.walk]);
  }

  function moveTo(next: Place): void {
    place = next;
    failures = 0;
    if (next === FIRST && isWhole) lastBeganAtMs = beganAtMs;
  }

  function lookAt({ walk, after }: Place, owned: readonly Owned[]): Promise<Looked> {
    switch (walk) {
      case "open":
        return lookAtOpen(owned, after);
      case "strays":
        return lookAtStrays(owned, after);
      case "lost":
        return lookForLost(owned, after);
      case "asleep":
        return lookForAsleep(owned, after);
    }
  }

  async function lookAtOpen(owned: readonly Owned[], after: RunRef | null): Promise<Looked> {
    const partitions = owned.map(({ partition }) => partition).sort((a, b) => a - b);
    const runs = await store.openRuns(partitions, after, RUNS_MAX);
    const doubted: RunRef[] = [];
    for (const page of pagesOf(runs)) {
      const stored = await storedOf(page);
      for (const run of page) {
        const head = stored.get(run.runId);
        if (head && (await isDoubted(run, head))) doubted.push(run);
      }
    }
    const last = runs.length < RUNS_MAX ? null : (runs.at(-1) ?? null);
    return {
      doubted,
      next: last ? { walk: "open", after: last } : { walk: "strays", after: null },
    };
  }

  /** Where one run of a page cannot be read, each is read by itself. */
  async function storedOf(page: readonly WalkedRun[]): Promise<ReadonlyMap<RunId, StoredHead>> {
    try {
      return await store.storedRuns(page);
    } catch (error) {
      if (error instanceof DroverError) throw error;
      const [only] = page;
      if (page.length > 1) {
        const each: (readonly [RunId, StoredHead])[] = [];
        for (const run of page) each.push(...(await storedOf([run])));
        return new Map(each);
      }
      failed(error, { run: only?.runId });
      return new Map();
    }
  }

  async function isDoubted(run: WalkedRun, head: StoredHead): Promise<boolean> {
    try {
      return await doubts(run, head);
    } catch (error) {
      if (error instanceof DroverError) throw error;
      failed(error, { run: run.runId });
      return false;
    }
  }

  async function doubts(run: WalkedRun, head: StoredHead): Promise<boolean> {
    const { stored, namespaceId, definitionId, now } = head;
    // It has ended meanwhile, or moved on.
    if (!stored.open || stored.open.run.version !== run.version) return false;
    if (stored.row !== "open") return true;
    const { plan } = await options.plans.get(namespaceId, definitionId);
    return examine(plan, stored, now).findings.length > 0;
  }

  async function lookAtStrays(owned: readonly Owned[], after: RunId | null): Promise<Looked> {
    const { runs, last } = await store.strayRuns(after, STRAYS_MAX);
    const next: Place =
      last === null ? { walk: "lost", after: null } : { walk: "strays", after: last };
    return { doubted: ofOurs(owned, runs), next };
  }

  async function lookForLost(owned: readonly Owned[], after: RunId | null): Promise<Looked> {
    const { runs, last } = await store.unopenedRuns(after, LOOKED_THROUGH_MAX);
    const next: Place =
      last === null ? { walk: "asleep", after: null } : { walk: "lost", after: last };
    return { doubted: ofOurs(owned, runs), next };
  }

  async function lookForAsleep(owned: readonly Owned[], after: ScheduleId | null): Promise<Looked> {
    const { schedules, last } = await store.schedules.asleep(after, LOOKED_THROUGH_MAX);
    const next: Place = last === null ? FIRST : { walk: "asleep", after: last };
    return { doubted: ofOurs(owned, schedules), next };
  }

  function ofOurs<Ref extends Doubted>(
    owned: readonly Owned[],
    all: readonly Ref[],
  ): readonly Ref[] {
    const ours = new Set(owned.map(({ partition }) => partition));
    return all.filter(({ partition }) => ours.has(partition));
  }

  /** Of what is still ours: a look takes long, and partitions are handed back meanwhile. */
  async function submitAll(doubted: readonly Doubted[]): Promise<void> {
    const { node, owned } = options.owner();
    const epochs = new Map(owned.map(({ partition, epoch }) => [partition, epoch]));
    await Promise.all(
      doubted.map(async (one) => {
        const epoch = epochs.get(one.partition);
        if (node !== null && epoch !== undefined) await submit(one, { node, epoch });
      }),
    );
  }

  async function submit(one: Doubted, actor: SupervisorActor): Promise<void> {
    try {
      if ("runId" in one)
        await options.advance.submit(one, { kind: "integrity", found: NOTHING_FOUND }, actor);
      else await options.fire(one, actor);
    } catch (error) {
      failed(error, "runId" in one ? { run: one.runId } : { schedule: one.id });
    }
  }

  const loop = createLoop({
    clock,
    everyMs: options.settings.sweepEveryMs,
    async runOnce() {
      looks++;
      const beganMs = clock.monotonicMs();
      if (options.owner().owned.length === 0) lastBeganAtMs = beganMs;
      if (beganMs < restsUntilMs || (place === FIRST && looks <= LOOKS_A_ROUND)) return;
      if (place === FIRST) looks = 1;
      try {
        await look();
      } catch (error) {
        failed(error, { walk: place.walk });
        failures++;
        if (failures >= FAILURES_MAX) giveUp();
      } finally {
        const endedMs = clock.monotonicMs();
        restsUntilMs = endedMs + REST_BY_WORK * (endedMs - beganMs);
      }
    },
    onError: (error) => failed(error, { walk: place.walk }),
  });

  return Object.freeze({
    ...loop,
    async stop() {
      stopped = true;
      await loop.stop();
    },
    async roundOnce() {
      place = FIRST;
      let doubted = 0;
      do doubted += await look();
      while (place !== FIRST && !stopped);
      return doubted;
    },
    roundAgeMs: () =>
      options.owner().owned.length === 0 ? 0 : clock.monotonicMs() - lastBeganAtMs,
    quiet: async () => void (await under),
  });
}

type Doubted = RunRef | ScheduleRef;

interface Looked {
  readonly doubted: readonly Doubted[];
  readonly next: Place;
}

/** By the rows that they have: one run at least. */
function* pagesOf(runs: readonly WalkedRun[]): Generator<readonly WalkedRun[]> {
  let page: WalkedRun[] = [];
  let rows = 0;
  for (const run of runs) {
    if (page.length > 0 && rows + run.rows > ROWS_MAX) {
      yield page;
      [page, rows] = [[], 0];
    }
    page.push(run);
    rows += run.rows;
  }
  if (page.length > 0) yield page;
}
