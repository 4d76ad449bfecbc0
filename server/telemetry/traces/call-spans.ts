// A span for each call that is part of a sampled trace of its caller, from the call's arrival to
// its answer. Other calls cost one read of their headers.
import type { Clock, Random } from "../../clock.ts";
import { readTrace } from "../../store/trace.ts";
import type { SpanSink } from "../spans.ts";
import { callSpan } from "./server-spans.ts";

const SPAN_ID_BYTES = 8;

interface Arrived {
  readonly service: string;
  readonly method: string;
  /** A header that the caller sent with the request; null: there is none of this name. */
  readonly header: (name: string) => string | null;
}

/**
 * Called when a call arrives. The function that it returns is called at the call's end, with a
 * stable error or null; null: the call is not traced.
 */
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
