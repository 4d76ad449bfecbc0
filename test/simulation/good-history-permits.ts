// A third correct history: two runs that share a concurrency key with one permit. The
// second waits until the first has ended; a third one asks to start later, and is refused then.
import { type Mutable, must } from "./damage.ts";
import { createStory } from "./good-history.ts";
import { acted } from "./good-history-rows.ts";
import type { History } from "./history.ts";

export const PERMIT_KEY = "customer-7";
const SUCCESS = { kind: "success" } as const;

export function permitsHistory(): History {
  const story = createStory();
  story.schedule("clerk", { runId: "q1", namespace: "blue", key: "k1" });
  story.schedule("clerk", { runId: "q2", namespace: "blue", key: "k2" });
  story.schedule("clerk", { runId: "q3", namespace: "blue", key: "k3" });
  story.wait(4_000);
  for (const runId of ["q1", "q2"]) {
    for (const step of [0, 1, 2]) {
      story.poll("agent-1", runId, step);
      story.complete("agent-1", runId, step, SUCCESS);
    }
    story.end(runId, "COMPLETED", "DONE");
  }
  const history = structuredClone(story.history()) as Mutable<History>;
  const startAt = must(history.records[0], "record").at + 1_000;
  for (const record of history.records)
    if (record.kind === "call" && record.request.rpc === "Schedule") {
      const { mark } = record.request;
      const policy = mark === "order q3" ? "refuse" : "queue";
      record.request.concurrency = { key: PERMIT_KEY, limit: 1, policy };
      if (mark === "order q3") record.request.startAt = startAt;
    }
  for (const run of history.final.runs) {
    const policy = run.runId === "q3" ? "refuse" : "queue";
    run.concurrency = { key: PERMIT_KEY, limit: 1, policy };
    const [first] = run.steps;
    if (run.runId === "q2" && first) {
      const begins = must(
        history.final.runs.find(({ runId }) => runId === "q1"),
        "q1",
      ).endedAt;
      first.firstReadyAt = begins;
    }
    if (run.runId !== "q3") continue;
    const blocked = { kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 } as const;
    for (const step of run.steps) Object.assign(step, { forward: blocked, firstReadyAt: null });
    const about = { step: null, fence: 0, rule: "start", n: 0 } as const;
    run.interventions.push({ ...about, ...acted("q3", startAt, startAt + 20) });
    Object.assign(run, { state: "FAILED", reason: "REFUSED", endedAt: startAt + 25, wakeAt: null });
  }
  return history as History;
}
