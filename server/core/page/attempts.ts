// Which attempts are tasks, and how the attempts of a step are told apart.
import type { Attempt, AttemptKind, TaskKind } from "../attempt.ts";
import type { PageAttempt } from "./page.ts";

/** The kinds of attempt that a lease ends as; the others are said beside them. */
export const TASKS: readonly TaskKind[] = ["perform", "compensate", "verify"];

export function taskOf(kind: AttemptKind): TaskKind | null {
  return TASKS.find((task) => task === kind) ?? null;
}

type CommitSummary = Pick<PageAttempt, "kind" | "fence" | "n"> & {
  readonly outcome: { readonly kind: Attempt["outcome"]["kind"] };
};

/**
 * Tells apart several of one kind and fence. A late success is evidence of its own beside a late
 * failure of the same attempt; a second one of either says nothing new.
 */
export function attemptNumber({ kind, n, outcome }: CommitSummary): number {
  return kind === "late" ? 2 * n + Number(outcome.kind === "success") : n;
}

/** Whether they are one attempt of their step. */
export function sameAttempt(a: CommitSummary, b: CommitSummary): boolean {
  return a.fence === b.fence && a.kind === b.kind && attemptNumber(a) === attemptNumber(b);
}
