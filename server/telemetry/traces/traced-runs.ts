// The constant data of runs, read once. The oldest is dropped first.
import type { Plans } from "../../store/plans.ts";
import type { Reads } from "../../store/reads.ts";
import type { NewRun, RunId } from "../../store/store.ts";
import { readTrace, type TracedRun } from "../../store/trace.ts";
import { traceIdOf } from "./ids.ts";
import type { Traced } from "./span-of.ts";

/** Most runs whose constant data is cached. */
const KNOWN_MAX = 10_000;

interface TracedRunsOptions {
  readonly reads: Pick<Reads, "tracedRuns">;
  readonly plans: Plans;
  /** The spans of all runs are needed; false: those of sampled runs. */
  readonly needsAll: boolean;
}

export interface TracedRuns {
  /** Caches what would be read otherwise. */
  started(run: NewRun): Promise<unknown>;
  /** null: the spans of the run are not needed. A run that is gone is left out. */
  of(ids: readonly RunId[]): Promise<ReadonlyMap<RunId, Traced | null>>;
  forget(id: RunId): void;
}

export function createTracedRuns({ reads, plans, needsAll }: TracedRunsOptions): TracedRuns {
  const known = new Map<RunId, Traced | null>();

  async function learn(run: TracedRun): Promise<Traced | null> {
    const own = { traceId: traceIdOf(run.runId), callerId: null, sampled: false, state: "" };
    const trace = (run.trace && readTrace(run.trace)) ?? own;
    const traced =
      trace.sampled || needsAll
        ? { run, trace, plan: (await plans.get(run.namespaceId, run.definitionId)).plan }
        : null;
    known.set(run.runId, traced);
    const [oldest] = known.keys();
    if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest);
    return traced;
  }

  return Object.freeze({
    started: (run) => learn(tracedRun(run)),
    async of(ids) {
      const found = new Map<RunId, Traced | null>();
      const unknown = new Set<RunId>();
      for (const id of ids) {
        const traced = known.get(id);
        if (traced === undefined) unknown.add(id);
        else found.set(id, traced);
      }
      if (unknown.size === 0) return found;
      for (const run of (await reads.tracedRuns([...unknown])).values())
        found.set(run.runId, await learn(run));
      return found;
    },
    forget: (id) => void known.delete(id),
  } satisfies TracedRuns);
}

function tracedRun(run: NewRun): TracedRun {
  const { runId, namespaceId, definitionId, workflow, version, createdAt, trace = null } = run;
  const of = { runId, namespaceId, definitionId, workflow, version, createdAt, trace };
  return { ...of, parentId: run.parent?.runId ?? null, rerunOf: run.rerunOf?.runId ?? null };
}
