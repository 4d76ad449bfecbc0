// What a check finds, and what it may be told beforehand.

export const PROMISES = [
  ...(["G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9"] as const),
  ...(["G10", "G11", "G12", "G13", "G14", "G15", "G16", "G17"] as const),
] as const;

export type PromiseName = (typeof PROMISES)[number];

/** A broken promise, about one run or about none. */
export interface Finding {
  readonly runId: string | null;
  /** One sentence that says what was promised, what is there instead, and where. */
  readonly text: string;
}

export interface Violation extends Finding {
  readonly promise: PromiseName;
}

/** Durations that the promises name; all in milliseconds of the database's clock. */
export interface Bounds {
  /** G8: from a due moment until somebody acts, without faults. */
  readonly detectMs: number;
  /** G8: the share of the due moments that must keep `detectMs`, 0 to 1. */
  readonly detectShare: number;
  /** G8: until the partitions of a killed supervisor are watched again. */
  readonly killedMs: number;
  /** G8: the same after a freeze, a cut or an outage of the store. */
  readonly frozenMs: number;
  /** G15: how long ready work and a matching waiter may miss each other. */
  readonly meetMs: number;
  /** G15: the longest ordinary way of a message, without a fault. */
  readonly networkMs: number;
}

/** In virtual time every moment must keep the bound; on a busy machine 99 of 100. */
export function boundsFor(source: "simulation" | "processes"): Bounds {
  return Object.freeze({
    detectMs: 1_000,
    detectShare: source === "simulation" ? 1 : 0.99,
    killedMs: 3_000,
    frozenMs: 5_000,
    meetMs: 1_000,
    networkMs: 200,
  });
}
