/** docs/TRACES.md: how runs are traced, with the catalogue of spans, and a trace as a picture. */
import { SERVER_SPANS, SPANS, type SpanSpec } from "../server/telemetry/spans.ts";

export function tracesPage(): string {
  return [
    HEAD,
    ["```", ...EXAMPLE, "```"].join("\n"),
    READING,
    ["```", ...LANGUAGES, "```"].join("\n"),
    SPANS_HEAD,
    table(SPANS),
    SERVER_SPANS_HEAD,
    table(SERVER_SPANS),
    TAIL,
  ].join("\n");
}

function table(specs: Readonly<Record<string, SpanSpec>>): string {
  const rows = Object.entries(specs).map(([of, { named, attributes, help }]) => {
    const name = named === "" ? `\`${of}\`` : `\`${of}\` *${named}*`;
    return `| ${name} | ${help} | ${attributes.map((one) => `\`${one}\``).join(", ")} |`;
  });
  return ["| span | what it is | attributes |", "| --- | --- | --- |", ...rows].join("\n");
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

/** What Jaeger has of a run over three languages, to the letter (test/e2e/jaeger.test.ts). */
export const LANGUAGES: readonly string[] = Object.freeze([
  "run trip [drover]",
  "  queue by-typescript [drover]",
  "  perform by-typescript [drover]",
  "    perform book [typescript-agent]",
  "      ask the airline [typescript-agent]",
  "  queue by-go [drover]",
  "  perform by-go [drover]",
  "    perform book [go-agent]",
  "      ask the hotel [go-agent]",
  "  queue by-python [drover]",
  "  perform by-python [drover]",
  "    perform book [python-agent]",
  "      ask the car rental [python-agent]",
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
One of the 25 holidays that \`npm run demo -- --trace http://127.0.0.1:4318\` books, as Jaeger has it: when each began, how long it took, and in brackets who traced it. The flight's service hung; whether it had booked was found out before anything else was done. The agent that booked hotels was killed:

\`\`\`
  0.00 s  10.19 s  run book-holiday  [drover]
  0.00 s   2.44 s    queue flight  [drover]
  2.44 s   2.40 s    perform flight (timed-out)  [drover]
  2.73 s   2.01 s      perform book-flight (timed-out)  [flight-agent]
  4.84 s   0.00 s    queue flight  [drover]
  4.84 s   0.31 s    verify flight (broken)  [drover]
  5.04 s   0.02 s      verify find-flight (broken)  [flight-agent]
  5.15 s   0.24 s    backoff flight  [drover]
  5.38 s   0.20 s    supervise backoff  [drover]
  5.58 s   0.00 s    queue flight  [drover]
  5.58 s   0.39 s    verify flight  [drover]
  5.70 s   0.02 s      verify find-flight  [flight-agent]
  5.97 s   0.00 s    queue hotel  [drover]
  5.97 s   0.00 s    queue car  [drover]
  5.97 s   0.91 s    perform car  [drover]
  6.15 s   0.71 s      perform book-car  [car-agent]
  5.97 s   2.07 s    perform hotel (drover.lost)  [drover]
  7.97 s   0.07 s    supervise lease  [drover]
  8.05 s   1.85 s    queue hotel  [drover]
  9.90 s   0.29 s    perform hotel  [drover]
 10.06 s   0.05 s      perform book-hotel  [hotel-agent]
\`\`\`

A silent agent's try ends as \`drover.lost\`, and *supervise lease* stands from the moment at which its heartbeat was due to the moment at which somebody acted: how late that was is its length. The next try links to the lost one. What the agents trace themselves stands below their try, since each task brings the \`traceparent\` of its own.

## Which trace a run is part of

- Whoever schedules a run within a trace of his own (the header \`traceparent\` of the call, or the field of the request) has it in that trace, below his span, and sampled if that is.
- Any other run is a trace of its own, whose id is the run's id without its dashes. \`--trace-share 0.1\` samples a tenth of them.
- It is decided once, when the run begins, and stored with it: whichever server goes on with the run, traces it as it began. A run that began while nothing was traced is not traced later, either.
- A child run and a re-run are traces of their own, with links to where they come from; a child is sampled if its parent is.

Ids of spans follow from the run, the step and the number of the hand-out. So no server has to remember a span that is open: the one that commits the end of a try sends its span, with the times of the database, and the one that commits the end of the run sends the root. Until then a receiver shows a trace without its root. A server that is killed takes the spans of its last second with it, and nothing else.

## Agents and callers

The SDKs use OpenTelemetry's API, so a program that registers an SDK of OpenTelemetry has its spans in the trace of the run, and any other notices nothing:

- an agent's handler runs within the span \`perform TASK\` (or verify, compensate), below that of its try: whatever it traces itself stands below. Lines of its log have the ids of the trace and of that span, as \`trace\` and \`span\`; in Python \`span\` is whichever is current, so one of its own within that;
- \`schedule\` within a span of the caller begins a run in the caller's trace.

Without the Drover SDK, a task's fields \`traceparent\` and \`tracestate\` are what W3C Trace Context has in headers: hand them on.

A run over agents in TypeScript, Go and Python, each with an SDK of OpenTelemetry and a span of its own, and in brackets who sent it:
`;

const SPANS_HEAD = `
## The spans

Each has \`drover.run.id\`. No span has a payload, nor a text that an agent wrote: of a failure its code is told.
`;

const SERVER_SPANS_HEAD = `
## The server's own work

A transaction carries what many callers and many runs want at once, so it belongs to none of their traces: it has its own, which lead to them by links. They are sent as the service \`drover-server\`, so that a list of the traces of \`drover\` is one of runs. Search there for the operation \`flight advance\` to see how long commits take, and whose they were.
`;

const TAIL = `
## The same as lines of a log

With \`--log info\` (or \`DROVER_LOG=info\`) a server says each span of a run as a line when it is over, of every run, whether it is traced or not: pretty on a terminal, else one JSON object, with the span's name as \`event\`, its length as \`ms\`, its attributes by their short names (\`run\`, \`step\`, \`attempt\`, \`agent\`, \`outcome\`), and \`trace\` and \`span\` where the run is part of a trace. By default only what is wrong is said.

## When the receiver is away

A receiver that is away costs nothing but its spans: up to 20,000 wait, then they are dropped and counted (\`drover_spans_lost_total\`), and the log says \`traces.sent\` when it begins and when it ends.
`;
