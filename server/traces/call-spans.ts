// A span for each call that comes within a sampled trace of its caller, from its arrival to its
// answer. Calls of whom nobody traces cost one look at their headers.
import type { Clock, Random } from "../clock.ts";
import { readTrace } from "../store/trace.ts";
import type { SpanSink } from "../telemetry/spans.ts";
import { callSpan } from "./server-spans.ts";

const SPAN_ID_BYTES = 8;

interface Arrived {
  readonly service: string;
  readonly method: string;
  /** What its caller sent beside the request; null: nothing of this name. */
  readonly header: (name: string) => string | null;
}

/** Hears of a call that has arrived; what it returns, of its end: a stable error, or null. */
type TracedCalls = (call: Arrived) => ((error: string | null) => void) | null;

export function createTracedCalls(
  sink: SpanSink,
  clock: Pick<Clock, "wallMs">,
  random: Random,
): TracedCalls {
  return ({ service, method, header }) => {
    const traceparent = header("traceparent");
    if (traceparent === null) return null;
    const caller = readTrace({ traceparent, tracestate: header("tracestate") ?? "" });
    if (!caller?.sampled || caller.callerId === null) return null;
    const startMs = clock.wallMs();
    const spanId = Buffer.from(random.bytes(SPAN_ID_BYTES)).toString("hex");
    return (error) => {
      const endMs = clock.wallMs();
      sink.take([callSpan({ service, method, caller, spanId, startMs, endMs, error })]);
    };
  };
}
