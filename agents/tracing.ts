/**
 * Traces of an agent: the position of the running code is followed through its waits, so that a
 * request or a command is told its parent. With a receiver, the agent's own spans are sent, too.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  type ContextManager,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

/** Ends with the spans that wait to be sent. */
export type StopTracing = () => Promise<void>;

/** `url` is that of an OTLP receiver over HTTP; undefined: no span is sent. */
export function startTracing(service: string, url: string | undefined): StopTracing {
  const storage = new AsyncLocalStorage<Context>();
  const contexts: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, of, ...given) => storage.run(active, () => work.call(of, ...given)),
    bind: (_active, target) => target,
    enable: () => contexts,
    disable: () => contexts,
  };
  context.setGlobalContextManager(contexts);
  if (url === undefined) return async () => context.disable();
  const exporter = new OTLPTraceExporter({ url: new URL("/v1/traces", url).href });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": service }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  trace.setGlobalTracerProvider(provider);
  return async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
  };
}

/** The headers of W3C Trace Context; empty where the task is in no trace. */
export function activeTraceHeaders(): Readonly<Record<string, string>> {
  const active = trace.getSpanContext(context.active());
  if (!active || !isSpanContextValid(active)) return {};
  const flags = active.traceFlags.toString(16).padStart(2, "0");
  const state = active.traceState?.serialize() ?? "";
  return {
    traceparent: `00-${active.traceId}-${active.spanId}-${flags}`,
    ...(state !== "" && { tracestate: state }),
  };
}
