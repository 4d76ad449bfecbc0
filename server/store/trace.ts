// The trace that a run is part of, and what the trace needs to know of its run.
import type { EpochMs } from "../core/model/attempt.ts";
import type { RunId } from "./run-head.ts";

/** As W3C Trace Context writes it, stored with the run when it begins and never changed. */
export interface TraceContext {
  /**
   * The trace of the run; the span of the caller that started it, zeros if the caller named none;
   * and whether the run is sampled.
   */
  readonly traceparent: string;
  /** "": none. */
  readonly tracestate: string;
}

/** What is fixed when a run begins. */
export interface TracedRun {
  readonly runId: RunId;
  readonly namespaceId: number;
  readonly definitionId: number;
  readonly workflow: string;
  /** 0: an inline definition. */
  readonly version: number;
  readonly createdAt: EpochMs;
  /** null: it is not traced. */
  readonly trace: TraceContext | null;
  /** The run whose step began it; null: none. */
  readonly parentId: RunId | null;
  /** The run that it repeats; null: none. */
  readonly rerunOf: RunId | null;
}

/** A parsed traceparent. */
export interface Trace {
  /** 16 bytes, hex. */
  readonly traceId: string;
  /** The span of the caller that started the run, 8 bytes, hex; null: the caller named none. */
  readonly callerId: string | null;
  readonly sampled: boolean;
  /** "": none. */
  readonly state: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const NO_SPAN = "0".repeat(16);
const SAMPLED = 1;

/** null: it is no traceparent. */
export function readTrace({ traceparent, tracestate }: TraceContext): Trace | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || flags === undefined) return null;
  const sampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  const callerId = spanId === undefined || spanId === NO_SPAN ? null : spanId;
  return { traceId, callerId, sampled, state: tracestate };
}

/** The trace context under a span, or (null) under none. */
export function writeTrace(
  { traceId, sampled, state }: Omit<Trace, "callerId">,
  spanId: string | null,
): TraceContext {
  const flags = sampled ? "01" : "00";
  return { traceparent: `00-${traceId}-${spanId ?? NO_SPAN}-${flags}`, tracestate: state };
}
