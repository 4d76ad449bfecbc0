// What tasks carry of their runs, of those that this process has begun or read lately. It never
// changes, so what is kept is right as long as the database is the same; what had to go is read
// again.
import { payloadBytes } from "../core/payload.ts";
import type { NewRun, RunId, TaskFacts } from "../store/store.ts";

export type KnownRun = Pick<TaskFacts, "definitionId" | "version" | "labels" | "input" | "trace">;

export interface KnownRuns {
  of(runId: RunId): KnownRun | null;
  keep(runId: RunId, run: KnownRun): void;
  /** Runs that have begun: their transaction has committed. */
  begun(runs: readonly NewRun[]): void;
  /** The database is another one: runs may be gone. */
  forget(): void;
}

const RUNS_MAX = 10_000;
/** Of inputs, in all; a larger one than a thousandth of that is not kept. */
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
    // The oldest first: most runs are over long before ten thousand others have begun.
    for (const [id, old] of runs) {
      if (runs.size <= RUNS_MAX && bytes <= BYTES_MAX) return;
      runs.delete(id);
      bytes -= bytesOf(old);
    }
  }

  return Object.freeze({
    of: (runId: RunId) => runs.get(runId) ?? null,
    keep,
    forget(): void {
      runs.clear();
      bytes = 0;
    },
    begun(begun: readonly NewRun[]) {
      for (const run of begun) keep(run.runId, { ...run, trace: run.trace ?? null });
    },
  });
}
