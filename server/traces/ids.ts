// The ids of a run's spans follow from the run: whichever server ends an attempt, hands one out or
// sees the run end names the same spans, and keeps none of them meanwhile.
import { createHash } from "node:crypto";
import type { RunId } from "../store/run-head.ts";

const SPAN_ID_BYTES = 8;

/** Of a run that is part of nobody else's trace: its 16 bytes. */
export function traceIdOf(runId: RunId): string {
  return runId.replaceAll("-", "");
}

/** `of` tells spans of a run apart. */
export function spanIdOf(runId: RunId, ...of: readonly (string | number)[]): string {
  const text = [runId, ...of].join("/");
  return createHash("sha256").update(text).digest().toString("hex", 0, SPAN_ID_BYTES);
}

export function rootIdOf(runId: RunId): string {
  return spanIdOf(runId, "run");
}

/**
 * Of a task that was handed out, or a child that was begun. A fence is one of them; verifies have
 * that of the attempt which they are about, and are numbered by `n` from 1.
 */
export function attemptIdOf(runId: RunId, step: number, fence: number, n: number): string {
  return spanIdOf(runId, "attempt", step, fence, n);
}

/** Bytes of a trace id that are random in every UUID, and that W3C asks to be. */
const RANDOM_BYTES = 7;

/**
 * Whether a trace is among the share that is sampled. Who asks again, and with what share it is
 * asked for elsewhere, changes nothing: a smaller share is part of a greater one.
 */
export function isSampled(traceId: string, ratio: number): boolean {
  const of = 2 ** (8 * RANDOM_BYTES);
  return Number.parseInt(traceId.slice(-2 * RANDOM_BYTES), 16) >= (1 - ratio) * of;
}
