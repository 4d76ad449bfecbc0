/**
 * Client and agent of the SDK within a program that traces itself by OpenTelemetry: one trace from
 * the caller, through the server's spans, to what the handler does.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  trace,
} from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { type Call, createCall } from "../../../sdk/typescript/call.ts";
import { openChannel } from "../../../sdk/typescript/channel.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import { noCodec } from "../../../sdk/typescript/codec.ts";
import type { Handler } from "../../../sdk/typescript/handler.ts";
import type { Logger } from "../../../sdk/typescript/logger.ts";
import { createStarts } from "../../../sdk/typescript/starts.ts";
import { PermanentError } from "../../../sdk/typescript/task-errors.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { until } from "../../support/until.ts";

const exporter = new InMemorySpanExporter();
const tracer = trace.getTracer("test");
let receiver: OtlpReceiver;
let server: TestServer;

beforeAll(async () => {
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  );
  context.setGlobalContextManager(storedContexts());
  receiver = await startOtlpReceiver();
  const { url } = receiver;
  server = await startDroverServer(undefined, { trace: { url, protocol: "http", ratio: 1 } });
});
beforeEach(() => exporter.reset());
afterAll(async () => {
  await server?.stop();
  await receiver?.close();
  trace.disable();
  context.disable();
});

/** What an SDK of OpenTelemetry registers for Node. */
function storedContexts(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, of, ...given) => storage.run(active, () => work.call(of, ...given)),
    bind: (_active, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

let queues = 0;

async function runWith(handler: Handler, log: Logger = silentLog): Promise<string> {
  const { address } = server;
  const queue = `q${++queues}`;
  const client = createClient({ address });
  const agent = createAgent({
    address,
    id: queue,
    queues: [queue],
    handlers: { work: handler },
    log,
  });
  agent.start();
  onTestFinished(async () => {
    await agent.stop();
    client.close();
  });
  const steps = [{ id: "a", task: "work", queue }];
  const { runId } = await client.schedule({ workflow: { workflow: "w", steps } });
  await client.waitRun(runId);
  return runId;
}

const sent = (runId: string, of: string) =>
  until(`the span ${of}`, async () => {
    const found = receiver.spans.find(
      ({ name, attributes }) => name === of && attributes["drover.run.id"] === runId,
    );
    return found ?? null;
  });
const own = (of: string) => exporter.getFinishedSpans().find(({ name }) => name === of);

test("a run is below the span in which it was scheduled, a handler below its try", async () => {
  const runId = await tracer.startActiveSpan("order", async (span) => {
    try {
      return await runWith(async () => {
        await Promise.resolve();
        tracer.startActiveSpan("book", (booking) => booking.end());
      });
    } finally {
      span.end();
    }
  });
  const run = await sent(runId, "run w");
  const attempt = await sent(runId, "perform a");
  const [order, handler, book] = [own("order"), own("perform work"), own("book")];
  expect(run.traceId).toBe(order?.spanContext().traceId);
  expect(run.parentId).toBe(order?.spanContext().spanId);
  expect(handler?.parentSpanContext?.spanId).toBe(attempt.spanId);
  expect(handler?.kind).toBe(SpanKind.CONSUMER);
  expect(handler?.attributes).toEqual({
    "drover.run.id": runId,
    "drover.step.id": "a",
    "drover.attempt": 1,
    "drover.outcome": "success",
  });
  expect(book?.parentSpanContext?.spanId).toBe(handler?.spanContext().spanId);
  expect(book?.spanContext().traceId).toBe(run.traceId);
});

test("a handler that fails has failed in the trace, and its log names the span", async () => {
  const lines: object[] = [];
  const log = { ...silentLog, info: (fields: object) => void lines.push(fields) };
  const runId = await runWith((_task, { log: own }) => {
    own.info({}, "about to fail");
    throw new PermanentError("sold-out", "canary-7");
  }, log);
  await sent(runId, "run w");
  const handler = own("perform work");
  expect(handler?.status.message).toBe("sold-out");
  expect(handler?.attributes).toMatchObject({ "error.type": "sold-out" });
  expect(JSON.stringify(exporter.getFinishedSpans().map((span) => span.attributes))).not.toContain(
    "canary-7",
  );
  expect(lines).toContainEqual({
    run: runId,
    step: "a",
    attempt: 1,
    trace: handler?.spanContext().traceId,
    span: handler?.spanContext().spanId,
  });
});

test("runs that are scheduled together are each in the trace of their caller", async () => {
  const channel = openChannel(server);
  onTestFinished(() => channel.close());
  const real = createCall(channel, 30_000);
  const clock = createManualClock();
  const calls: string[] = [];
  const call: Call = (method, ...asked) => {
    calls.push(`${method.name} in ${trace.getSpanContext(context.active())?.spanId ?? "none"}`);
    return real(method, ...asked);
  };
  const { schedule } = createStarts(call, "", noCodec, clock);
  const workflow = { workflow: "w", steps: [{ id: "a", wait: "1ms" as const }] };
  const [first, second] = ["first", "second"].map((name) => tracer.startSpan(name));
  const within = async (span: Span | undefined) => {
    const active = span ? trace.setSpan(ROOT_CONTEXT, span) : ROOT_CONTEXT;
    const { runId } = await context.with(active, () => schedule({ workflow }));
    return { runId, traceId: span?.spanContext().traceId, spanId: span?.spanContext().spanId };
  };
  const lonely = await within(first);
  const runs = [lonely, ...(await Promise.all([first, second, undefined].map(within)))];
  // The first is alone, in its caller's trace; the others are together, and in none.
  expect(calls).toEqual([`Schedule in ${runs[0]?.spanId}`, "ScheduleBatch in none"]);
  for (const { runId, traceId, spanId } of runs.slice(0, 3)) {
    const { traceId: of, parentId } = await sent(runId, "run w");
    expect([of, parentId]).toEqual([traceId, spanId]);
  }
  const alone = await sent(runs[3]?.runId ?? "", "run w");
  expect(runs.map(({ traceId }) => traceId)).not.toContain(alone.traceId);
});
