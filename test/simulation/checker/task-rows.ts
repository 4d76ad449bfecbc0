// The row with which a task ended.
import type { FinalAttempt } from "../history-rows.ts";
import type { HandOut, RunFacts } from "./facts.ts";

/** `number`: of the try; it distinguishes the verifies of one fence. undefined: not ended. */
export function rowOf(
  { run }: RunFacts,
  { step, task, fence }: Pick<HandOut, "step" | "task" | "fence">,
  number: number,
): FinalAttempt | undefined {
  return run.attempts.find(
    (row) =>
      row.step === step &&
      row.fence === fence &&
      row.kind === task &&
      (row.kind !== "verify" || row.n === number),
  );
}
