/** Spans that get to no receiver are counted: it refuses them, or there is no room to wait. */
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { createSpanSink } from "../../../server/telemetry/span-exporter.ts";
import type { SpanData } from "../../../server/telemetry/spans.ts";
import { startOtlpReceiver } from "../../support/otlp-receiver.ts";

const MORE_THAN_WAIT = 25_000;
const SPAN: SpanData = {
  of: "run",
  name: "run w",
  role: "internal",
  startMs: 0,
  endMs: 1,
  error: null,
  attributes: {},
  links: [],
  traceId: "ab".repeat(16),
  spanId: "cd".repeat(8),
  parentId: null,
  state: "",
};

function sinkOf(url: string) {
  const lost: number[] = [];
  const log = pino({ level: "silent" });
  const config = { url, protocol: "http", ratio: 1 } as const;
  const sink = createSpanSink(config, log, (count) => lost.push(count));
  onTestFinished(() => sink.stop());
  return { sink, lost: () => lost.reduce((sum, count) => sum + count, 0) };
}

test("none is lost that the receiver takes", async () => {
  const receiver = await startOtlpReceiver();
  onTestFinished(() => receiver.close());
  const { sink, lost } = sinkOf(receiver.url);
  sink.take(Array.from({ length: 1_000 }, () => SPAN));
  await sink.stop();
  expect(receiver.spans).toHaveLength(1_000);
  expect(lost()).toBe(0);
});

test("each is lost that the receiver refuses", async () => {
  const receiver = await startOtlpReceiver();
  onTestFinished(() => receiver.close());
  const { sink, lost } = sinkOf(`${receiver.url}/without-service`);
  sink.take(Array.from({ length: 1_000 }, () => SPAN));
  await sink.stop();
  expect(lost()).toBe(1_000);
});

test("what there is no room for is lost at once, and all others come", async () => {
  const receiver = await startOtlpReceiver();
  onTestFinished(() => receiver.close());
  const { sink, lost } = sinkOf(receiver.url);
  sink.take(Array.from({ length: MORE_THAN_WAIT }, () => SPAN));
  const lostAtOnce = lost();
  expect(lostAtOnce).toBeGreaterThan(0);
  await sink.stop();
  expect(receiver.spans.length + lostAtOnce).toBe(MORE_THAN_WAIT);
  expect(lost()).toBe(lostAtOnce);
});
