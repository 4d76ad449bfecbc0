// Level 1 of the recovery policy: which retry policy applies to a failure, and how long it backs
// off.
import type { RetryPolicy } from "../definition/definition.ts";

/** Index of the first policy that applies to this code; null: there is no retry. */
export function policyFor(policies: readonly RetryPolicy[], code: string): number | null {
  const index = policies.findIndex((policy) => policy.on.length === 0 || policy.on.includes(code));
  return index === -1 ? null : index;
}

/**
 * Milliseconds until the next try after `tries` counted ones: exponential up to `maxMs`, spread by
 * `jitter` with the random number `draw`; never before the remote service asked to be called again.
 */
export function backoffMs(
  policy: RetryPolicy,
  tries: number,
  draw: number,
  retryAfterMs: number | null,
): number {
  const grown = policy.initialMs * policy.factor ** Math.max(0, tries - 1);
  const spread = 1 + policy.jitter * (2 * draw - 1);
  return Math.max(Math.round(Math.min(grown, policy.maxMs) * spread), retryAfterMs ?? 0);
}
