// The ids of a run's spans are computed from the run. Every server that ends an attempt, hands one
// out or ends the run computes the same ids, and none of them is stored.
import { createHash } from "node:crypto";
import type { RunId } from "../../store/run-head.ts";

const SPAN_ID_BYTES = 8;

/** The trace of a run that is in no trace of its caller: the 16 bytes of its id. */
export function traceIdOf(runId: RunId): string {
  return runId.replaceAll("-", "");
}

/** `of` distinguishes the spans of a run. */
export function spanIdOf(runId: RunId, ...of: readonly (string | number)[]): string {
  const text = [runId, ...of].join("/");
  return createHash("sha256").update(text).digest().toString("hex", 0, SPAN_ID_BYTES);
}

export function rootIdOf(runId: RunId): string {
  return spanIdOf(runId, "run");
}

/**
 * The span of a task that was handed out, or of a started child run. Each has its own fence.
 * Verify tasks have the fence of the attempt that they are about, and are numbered by `n` from 1.
 */
export function attemptIdOf(runId: RunId, step: number, fence: number, n: number): string {
  return spanIdOf(runId, "attempt", step, fence, n);
}

/** The bytes of a trace id that are random in every UUID, and that W3C requires to be random. */
const RANDOM_BYTES = 7;

/**
 * Whether a trace is in the sampled share. The answer depends only on the id, so every server
 * agrees, and the traces of a smaller share are among those of a larger one.
 */
export function isSampled(traceId: string, ratio: number): boolean {
  const of = 2 ** (8 * RANDOM_BYTES);
  return Number.parseInt(traceId.slice(-2 * RANDOM_BYTES), 16) >= (1 - ratio) * of;
}
