// What both stores say alike of attempts: which are tasks, and how the rows of one are told apart.
import type { Attempt, AttemptKind, TaskKind } from "../core/attempt.ts";

/** The kinds of attempt that a lease ends as; the others are rows beside them. */
export const TASKS: readonly TaskKind[] = ["perform", "compensate", "verify"];

export function taskOf(kind: AttemptKind): TaskKind | null {
  return TASKS.find((task) => task === kind) ?? null;
}

/**
 * Tells apart the rows that one attempt may have of a kind. A late success is evidence of its own
 * beside a late failure of the same attempt; a second one of either says nothing new.
 */
export function attemptRowNumber({ kind, n, outcome }: Attempt): number {
  return kind === "late" ? 2 * n + Number(outcome.kind === "success") : n;
}

export function sameAttemptRow(a: Attempt, b: Attempt): boolean {
  return (
    a.step === b.step &&
    a.fence === b.fence &&
    a.kind === b.kind &&
    attemptRowNumber(a) === attemptRowNumber(b)
  );
}
