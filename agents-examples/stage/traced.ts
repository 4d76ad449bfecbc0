/**
 * What a program does to be in traces: it registers an SDK of OpenTelemetry, here a bare one that
 * sends each span as soon as it ends. The Drover SDK needs no more. Loaded before an agent, which
 * knows nothing of it; the environment sets the receiver (OTEL_EXPORTER_OTLP_ENDPOINT) and the
 * name.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, serviceNameEnvDetector } from "@opentelemetry/resources";
import { SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

const storage = new AsyncLocalStorage<Context>();
const contexts: ContextManager = {
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (active, work, of, ...given) => storage.run(active, () => work.call(of, ...given)),
  bind: (_active, target) => target,
  enable: () => contexts,
  disable: () => contexts,
};

context.setGlobalContextManager(contexts);
trace.setGlobalTracerProvider(
  new TracerProvider({
    resource: detectResources({ detectors: [serviceNameEnvDetector] }),
    spanProcessors: [new SimpleSpanProcessor({ exporter: new OTLPTraceExporter() })],
  }),
);
