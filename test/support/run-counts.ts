// What the counters of runs have to be, by a scan of the runs themselves.
import { minuteOf } from "../../server/store/activity.ts";
import type { RunRecord } from "../../server/store/reads.ts";
import type { Store } from "../../server/store/store.ts";

/** How many runs, by event and minute: `COMPLETED 1767225600000`. */
export type RunCounts = ReadonlyMap<string, number>;

export async function countedRuns(store: Store, namespaceId: number): Promise<RunCounts> {
  const counts = await store.operators.runCounts(namespaceId, 0);
  return new Map(counts.map(({ minute, event, runs }) => [`${event} ${minute}`, runs]));
}

export function scannedRuns(
  runs: readonly Pick<RunRecord, "state" | "createdAt" | "endedAt">[],
): RunCounts {
  const counts = new Map<string, number>();
  const count = (event: string, at: number) => {
    const key = `${event} ${minuteOf(at)}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  for (const { state, createdAt, endedAt } of runs) {
    count("ACCEPTED", createdAt);
    if (endedAt !== null) count(state, endedAt);
  }
  return counts;
}
