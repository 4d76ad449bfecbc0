/** docs/TRACES.md: how runs are traced, with the catalogue of spans, and a trace as a picture. */
import { SPANS, type SpanSpec } from "../server/telemetry/spans.ts";

export function tracesPage(): string {
  const specs: Readonly<Record<string, SpanSpec>> = SPANS;
  const rows = Object.entries(specs).map(([of, { named, attributes, help }]) => {
    const name = named === "" ? `\`${of}\`` : `\`${of}\` *${named}*`;
    return `| ${name} | ${help} | ${attributes.map((one) => `\`${one}\``).join(", ")} |`;
  });
  return [HEAD, ["```", ...EXAMPLE, "```"].join("\n"), READING, rows.join("\n"), TAIL].join("\n");
}

/** What the receiver of test/e2e/traces.test.ts gets of its first run, to the letter. */
export const EXAMPLE: readonly string[] = Object.freeze([
  "run trip",
  "  queue flight",
  "  perform flight (drover.lost)",
  "  supervise lease",
  "  queue flight",
  "  perform flight",
  "  queue hotel",
  "  perform hotel (full)",
  "  backoff hotel",
  "  supervise backoff",
  "  queue hotel",
  "  perform hotel",
]);

const HEAD = `# Traces

<!-- Made by \`node docs/generate.ts\` from server/telemetry/spans.ts and docs/traces-page.ts. -->

A run is one trace in Jaeger, Tempo, or whatever else takes OTLP:

    drover server --trace http://127.0.0.1:4318     # OTLP over HTTP
    drover server --trace grpc://127.0.0.1:4317     # OTLP over gRPC

\`drover dev\` and \`drover supervisor\` take the same. Without \`--trace\` (or \`DROVER_TRACE\`), what OpenTelemetry has in the environment counts: \`OTEL_EXPORTER_OTLP_ENDPOINT\`, \`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT\`, \`OTEL_EXPORTER_OTLP_PROTOCOL\`, \`OTEL_EXPORTER_OTLP_HEADERS\`, \`OTEL_TRACES_SAMPLER\`, \`OTEL_SERVICE_NAME\`, \`OTEL_RESOURCE_ATTRIBUTES\`. With none of it nothing is traced, and nothing of OpenTelemetry's tracing is even loaded.

A run of which an agent was lost, and whose hotel was full at first; the server was killed in the middle:
`;

const READING = `
A silent agent's try ends as \`drover.lost\`, and *supervise lease* stands from the moment at which its heartbeat was due to the moment at which somebody acted: how late that was is its length. The next try links to the lost one. What the agents trace themselves stands below their try, since each task brings the \`traceparent\` of its own.

## Which trace a run is part of

- Whoever schedules a run within a trace of his own (the header \`traceparent\` of the call, or the field of the request) has it in that trace, below his span, and sampled if that is.
- Any other run is a trace of its own, whose id is the run's id without its dashes. \`--trace-share 0.1\` samples a tenth of them.
- It is decided once, when the run begins, and stored with it: whichever server goes on with the run, traces it as it began. A run that began while nothing was traced is not traced later, either.
- A child run and a re-run are traces of their own, with links to where they come from; a child is sampled if its parent is.

Ids of spans follow from the run, the step and the number of the hand-out. So no server has to remember a span that is open: the one that commits the end of a try sends its span, with the times of the database, and the one that commits the end of the run sends the root. Until then a receiver shows a trace without its root. A server that is killed takes the spans of its last second with it, and nothing else.

## Agents and callers

The SDKs use OpenTelemetry's API, so a program that registers an SDK of OpenTelemetry has its spans in the trace of the run, and any other notices nothing:

- an agent's handler runs within the span \`perform TASK\` (or verify, compensate), below that of its try: whatever it traces itself stands below. Lines of its log have \`traceId\` and \`spanId\`;
- \`schedule\` within a span of the caller begins a run in the caller's trace.

Without an SDK, a task's fields \`traceparent\` and \`tracestate\` are what W3C Trace Context has in headers: hand them on.

## The spans

Each has \`drover.run.id\`. No span has a payload, nor a text that an agent wrote: of a failure its code is told.

| span | what it is | attributes |
| --- | --- | --- |`;

const TAIL = `
A receiver that is away costs nothing but its spans: up to 20,000 wait, then they are dropped, and the log says \`traces.sent\` when it begins and when it ends.
`;
