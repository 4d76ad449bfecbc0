// The agent of `latency` as a process of its own: tasks that do nothing, each of which is timed by
// the clock that all processes of a machine share. Reports to its parent the times of each run that
// it has finished.
//   node latency-agent.ts ADDRESS SLOTS [NAMESPACE]
import { createAgent } from "../sdk/typescript/index.ts";
import { nowMs, type RunTimes } from "./shared-clock.ts";

const [address = "", slots = "500", namespace = "default"] = process.argv.slice(2);
const REPORT_MS = 100;
const LAST = "step-2";

interface Under {
  readonly scheduledAtMs: number;
  readonly toTaskMs: number;
  readonly hops: number[];
  endedAtMs: number;
}

const under = new Map<string, Under>();
let finished: RunTimes[] = [];

function isTimed(input: unknown): input is { readonly at: number } {
  return typeof input === "object" && input !== null && "at" in input;
}

createAgent({
  address,
  namespace,
  id: "latency",
  slots: Number(slots),
  handlers: {
    nothing: (task) => {
      const now = nowMs();
      const before = under.get(task.runId);
      const input = task.input();
      if (!before && isTimed(input))
        under.set(task.runId, {
          scheduledAtMs: input.at,
          toTaskMs: now - input.at,
          hops: [],
          endedAtMs: now,
        });
      before?.hops.push(now - before.endedAtMs);
      if (before && task.stepId === LAST) {
        under.delete(task.runId);
        const { scheduledAtMs, toTaskMs, hops } = before;
        finished.push({ toTaskMs, hops, runMs: now - scheduledAtMs });
      } else if (before) before.endedAtMs = nowMs();
      return null;
    },
  },
}).start();
setInterval(() => {
  process.send?.(finished);
  finished = [];
}, REPORT_MS);
