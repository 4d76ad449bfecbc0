/**
 * A program that has registered version 2 of OpenTelemetry's SDK, starts a run within a span of its
 * own and performs it. Prints its spans as JSON.
 */

import { createAgent, createClient } from "@drover/sdk";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(provider);

const address = process.env.DROVER_ADDRESS ?? "";
const tracer = trace.getTracer("program");
const agent = createAgent({
  id: "traced",
  address,
  handlers: {
    book: async () => tracer.startActiveSpan("ask the airline", async (span) => span.end()),
  },
});
agent.start();
const client = createClient({ address });
const definition = { workflow: "trip", steps: [{ id: "a", task: "book" }] };
const { runId } = await tracer.startActiveSpan("request", async (span) => {
  const scheduled = await client.schedule({ workflow: definition });
  span.end();
  return scheduled;
});
const { state } = await client.waitRun(runId);
await agent.stop();
client.close();
const spans = exporter.getFinishedSpans().map((span) => ({
  name: span.name,
  traceId: span.spanContext().traceId,
  id: span.spanContext().spanId,
  parentId: span.parentSpanContext?.spanId ?? "",
}));
process.stdout.write(JSON.stringify({ state, spans }));
