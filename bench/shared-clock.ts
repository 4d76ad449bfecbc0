// Times that two processes of one machine measure together.

/** Milliseconds of the machine's monotonic clock, which all processes share (Linux). */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}

/** Of one run of three steps, in milliseconds, by the agent. */
export interface RunTimes {
  /** From the call of Schedule to the task in hand. */
  readonly toTaskMs: number;
  /** From the end of a step to the task of the next one in hand. */
  readonly hops: readonly number[];
  /** From the call of Schedule to the last task in hand, which ends at once. */
  readonly runMs: number;
}
