// A cache of what tasks contain of their runs, for runs that this process has started or read
// lately.
// This data never changes, so an entry is right as long as the database is the same. What was
// evicted is read again.
import { payloadBytes } from "../core/model/payload.ts";
import type { NewRun, RunId, TaskFacts } from "../store/store.ts";

export type KnownRun = Pick<TaskFacts, "definitionId" | "version" | "labels" | "input" | "trace">;

export interface KnownRuns {
  of(runId: RunId): KnownRun | null;
  keep(runId: RunId, run: KnownRun): void;
  /** Runs that have started: their transaction has committed. */
  started(runs: readonly NewRun[]): void;
  /** Runs that have ended hand out no more tasks. */
  ended(runs: readonly RunId[]): void;
  /** The database has another incarnation: runs may be gone. */
  forget(): void;
}

const RUNS_MAX = 10_000;
/** Of all inputs together. An input larger than a thousandth of it is not kept. */
const BYTES_MAX = 16 * 1024 * 1024;
const INPUT_BYTES_MAX = BYTES_MAX / 1_000;

export function createKnownRuns(): KnownRuns {
  const runs = new Map<RunId, KnownRun>();
  let bytes = 0;

  const bytesOf = ({ input }: KnownRun): number => (input === null ? 0 : payloadBytes(input));

  function keep(runId: RunId, run: KnownRun): void {
    if (runs.has(runId) || bytesOf(run) > INPUT_BYTES_MAX) return;
    const { definitionId, version, labels, input, trace } = run;
    runs.set(runId, { definitionId, version, labels, input, trace });
    bytes += bytesOf(run);
    for (const oldest of runs.keys()) {
      if (runs.size <= RUNS_MAX && bytes <= BYTES_MAX) return;
      drop(oldest);
    }
  }

  function drop(runId: RunId): void {
    const run = runs.get(runId);
    if (!run) return;
    runs.delete(runId);
    bytes -= bytesOf(run);
  }

  return Object.freeze({
    of: (runId: RunId) => runs.get(runId) ?? null,
    keep,
    ended: (of: readonly RunId[]) => of.forEach(drop),
    forget(): void {
      runs.clear();
      bytes = 0;
    },
    started(started: readonly NewRun[]) {
      for (const run of started) keep(run.runId, { ...run, trace: run.trace ?? null });
    },
  });
}
