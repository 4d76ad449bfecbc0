// The consistency check: derived rows are computed from pages, and only a defect can make them
// differ. What differs is rewritten, counted and recorded as an intervention.
//
//   scan      the open runs of our partitions in the order of their key, a thousand at a time
//   differ    the store names runs whose derived rows differ, without a lock
//   rewrite   a fenced transaction locks these runs, compares again and rewrites
//             (scheduler/rewrite-derived.ts)
//   then      the next round begins, at least thirty scans after the last one began
//
// The check works at most a tenth of the time: while an old snapshot is open, a scan reads all dead
// rows too, and takes seconds or reaches the statement timeout.
//
// A run that cannot be rewritten is logged and left out of this round. A scan that fails several
// times in a row ends its round: the next round begins with the first run.
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { SupervisorConfig } from "../config.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { RewriteDerived, RewriteItem } from "../scheduler/rewrite-derived.ts";
import type { RewrittenRun } from "../store/consistency.ts";
import type { RunRef, Store } from "../store/store.ts";
import type { Owned } from "./ownership.ts";

const RUNS_PER_SCAN = 1_000;
const RUNS_PER_REWRITE = 100;
const SCANS_PER_ROUND_MIN = 30;
const REST_PER_WORK = 9;
/** Failures of a scan in a row that end its round. */
const FAILURES_MAX = 3;

export interface ConsistencyOptions {
  readonly store: Pick<Store, "differingRuns">;
  readonly rewriteDerived: RewriteDerived;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: Pick<SupervisorConfig, "consistencyEveryMs">;
  readonly owner: () => { readonly node: string | null; readonly owned: readonly Owned[] };
  /** Called with the number of derived rows that were rewritten. */
  readonly onRepaired?: ((rows: number) => void) | undefined;
  /** Called when a scan or a rewrite has failed. */
  readonly onFailed?: (() => void) | undefined;
}

export interface ConsistencyCheck extends Loop {
  /** A whole round at once, without pauses; returns how many derived rows were rewritten. */
  roundOnce(): Promise<number>;
  /**
   * How long ago the last whole round began, in milliseconds; before the first one: since the
   * start, or since this server owns a partition. A round that failures have ended is not whole.
   */
  roundAgeMs(): number;
  /** Resolves when no rewrite is in flight. */
  quiet(): Promise<void>;
}

interface State {
  readonly options: ConsistencyOptions;
  /** The last run that this round has scanned; null: a round begins with the next scan. */
  after: RunRef | null;
  /** When this round began. */
  beganAtMs: number;
  /** When the last whole round began. */
  wholeBeganAtMs: number;
  /** Scans since the last round began, including those that had nothing to do. */
  scans: number;
  pausedUntilMs: number;
  /** Scans in a row that have failed. */
  failures: number;
  stopped: boolean;
  rewriting: Promise<unknown>;
}

export function createConsistencyCheck(options: ConsistencyOptions): ConsistencyCheck {
  const { clock, settings, owner } = options;
  const startedMs = clock.monotonicMs();
  const state: State = {
    options,
    after: null,
    beganAtMs: startedMs,
    wholeBeganAtMs: startedMs,
    scans: SCANS_PER_ROUND_MIN,
    pausedUntilMs: startedMs,
    failures: 0,
    stopped: false,
    rewriting: Promise.resolve(),
  };
  const loop = createLoop({
    clock,
    everyMs: settings.consistencyEveryMs,
    runOnce: () => scanIfTime(state),
    onError: (error) => failed(options, error, { after: state.after }),
  });
  return Object.freeze({
    ...loop,
    async stop() {
      state.stopped = true;
      await loop.stop();
    },
    roundOnce: () => roundOnce(state),
    roundAgeMs: () => (owner().owned.length === 0 ? 0 : clock.monotonicMs() - state.wholeBeganAtMs),
    quiet: async () => void (await state.rewriting),
  });
}

