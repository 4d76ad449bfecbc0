// The text of a task's terms, within the line of its step (codec.ts).
import { TIMEOUTS_DEFAULT } from "../plan/plan.ts";
import type { TaskTerms } from "./page.ts";
import { encodeShort } from "./short-list.ts";

/**
 * Lane, slow, plain, attempt, heartbeat, cancel, stall. Left out at the end: the standard values.
 */
export type RawTerms = readonly [
  ...[lane: number, slow?: number | null, plain?: 0 | 1],
  ...[attempt?: number, heartbeat?: number, cancel?: number, stall?: number | null],
];

const STANDARD_TERMS = Object.freeze([
  null,
  null,
  1,
  TIMEOUTS_DEFAULT.attemptMs,
  TIMEOUTS_DEFAULT.heartbeatMs,
  TIMEOUTS_DEFAULT.cancelMs,
  TIMEOUTS_DEFAULT.stallMs,
]);

export function encodeTerms(terms: TaskTerms): string {
  const { lane, attemptMs, heartbeatMs, cancelMs, stallMs, slowAfterMs, plain } = terms;
  return encodeShort(
    [lane, slowAfterMs, plain ? 1 : 0, attemptMs, heartbeatMs, cancelMs, stallMs],
    STANDARD_TERMS,
  );
}

export function decodeTerms(raw: RawTerms): TaskTerms {
  const [lane, slowAfterMs = null, plain = 1, ...times] = raw;
  const standard = TIMEOUTS_DEFAULT;
  const [attemptMs = standard.attemptMs, heartbeatMs = standard.heartbeatMs, ...others] = times;
  const [cancelMs = standard.cancelMs, stallMs = standard.stallMs] = others;
  return { lane, attemptMs, heartbeatMs, cancelMs, stallMs, slowAfterMs, plain: plain === 1 };
}
