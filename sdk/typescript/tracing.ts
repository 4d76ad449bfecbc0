/**
 * Traces, with the OpenTelemetry API only: a handler runs in a span below that of its attempt, and
 * a run that a client schedules is part of the caller's trace. The program must register an
 * OpenTelemetry SDK; without one this module has no effect.
 */
import type { Outcome, Task } from "@drover/proto/drover/v1/task_pb.ts";
import {
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";

const TRACER = "@drover/sdk";
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** In the format of the contract: both are empty where there is no trace. */
export interface TraceFields {
  readonly traceparent: string;
  readonly tracestate: string;
}

const NO_TRACE: TraceFields = Object.freeze({ traceparent: "", tracestate: "" });

/** The position of the calling code in a trace. */
export function activeTrace(): TraceFields {
  const active = trace.getSpanContext(context.active());
  if (!active || !isSpanContextValid(active)) return NO_TRACE;
  const { traceId, spanId, traceFlags, traceState } = active;
  const flags = traceFlags.toString(16).padStart(2, "0");
  return {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    tracestate: traceState?.serialize() ?? "",
  };
}

/**
 * Does work at a caller's position in a trace, so that the spans of a traced call belong to that
 * caller.
 */
export type Within = <T>(work: () => T) => T;

/** At the current position of the calling code. */
export function withinActive(): Within {
  const active = context.active();
  return (work) => context.with(active, work);
}

/** Work for many callers is in no trace. */
export const withinNone: Within = (work) => context.with(ROOT_CONTEXT, work);

/** The ids of a trace in a line of a log, hex. */
export interface TraceIds {
  readonly trace?: string;
  readonly span?: string;
}

/** Does the work of a task in a span below that of its attempt, if the task is part of a trace. */
export async function withinTask(
  task: Task,
  name: string,
  work: (ids: TraceIds) => Promise<Outcome>,
): Promise<Outcome> {
  const parent = parentOf(task);
  if (!parent) return work({});
  const attributes = {
    "drover.run.id": task.runId,
    "drover.step.id": task.stepId,
    "drover.attempt": task.attempt,
  };
  const options = { kind: SpanKind.CONSUMER, attributes };
  return trace.getTracer(TRACER).startActiveSpan(name, options, parent, async (span) => {
    const ids = span.spanContext();
    const outcome = await work({ trace: ids.traceId, span: ids.spanId });
    end(span, outcome);
    return outcome;
  });
}

function parentOf({ traceparent, tracestate }: Task): Context | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  const traceFlags = Number.parseInt(flags, 16);
  const above: SpanContext = { traceId, spanId, traceFlags, isRemote: true };
  const traceState = createTraceState(tracestate);
  return trace.setSpanContext(ROOT_CONTEXT, { ...above, traceState });
}

function end(span: Span, { kind }: Outcome): void {
  span.setAttribute("drover.outcome", kind.case ?? "");
  const isLost = kind.case === "success" && kind.value.outputProblem !== "";
  if (kind.case === "failed" || kind.case === "unknown" || isLost) {
    const message = "code" in kind.value ? kind.value.code : "drover.output";
    span.setAttribute("error.type", message);
    span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
  span.end();
}
