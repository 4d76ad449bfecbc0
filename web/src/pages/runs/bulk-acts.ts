// The bulk actions on runs, performed on selected runs or on all runs that match a filter.
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  BulkKind,
  type RunFilter,
  type Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { scheduler } from "../../calls/clients.ts";
import { problemOf } from "../../calls/problem.ts";
import { openStates } from "./run-filter.ts";

type ActKind = (typeof BulkKind)["PAUSE" | "RESUME" | "RETRY" | "RERUN" | "CANCEL"];

export interface BulkAct {
  readonly kind: ActKind;
  readonly name: string;
  /** As in "3 runs paused". */
  readonly done: string;
  readonly willHappen: string;
  /** The states of affected runs if the filter names none; the same as the server's. */
  readonly states: readonly RunState[];
}

export const bulkActs: readonly BulkAct[] = [
  {
    states: [RunState.FAILED, RunState.CANCELLED],
    kind: BulkKind.RETRY,
    name: "Retry",
    done: "retried",
    willHappen:
      "For each run that failed or was cancelled, a new run starts. It reuses the steps that succeeded and repeats the others.",
  },
  {
    states: [RunState.COMPLETED, RunState.FAILED, RunState.COMPENSATED, RunState.CANCELLED],
    kind: BulkKind.RERUN,
    name: "Rerun",
    done: "started again",
    willHappen:
      "For each run that has ended, a new run starts with the same input, from its first step.",
  },
  {
    states: [RunState.RUNNING, RunState.ESCALATED],
    kind: BulkKind.PAUSE,
    name: "Pause",
    done: "paused",
    willHappen:
      "No new task of these runs is handed out until they are resumed. Agents finish the tasks that they have.",
  },
  {
    states: [RunState.PAUSED],
    kind: BulkKind.RESUME,
    name: "Resume",
    done: "resumed",
    willHappen: "Tasks of these runs that became ready meanwhile are handed out at once.",
  },
  {
    states: openStates,
    kind: BulkKind.CANCEL,
    name: "Cancel",
    done: "cancelled",
    willHappen:
      "Agents that work for these runs are asked to stop. Then completed steps are compensated in reverse order, or left as they are, as you choose. This cannot be undone.",
  },
];

export interface Tally {
  readonly done: number;
  /** Runs that were not changed: their state does not allow the action. */
  readonly left: number;
}

const AT_ONCE = 4;

/**
 * One call for each run; runs whose state does not allow the action are counted, and the others
 * continue.
 */
export async function actOnChosen(
  namespace: string,
  runIds: readonly string[],
  kind: ActKind,
  how: { readonly undo: Undo; readonly reason: string },
): Promise<Tally> {
  const waiting = [...runIds];
  const tally = { done: 0, left: 0 };
  const work = async () => {
    for (let runId = waiting.pop(); runId !== undefined; runId = waiting.pop()) {
      try {
        await actOnOne(namespace, runId, kind, how);
        tally.done++;
      } catch (error) {
        const { kind: problem } = problemOf(error);
        if (problem !== "refused" && problem !== "missing") throw error;
        tally.left++;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return tally;
}

async function actOnOne(
  namespace: string,
  runId: string,
  kind: ActKind,
  { undo, reason }: { readonly undo: Undo; readonly reason: string },
): Promise<void> {
  const ref = { namespace, run: { ref: { case: "runId", value: runId } } } as const;
  switch (kind) {
    case BulkKind.PAUSE:
      await scheduler.pauseRun({ ...ref, reason });
      return;
    case BulkKind.RESUME:
      await scheduler.resumeRun({ ...ref, reason });
      return;
    case BulkKind.RETRY:
      await scheduler.retryRun({ ...ref, requestId: `dashboard-${crypto.randomUUID()}` });
      return;
    case BulkKind.RERUN:
      await scheduler.rerunFrom({ ...ref, requestId: `dashboard-${crypto.randomUUID()}` });
      return;
    case BulkKind.CANCEL:
      await scheduler.cancelRun({ ...ref, undo, reason });
  }
}

/** The number of runs on which `actOnFiltered` would act now; no run is changed. */
export async function countFiltered(
  namespace: string,
  filter: RunFilter,
  kind: ActKind,
  signal: AbortSignal,
): Promise<number> {
  return (await scheduler.bulkAction({ namespace, filter, kind, dryRun: true }, { signal })).count;
}

interface FilteredAct {
  readonly namespace: string;
  readonly filter: RunFilter;
  readonly kind: ActKind;
  readonly undo: Undo;
  readonly reason: string;
  readonly requestId: string;
  /** If the number of runs differs, the server refuses the action. */
  readonly expectedCount: number;
}

/** Page by page; runs whose state does not allow the action are counted. */
export async function actOnFiltered(request: FilteredAct): Promise<Tally> {
  const tally = { done: 0, left: 0 };
  let pageToken = "";
  do {
    const answer = await scheduler.bulkAction({ ...request, pageToken });
    for (const { status } of answer.results)
      if ((status?.code ?? 0) === 0) tally.done++;
      else tally.left++;
    pageToken = answer.nextPageToken;
  } while (pageToken !== "");
  return tally;
}
