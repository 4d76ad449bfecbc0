// A fifth correct history: the runs of the third one, whose ends are sent to a hook. The
// webhook about the first is sent twice, as its answer got lost.
import { type Mutable, must } from "./damage.ts";
import { permitsHistory } from "./good-history-permits.ts";
import type { History } from "./history.ts";

export const HOOK = "ends";

export function webhooksHistory(): History {
  const history = structuredClone(permitsHistory()) as Mutable<History>;
  const { final } = history;
  final.hooks = [{ namespace: "blue", name: HOOK, events: ["run-ended"] }];
  for (const { runId, state, reason, endedAt } of final.runs) {
    const id = `w-${runId}`;
    const about = { namespace: "blue", id, kind: "run-ended", count: 1 } as const;
    const row = { ...about, runId, n: 0, hook: HOOK, nextTryAt: null, made: true };
    final.deliveries.push({ ...row, state: "delivered" });
    const body = JSON.stringify({ ...about, run: { id: runId }, end: { state, reason } });
    const at = must(endedAt ?? undefined, "end") + 20;
    const record = { kind: "webhook", process: "receiver", id, url: "https://hook", body } as const;
    history.records.push({ ...record, at });
    if (runId === "q1") history.records.push({ ...record, at: at + 5_000 });
  }
  return history as History;
}
