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

export function createConsistencyCheck(options: ConsistencyOptions): ConsistencyCheck {
  const { store, clock, log, rewriteDerived } = options;
  /** null: a round begins with the next scan. */
  let after: RunRef | null = null;
  let beganAtMs = clock.monotonicMs();
  let lastBeganAtMs = beganAtMs;
  /** Scans since the last round began, including those that had nothing to do. */
  let scans = SCANS_PER_ROUND_MIN;
  let restsUntilMs = beganAtMs;
  let failures = 0;
  let stopped = false;
  let rewriting: Promise<unknown> = Promise.resolve();

  function failed(error: unknown, about: object): void {
    options.onFailed?.();
    log.warn({ event: "consistency.failed", ...about, err: String(error) });
  }

  /** Returns how many rows were rewritten. */
  async function scan(): Promise<number> {
    const partitions = options
      .owner()
      .owned.map(({ partition }) => partition)
      .sort((a, b) => a - b);
    if (partitions.length === 0) return 0;
    if (after === null) beganAtMs = clock.monotonicMs();
    const { runs, last } = await store.differingRuns(partitions, after, RUNS_PER_SCAN);
    const rewrite = rewriteAll(runs);
    rewriting = rewrite;
    const rows = await rewrite;
    failures = 0;
    after = last;
    if (last === null) lastBeganAtMs = beganAtMs;
    return rows;
  }

  async function rewriteAll(runs: readonly RunRef[]): Promise<number> {
    let rows = 0;
    for (let first = 0; first < runs.length; first += RUNS_PER_REWRITE)
      for (const run of await rewrite(runs.slice(first, first + RUNS_PER_REWRITE))) {
        rows += run.saw.length;
        report(run);
      }
    if (rows > 0) options.onRepaired?.(rows);
    return rows;
  }

  /** If several runs fail together, each is tried by itself. */
  async function rewrite(runs: readonly RunRef[]): Promise<readonly RewrittenRun[]> {
    const items = itemsOf(runs);
    if (items.length === 0) return [];
    try {
      return await rewriteDerived(items);
    } catch (error) {
      const [only] = items;
      if (only && items.length === 1) {
        failed(error, { run: only.run.runId });
        return [];
      }
      const each: RewrittenRun[] = [];
      for (const { run } of items) each.push(...(await rewrite([run])));
      return each;
    }
  }

  /**
   * A scan takes long, and partitions may change their owner meanwhile: only what is still owned.
   */
  function itemsOf(runs: readonly RunRef[]): readonly RewriteItem[] {
    const { node, owned } = options.owner();
    const epochs = new Map(owned.map(({ partition, epoch }) => [partition, epoch]));
    return runs.flatMap((run) => {
      const epoch = epochs.get(run.partition);
      return node === null || epoch === undefined ? [] : [{ run, actor: { node, epoch } }];
    });
  }

  function report({ runId: run, saw }: RewrittenRun): void {
    const what = `derived rows of run ${run} differed from its state and were rewritten: ${saw.join("; ")}`;
    log.error(
      { event: "consistency.repaired", run, saw },
      `${what}. This is a defect of Drover: please report it`,
    );
  }

  const loop = createLoop({
    clock,
    everyMs: options.settings.consistencyEveryMs,
    async runOnce() {
      scans++;
      const startedMs = clock.monotonicMs();
      if (options.owner().owned.length === 0) lastBeganAtMs = startedMs;
      if (startedMs < restsUntilMs || (after === null && scans <= SCANS_PER_ROUND_MIN)) return;
      if (after === null) scans = 1;
      try {
        await scan();
      } catch (error) {
        failed(error, { after });
        failures++;
        if (failures >= FAILURES_MAX) {
          after = null;
          failures = 0;
        }
      } finally {
        const endedMs = clock.monotonicMs();
        restsUntilMs = endedMs + REST_PER_WORK * (endedMs - startedMs);
      }
    },
    onError: (error) => failed(error, { after }),
  });

  return Object.freeze({
    ...loop,
    async stop() {
      stopped = true;
      await loop.stop();
    },
    async roundOnce() {
      after = null;
      let rows = 0;
      do rows += await scan();
      while (after !== null && !stopped);
      return rows;
    },
    roundAgeMs: () =>
      options.owner().owned.length === 0 ? 0 : clock.monotonicMs() - lastBeganAtMs,
    quiet: async () => void (await rewriting),
  });
}
