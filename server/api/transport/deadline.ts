// Deadlines as callers send them: a duration in a header. They are read here because the transports
// keep them in 32 bits of milliseconds, where an excessive deadline overflows or expires at once.

const UNIT_MS: Readonly<Record<string, number>> = Object.freeze({
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000001,
});

/** `grpc-timeout`; null: there is none, or it is malformed. */
export function grpcTimeoutMs(header: unknown): number | null {
  const found = typeof header === "string" ? /^(\d{1,8})([HMSmun])$/.exec(header) : null;
  const unitMs = UNIT_MS[found?.[2] ?? ""];
  return found && unitMs !== undefined ? Number(found[1]) * unitMs : null;
}

/** `connect-timeout-ms`; null: as above. */
export function connectTimeoutMs(header: unknown): number | null {
  return typeof header === "string" && /^\d{1,10}$/.test(header) ? Number(header) : null;
}
