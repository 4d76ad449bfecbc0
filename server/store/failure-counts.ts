// Failures of steps, counted as operators look for them: by workflow, step and error code. A store
// writes the counts with the pass that they come from, so they are as durable as the pass.
import type { Effect } from "../core/model/effect.ts";
import { withoutItem } from "../core/plan/item-name.ts";
import type { PassRecord } from "./pass-record.ts";
import type { RunHead } from "./run-head.ts";

interface FailureCount {
  /** The last run in which it happened. */
  readonly head: RunHead;
  /** The id of the step; items of a map are counted under the id of the map. */
  readonly step: string;
  /** The compensation of the step failed. */
  readonly isUndo: boolean;
  readonly code: string;
  /** The last message. */
  readonly message: string;
  /** Attempts that failed, or whose outcome is unknown. */
  readonly attempts: number;
  /** Steps, or items of a map, that failed for good. */
  readonly steps: number;
}

type Failed = Omit<FailureCount, "head">;

/** One count for each definition, step and error code. */
export function failureCounts(
  records: readonly Pick<PassRecord, "head" | "effects">[],
): readonly FailureCount[] {
  const counts = new Map<string, FailureCount>();
  for (const { head, effects } of records)
    for (const effect of effects) {
      const failed = failedOf(effect);
      if (!failed) continue;
      const { step, isUndo, code } = failed;
      const key = JSON.stringify([head.definitionId, step, isUndo, code]);
      const before = counts.get(key);
      counts.set(key, {
        ...failed,
        head,
        message: failed.message || (before?.message ?? ""),
        attempts: failed.attempts + (before?.attempts ?? 0),
        steps: failed.steps + (before?.steps ?? 0),
      });
    }
  return [...counts.values()];
}

function failedOf(effect: Effect): Failed | null {
  if (effect.kind === "failed") {
    const { id, code, message } = effect;
    return { step: withoutItem(id), isUndo: false, code, message, attempts: 0, steps: 1 };
  }
  if (effect.kind !== "task-ended") return null;
  const { kind, outcome } = effect.attempt;
  const isTry = kind === "perform" || kind === "compensate";
  if (!isTry || (outcome.kind !== "failure" && outcome.kind !== "unknown")) return null;
  const { code, message } = outcome;
  const step = withoutItem(effect.id);
  return { step, isUndo: kind === "compensate", code, message, attempts: 1, steps: 0 };
}
