/** docs/TRACES.md: how runs are traced, with the catalogue of spans, and a trace as a picture. */
import { SERVER_SPANS, SPANS, type SpanSpec } from "../server/telemetry/spans.ts";

export function tracesPage(): string {
  return [
    HEAD,
    ["```text", ...EXAMPLE, "```"].join("\n"),
    READING,
    ["```text", ...LANGUAGES, "```"].join("\n"),
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

After reading this page you can send the traces of runs to Jaeger, Tempo or any other receiver of OTLP, read them, and connect them with the traces of your own services. Each run is one trace:

    drover server --trace http://127.0.0.1:4318     # OTLP over HTTP
    drover server --trace grpc://127.0.0.1:4317     # OTLP over gRPC

\`drover dev\` and \`drover supervisor\` take the same option. Without \`--trace\` (or \`DROVER_TRACE\`), the environment variables of OpenTelemetry apply: \`OTEL_EXPORTER_OTLP_ENDPOINT\`, \`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT\`, \`OTEL_EXPORTER_OTLP_PROTOCOL\`, \`OTEL_EXPORTER_OTLP_HEADERS\`, \`OTEL_TRACES_SAMPLER\`, \`OTEL_SERVICE_NAME\`, \`OTEL_RESOURCE_ATTRIBUTES\`. Without any of these, the server traces nothing and does not load OpenTelemetry's tracing.

With \`--trace-link http://localhost:16686/trace/{trace_id}\` (or \`DROVER_TRACE_LINK\`), the dashboard links each sampled run to its trace, and \`drover run show\` prints the address. \`drover server\` and \`drover dev\` replace \`{trace_id}\` by the id of the trace; the viewer may be Jaeger, Grafana, or any other with an address for each trace.

## Example traces

In this run an agent was lost, and the hotel was full at first. The server was killed in the middle:
`;

const READING = `
The command \`npm run demo -- --trace http://127.0.0.1:4318\` books 25 holidays. Below is one of them as Jaeger shows it: the start of each span, its length, and in brackets the service that sent it. The flight service hung, so a verify task first found out whether the flight was booked. The agent that booked hotels was killed:

\`\`\`text
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

The task of a silent agent ends as \`drover.lost\`. The span *supervise lease* lasts from the time when the heartbeat was due to the time when the supervisor acted, so its length is the delay of the supervisor. The span of the next try links to the lost one. The agent's own spans are children of the span of their task, because each task carries its own \`traceparent\`.

## Trace of a run

- If the caller starts a run within a trace of its own (the header \`traceparent\` of the call, or the field of the request), the run is part of that trace, below the caller's span. The run is sampled if the caller's trace is sampled.
- Any other run is a trace of its own, whose id is the run's id without the dashes. \`--trace-share 0.1\` samples a tenth of these runs.
- The server decides this once, when the run begins, and stores the decision with the run. Every server that continues the run follows it. A run that began while tracing was off is never traced.
- A child run and a re-run are traces of their own, with links to the run that they come from. A child is sampled if its parent is.

The id of a span is computed from the run, the step and the fence of the task, so no server has to remember open spans. The server that commits the end of a task sends its span, with the times of the database. The server that commits the end of the run sends the root; until then a receiver shows a trace without a root. A server that is killed loses the spans of its last second, and nothing else.

## Spans of agents and callers

The SDKs use the API of OpenTelemetry. A program that registers an SDK of OpenTelemetry has its spans in the trace of the run; for any other program nothing changes:

- The handler of an agent runs within the span \`perform TASK\` (or \`verify TASK\`, \`compensate TASK\`), below the server's span of the task. The handler's own spans are its children. The lines of the agent's log have the ids of the trace and of this span as \`trace\` and \`span\`. In Python, \`span\` is the current span, which can be one of the handler's own.
- \`schedule\` within a span of the caller starts a run in the caller's trace.

An agent without a Drover SDK passes on the fields \`traceparent\` and \`tracestate\` of the task: they have the values of the headers of W3C Trace Context.

This run used agents in TypeScript, Go and Python, each with an SDK of OpenTelemetry and a span of its own. The service that sent a span is in brackets:
`;

const SPANS_HEAD = `
## Spans of a run

Each span has \`drover.run.id\`. No span contains a payload or a text that an agent wrote; of a failure it contains the code only.
`;

const SERVER_SPANS_HEAD = `
## Spans of the server

A transaction does the work of many callers and many runs at once, so it is part of none of their traces. It has a trace of its own, with links to theirs. The server sends these spans as the service \`drover-server\`, so that the traces of the service \`drover\` are runs only. Search in \`drover-server\` for the operation \`batch advance\` to see how long commits take and which runs they were for.
`;

const TAIL = `
## Spans as log lines

With \`--log info\` (or \`DROVER_LOG=info\`) a server writes a log line at the end of each span of every run, traced or not. On a terminal the line is formatted for people; otherwise it is a JSON object. It has the name of the span as \`event\`, its length as \`ms\`, its attributes by their short names (\`run\`, \`step\`, \`attempt\`, \`agent\`, \`outcome\`), and \`trace\` and \`span\` if the run is part of a trace. By default the server logs only what is wrong.

## Unreachable receivers

While the receiver cannot be reached, only spans are lost. Up to 20,000 spans wait; the server drops and counts the others (\`drover_spans_lost_total\`). The log line \`traces.sent\` reports when this starts and when it ends.
`;