/** A scan of the loop, unless the check pauses, or waits for the time of the next round. */
async function scanIfTime(state: State): Promise<void> {
  const { clock, owner } = state.options;
  state.scans++;
  const startedMs = clock.monotonicMs();
  if (owner().owned.length === 0) state.wholeBeganAtMs = startedMs;
  const isBetweenRounds = state.after === null && state.scans <= SCANS_PER_ROUND_MIN;
  if (startedMs < state.pausedUntilMs || isBetweenRounds) return;
  if (state.after === null) state.scans = 1;
  try {
    await scan(state);
  } catch (error) {
    scanFailed(state, error);
  } finally {
    const endedMs = clock.monotonicMs();
    state.pausedUntilMs = endedMs + REST_PER_WORK * (endedMs - startedMs);
  }
}

async function roundOnce(state: State): Promise<number> {
  state.after = null;
  let rows = 0;
  do rows += await scan(state);
  while (state.after !== null && !state.stopped);
  return rows;
}

/** Returns how many rows were rewritten. */
async function scan(state: State): Promise<number> {
  const { store, clock, owner } = state.options;
  const partitions = owner()
    .owned.map(({ partition }) => partition)
    .sort((a, b) => a - b);
  if (partitions.length === 0) return 0;
  if (state.after === null) state.beganAtMs = clock.monotonicMs();
  const { runs, last } = await store.differingRuns(partitions, state.after, RUNS_PER_SCAN);
  const rewriting = rewriteAll(state.options, runs);
  state.rewriting = rewriting;
  const rows = await rewriting;
  state.failures = 0;
  state.after = last;
  if (last === null) state.wholeBeganAtMs = state.beganAtMs;
  return rows;
}

function scanFailed(state: State, error: unknown): void {
  failed(state.options, error, { after: state.after });
  state.failures++;
  if (state.failures < FAILURES_MAX) return;
  state.after = null;
  state.failures = 0;
}

async function rewriteAll(options: ConsistencyOptions, runs: readonly RunRef[]): Promise<number> {
  let rows = 0;
  for (let first = 0; first < runs.length; first += RUNS_PER_REWRITE)
    for (const run of await rewrite(options, runs.slice(first, first + RUNS_PER_REWRITE))) {
      rows += run.saw.length;
      report(options, run);
    }
  if (rows > 0) options.onRepaired?.(rows);
  return rows;
}

/** If several runs fail together, each is tried by itself. */
async function rewrite(
  options: ConsistencyOptions,
  runs: readonly RunRef[],
): Promise<readonly RewrittenRun[]> {
  const items = stillOwned(options, runs);
  if (items.length === 0) return [];
  try {
    return await options.rewriteDerived(items);
  } catch (error) {
    const [only] = items;
    if (only && items.length === 1) {
      failed(options, error, { run: only.run.runId });
      return [];
    }
    const each: RewrittenRun[] = [];
    for (const { run } of items) each.push(...(await rewrite(options, [run])));
    return each;
  }
}

/**
 * A scan takes long, and partitions may change their owner meanwhile: only what is still owned.
 */
function stillOwned(options: ConsistencyOptions, runs: readonly RunRef[]): readonly RewriteItem[] {
  const { node, owned } = options.owner();
  const epochs = new Map(owned.map(({ partition, epoch }) => [partition, epoch]));
  return runs.flatMap((run) => {
    const epoch = epochs.get(run.partition);
    return node === null || epoch === undefined ? [] : [{ run, actor: { node, epoch } }];
  });
}

function report({ log }: ConsistencyOptions, { runId: run, saw }: RewrittenRun): void {
  const what = `derived rows of run ${run} differed from its state and were rewritten: ${saw.join("; ")}`;
  log.error(
    { event: "consistency.repaired", run, saw },
    `${what}. This is a defect of Drover: please report it`,
  );
}

function failed({ log, onFailed }: ConsistencyOptions, error: unknown, about: object): void {
  onFailed?.();
  log.warn({ event: "consistency.failed", ...about, err: String(error) });
}
