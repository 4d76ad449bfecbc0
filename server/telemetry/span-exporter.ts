// Sends spans to an OTLP receiver, such as a collector or Jaeger, by OpenTelemetry's own exporters.
// It is loaded only where traces are on.
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

/** How late a span is sent at the most, in milliseconds; one that is not sent yet dies with us. */
const SENT_AFTER_MS = 1_000;
/** Spans that wait to be sent; what comes past that is dropped. */
const WAITING_MAX = 20_000;
const BATCH = 512;
/** At the end all that waits is sent at once; an exporter refuses more batches than that. */
const BATCHES_MAX = Math.ceil(WAITING_MAX / BATCH) + 1;
/** Jaeger warns of a negative duration where a span ends when it starts. */
const SHORTEST_MS = 0.001;
const SAMPLED = 1;
const SCOPE = Object.freeze({ name: "drover" });
const ROLES = Object.freeze({
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  server: SpanKind.SERVER,
});

/** `onLost`: so many spans are gone, since there was no room or the receiver did not take them. */
export function createSpanSink(
  config: TraceConfig,
  log: Logger,
  onLost: (count: number) => void,
): SpanSink {
  // Who runs it may say in the environment what it is called: OTEL_SERVICE_NAME and the like.
  const said = [resourceAttributesEnvDetector, serviceNameEnvDetector];
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "drover" }))
    .merge(detectResources({ detectors: said }));
  // By another name, so that who lists the traces of `drover` finds runs.
  const name = `${resource.attributes["service.name"]}-server`;
  const own = resource.merge(resourceFromAttributes({ "service.name": name }));
  let waiting = 0;
  const processor = new BatchSpanProcessor({
    exporter: told(exporterOf(config), config.url, log, {
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
      // The processor has as much room, and would drop what is past it without a word.
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

/** Says when the receiver is away, and when it is there again; runs go on without it. */
function told(
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
          if (failed) log.warn(about, `spans do not get to ${url}, and are dropped`);
          else log.info(about, `spans get to ${url} again`);
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
