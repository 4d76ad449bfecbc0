// Which attempts are tasks, and the identity of an attempt of a step.
import type { Attempt, AttemptKind, TaskKind } from "../model/attempt.ts";
import type { PageAttempt } from "./page.ts";

/** The kinds of attempts that end a lease. Attempts of other kinds are stored beside them. */
export const TASKS: readonly TaskKind[] = ["perform", "compensate", "verify"];

export function taskOf(kind: AttemptKind): TaskKind | null {
  return TASKS.find((task) => task === kind) ?? null;
}

type AttemptIdentity = Pick<PageAttempt, "kind" | "fence" | "n"> & {
  readonly outcome: { readonly kind: Attempt["outcome"]["kind"] };
};

/**
 * Distinguishes attempts of one kind and fence. A late success is stored beside a late failure of
 * the same attempt; a second one of either adds nothing.
 */
export function attemptNumber({ kind, n, outcome }: AttemptIdentity): number {
  return kind === "late" ? 2 * n + Number(outcome.kind === "success") : n;
}

/** Whether both are the same attempt of their step. */
export function sameAttempt(a: AttemptIdentity, b: AttemptIdentity): boolean {
  return a.fence === b.fence && a.kind === b.kind && attemptNumber(a) === attemptNumber(b);
}
