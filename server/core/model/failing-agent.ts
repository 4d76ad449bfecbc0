// When an agent counts as failing: a session whose attempts at a task nearly all fail. A circuit
// needs several agents, or a comparison, before it opens; this rule also sees a single agent, and
// changes nothing: it is shown to a person.

/** How attempts ended. Those that were released, cancelled or given back are not counted. */
export interface AttemptCounts {
  /** All that ended, whatever their outcome. */
  readonly ended: number;
  /** Transient and permanent failures. */
  readonly failed: number;
  readonly unknown: number;
}

const NO_ATTEMPTS: AttemptCounts = Object.freeze({ ended: 0, failed: 0, unknown: 0 });

export function sumOfAttempts(counts: readonly AttemptCounts[]): AttemptCounts {
  return counts.reduce(
    (sum, { ended, failed, unknown }) => ({
      ended: sum.ended + ended,
      failed: sum.failed + failed,
      unknown: sum.unknown + unknown,
    }),
    NO_ATTEMPTS,
  );
}

/** Fewer attempts decide nothing. */
const ATTEMPTS_MIN = 10;
/** Of all attempts, those that failed or whose outcome is unknown. */
export const FAILING_SHARE = 0.9;

/** `counts`: of one session at one task, in the last hour. */
export function isFailing({ ended, failed, unknown }: AttemptCounts): boolean {
  return ended >= ATTEMPTS_MIN && failed + unknown >= FAILING_SHARE * ended;
}
