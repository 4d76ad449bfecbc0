// The trace that a run is part of, and what a trace tells of its run.
import type { EpochMs } from "../core/attempt.ts";
import type { RunId } from "./run-head.ts";

/** As W3C Trace Context writes it, stored with the run when it begins and never changed. */
export interface TraceContext {
  /**
   * The trace of the run; the span of whoever scheduled it, zeros where nobody said so; and whether
   * the run is sampled.
   */
  readonly traceparent: string;
  /** "": none. */
  readonly tracestate: string;
}

/** What stands from the beginning of a run. */
export interface TracedRun {
  readonly runId: RunId;
  readonly namespaceId: number;
  readonly definitionId: number;
  readonly workflow: string;
  /** 0: an inline definition. */
  readonly version: number;
  readonly createdAt: EpochMs;
  /** null: nobody traces it. */
  readonly trace: TraceContext | null;
  /** The run whose step began it; null: none has. */
  readonly parentId: RunId | null;
  /** The run that it does again; null: none. */
  readonly rerunOf: RunId | null;
}

/** A traceparent, read. */
export interface Trace {
  /** 16 bytes, hex. */
  readonly traceId: string;
  /** The span of whoever scheduled the run, 8 bytes, hex; null: nobody said so. */
  readonly callerId: string | null;
  readonly sampled: boolean;
  /** "": none. */
  readonly state: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const NOBODY = "0".repeat(16);
const SAMPLED = 1;

/** null: it is no traceparent. */
export function readTrace({ traceparent, tracestate }: TraceContext): Trace | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || flags === undefined) return null;
  const sampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  const callerId = spanId === undefined || spanId === NOBODY ? null : spanId;
  return { traceId, callerId, sampled, state: tracestate };
}

/** What stands under a span, or (null) under none. */
export function writeTrace(
  { traceId, sampled, state }: Omit<Trace, "callerId">,
  spanId: string | null,
): TraceContext {
  const flags = sampled ? "01" : "00";
  return { traceparent: `00-${traceId}-${spanId ?? NOBODY}-${flags}`, tracestate: state };
}
