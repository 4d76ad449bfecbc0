// What a check finds, and what it may be given beforehand.

export const PROMISES = Object.freeze({
  G1: "nothing acknowledged is lost, and nothing is stored unasked",
  G2: "one idempotency key, one run; one occurrence of a schedule, one run",
  G3: "one valid attempt of a step at a time, fences grow; no more runs of a key than its limit",
  G4: "once another task of its step was handed out, an attempt changes no state and is answered so",
  G5: "a step's completion is recorded once, and wakes each successor once",
  G6: "states move only along the published machine",
  G7: "everything open has a due time that a server watches, or a person",
  G8: "what is due is acted upon in time, and not before",
  G9: "no two supervisors act on the same attempt, and each within its regions",
  G10: "every run ends, or waits where a person sees why",
  G11: "a compensated run has undone every effect, in reverse order, and not too early",
  G12: "retries obey the policy",
  G13: 'an error that says "not done" hides no effect',
  G14: "namespaces do not leak",
  G15: "ready work and a matching waiter, a free permit and a run that waits for it meet in time",
  G16: "after an acknowledged cancel nothing goes forward, and from a pause to its end nothing moves",
  G17: "a session never reads backwards",
  G19: "a completed run has one effect of each step, and none of one that it continued without",
  G20: "what fails for good fails alone: a run whose passes always throw delays no other",
});

export type PromiseName = keyof typeof PROMISES;

export const PROMISE_NAMES = Object.freeze(Object.keys(PROMISES) as readonly PromiseName[]);

/** A broken promise, about one run or about none. */
export interface Finding {
  readonly runId: string | null;
  /** One sentence that states what was promised, what is there instead, and where. */
  readonly text: string;
}

export interface Violation extends Finding {
  readonly promise: PromiseName;
}

/** Durations that the promises name; all in milliseconds of the database's clock. */
export interface Bounds {
  /**
   * How far the time of a transaction, which is its start, may lie before its commit: two that
   * follow each other may show the opposite by so much. Fences order them all the same.
   */
  readonly transactionMs: number;
  /** G8: from a due time until a server acts, without faults. */
  readonly detectMs: number;
  /** G8: the share of the due times that must meet `detectMs`, 0 to 1. */
  readonly detectShare: number;
  /** G8: until the partitions of a killed supervisor are watched again. */
  readonly killedMs: number;
  /** G8: the same after a freeze, a cut or an outage of the store. */
  readonly frozenMs: number;
  /** G20: by how much more another run may be late beside one that always fails. */
  readonly besideMs: number;
  /** G15: how long ready work and a matching waiter may miss each other. */
  readonly meetMs: number;
  /** G15: the longest ordinary way of a message, without a fault. */
  readonly networkMs: number;
}

/**
 * Processes: as promised, the p99 by its share. Simulation: one seed has too few due times
 * for a share, so every one must meet the scan of each second and its batch; and a crash closes no
 * connection there, so the session of the dead ends 3 s after its last call and is then found
 * by a scan.
 */
export function boundsFor(source: "simulation" | "processes"): Bounds {
  const alike = { frozenMs: 5_000, besideMs: 1_000, meetMs: 1_000, networkMs: 200 };
  return Object.freeze(
    source === "simulation"
      ? { ...alike, transactionMs: 0, detectMs: 1_250, detectShare: 1, killedMs: 4_000 }
      : { ...alike, transactionMs: 250, detectMs: 1_000, detectShare: 0.99, killedMs: 3_000 },
  );
}
