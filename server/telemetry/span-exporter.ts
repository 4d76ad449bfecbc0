// Sends spans to an OTLP receiver, such as a collector or Jaeger, with OpenTelemetry's own
// exporters. It is loaded only if traces are on.
import {
  createTraceState,
  type HrTime,
  type Link,
  SpanKind,
  SpanStatusCode,
} from "@opentelemetry/api";
import { OTLPTraceExporter as GrpcExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as HttpExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";
import type { Logger } from "pino";
import type { TraceConfig } from "../config.ts";
import { SERVER_SPANS, type SpanData, type SpanLink, type SpanSink } from "./spans.ts";

/**
 * Longest delay before a span is sent, in milliseconds; a crash loses the spans that are not sent
 * yet.
 */
const SENT_AFTER_MS = 1_000;
/** Spans that wait to be sent; further spans are dropped. */
const WAITING_MAX = 20_000;
const BATCH = 512;
/** At shutdown all waiting spans are sent at once; an exporter refuses more batches than this. */
const BATCHES_MAX = Math.ceil(WAITING_MAX / BATCH) + 1;
/** Jaeger warns of a negative duration if a span ends when it starts. */
const SHORTEST_MS = 0.001;
const SAMPLED = 1;
const SCOPE = Object.freeze({ name: "drover" });
const ROLES = Object.freeze({
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  server: SpanKind.SERVER,
});

/**
 * `onLost`: called with the number of lost spans, dropped for lack of room or refused by the
 * receiver.
 */
export function createSpanSink(
  config: TraceConfig,
  log: Logger,
  onLost: (count: number) => void,
): SpanSink {
  // Operators may set the service name in the environment: OTEL_SERVICE_NAME and the like.
  const fromEnvironment = [resourceAttributesEnvDetector, serviceNameEnvDetector];
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "drover" }))
    .merge(detectResources({ detectors: fromEnvironment }));
  // A different service name, so that a list of the traces of `drover` shows runs only.
  const name = `${resource.attributes["service.name"]}-server`;
  const own = resource.merge(resourceFromAttributes({ "service.name": name }));
  let waiting = 0;
  const processor = new BatchSpanProcessor({
    exporter: reportingExporter(exporterOf(config), config.url, log, {
      onSending(count) {
        waiting -= count;
      },
      onLost,
    }),
    scheduledDelayMillis: SENT_AFTER_MS,
    maxQueueSize: WAITING_MAX,
    maxExportBatchSize: BATCH,
  });
  return Object.freeze({
    take(spans) {
      // The processor has the same limit, and would drop further spans silently.
      const room = WAITING_MAX - waiting;
      if (spans.length > room) onLost(spans.length - room);
      for (const span of spans.slice(0, room)) {
        waiting++;
        processor.onEnd(readable(span, span.of in SERVER_SPANS ? own : resource));
      }
    },
    stop: () => processor.shutdown().catch(() => undefined),
  } satisfies SpanSink);
}

function exporterOf({ url, protocol }: TraceConfig): SpanExporter {
  const settings = { url, concurrencyLimit: BATCHES_MAX };
  return protocol === "grpc" ? new GrpcExporter(settings) : new HttpExporter(settings);
}

/**
 * Logs when the receiver becomes unavailable and when it is available again; runs are not affected.
 */
function reportingExporter(
  exporter: SpanExporter,
  url: string,
  log: Logger,
  on: { readonly onSending: (count: number) => void; readonly onLost: (count: number) => void },
): SpanExporter {
  let away = false;
  return {
    export(spans, done) {
      on.onSending(spans.length);
      exporter.export(spans, (result) => {
        const failed = result.error !== undefined;
        if (failed) on.onLost(spans.length);
        if (failed !== away) {
          const about = { event: "traces.sent", url, err: String(result.error ?? "") };
          if (failed) log.warn(about, `spans do not reach ${url}, and are dropped`);
          else log.info(about, `spans reach ${url} again`);
        }
        away = failed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

function readable(span: SpanData, resource: ReadableSpan["resource"]): ReadableSpan {
  const { name, role, startMs, endMs, error, attributes, links, parentId } = span;
  const tookMs = Math.max(endMs - startMs, SHORTEST_MS);
  const context = { ...contextOf(span, span.spanId), traceState: createTraceState(span.state) };
  return {
    name,
    kind: ROLES[role],
    spanContext: () => context,
    ...(parentId === null ? {} : { parentSpanContext: contextOf(span, parentId) }),
    startTime: hrTime(startMs),
    endTime: hrTime(startMs + tookMs),
    duration: hrTime(tookMs),
    status: error === null ? { code: SpanStatusCode.UNSET } : failed(error),
    attributes,
    links: links.map((link): Link => ({ context: contextOf(link, link.spanId) })),
    events: [],
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function failed(message: string): ReadableSpan["status"] {
  return { code: SpanStatusCode.ERROR, message };
}

function contextOf({ traceId }: SpanLink, spanId: string) {
  return { traceId, spanId, traceFlags: SAMPLED };
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const whole = Math.floor(ms / 1_000);
  return [whole, Math.round((ms - whole * 1_000) * 1_000_000)];
}
