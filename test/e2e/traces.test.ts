/**
 * A run is one trace, whichever processes took part: servers as processes over a real
 * PostgreSQL, agents over HTTP, and a real receiver of OTLP. Spans are compared as the tree that
 * people see.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXAMPLE, tracesPage } from "../../docs/traces-page.ts";
import { SERVER_SPANS, SPANS, type SpanSpec } from "../../server/telemetry/spans.ts";
import { type ServerProcess, spawnDroverServer } from "../support/drover-server.ts";
import { at, callJson, jsonAgent, listAt, textAt } from "../support/json-call.ts";
import {
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from "../support/otlp-receiver.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let receiver: OtlpReceiver;
let server: ServerProcess;

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startOtlpReceiver();
  server = await serve();
});
afterAll(async () => {
  await server?.signal("SIGKILL");
  await receiver?.close();
  await database?.drop();
});

const serve = () => spawnDroverServer(database.connectionString, "127.0.0.1:0", receiver.url);

async function start(definition: object, more: object = {}): Promise<string> {
  const asked = { definition, input: { json: '{"secret":"canary-7"}' }, ...more };
  const { body } = await callJson(server.address, "SchedulerService/Schedule", asked);
  return textAt(body, "runId");
}

let polls = 0;

/** The next task of the queue, and its traceparent. */
async function take(agent: ReturnType<typeof jsonAgent>, queue: string) {
  const { body } = await callJson(server.address, "AgentService/PollTask", {
    agent,
    pollSeq: String(++polls),
    queues: [{ name: queue }],
    maxTasks: 1,
    wait: "20s",
  });
  const task = listAt(body, "tasks")[0];
  const parent = String(at(task, "traceparent") ?? "");
  return { token: textAt(task, "taskToken"), traceparent: parent, key: textAt(task, "stepId") };
}

const report = (agent: ReturnType<typeof jsonAgent>, taskToken: string, outcome: object) =>
  callJson(server.address, "AgentService/Complete", { agent, results: [{ taskToken, outcome }] });

const spansOf = (runId: string) =>
  receiver.spans.filter(({ attributes }) => attributes["drover.run.id"] === runId);

/** All spans of a run that has ended: its root comes with the last of them, or after. */
function traced(runId: string): Promise<readonly ReceivedSpan[]> {
  return until(`the root span of ${runId}`, async () => {
    const spans = spansOf(runId);
    return spans.some(({ name }) => name.startsWith("run ")) ? spans : null;
  });
}

/** In the catalogue, whose order is that of what happens at one time. */
function positionOf({ name }: ReceivedSpan): number {
  return Object.keys(SPANS).indexOf(name.split(" ")[0] ?? "");
}

/** A trace as people read it: by time, each line below its parent. */
function tree(spans: readonly ReceivedSpan[]): readonly string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const below = (parents: (span: ReceivedSpan) => boolean, indent: string): readonly string[] =>
    spans
      .filter(parents)
      .sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs || positionOf(a) - positionOf(b))
      .flatMap((span) => [
        `${indent}${span.name}${span.error === null ? "" : ` (${span.error})`}`,
        ...below(({ parentId }) => parentId === span.spanId, `${indent}  `),
      ]);
  return below(({ parentId }) => !ids.has(parentId), "");
}

const task = (queue: string, more: object = {}) => ({ name: "work", queue, ...more });

describe("the trace of a run", () => {
  it("has each try, each wait and each intervention, though servers change in the middle", async () => {
    const runId = await start({
      workflow: "trip",
      steps: [
        { id: "flight", timeouts: { heartbeat: "2s" }, task: task("flights") },
        {
          id: "hotel",
          needs: ["flight"],
          task: task("hotels"),
          retry: [{ attempts: 2, initial: "0.02s" }],
        },
      ],
    });
    await take(jsonAgent("silent"), "flights");
    const agent = jsonAgent("steady");
    await report(agent, (await take(agent, "flights")).token, { success: {} });
    await report(agent, (await take(agent, "hotels")).token, {
      failed: { code: "full", message: "canary-7", failureClass: "FAILURE_CLASS_TRANSIENT" },
    });
    const last = await take(agent, "hotels");
    // All spans but the two that are still open: those of the run and of its last try.
    const before = EXAMPLE.length - 2;
    await until("the spans so far", () => (spansOf(runId).length >= before ? true : null));
    await server.signal("SIGKILL");
    server = await serve();
    await report(agent, last.token, { success: {} });

    const spans = await traced(runId);
    expect(tree(spans)).toEqual(EXAMPLE);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(
      new Set([runId.replaceAll("-", "")]),
    );
    const tries = spans.filter(({ name }) => name.startsWith("perform "));
    expect(last.traceparent).toBe(`00-${tries[3]?.traceId}-${tries[3]?.spanId}-01`);
    expect(tries[1]?.links).toEqual([{ traceId: tries[0]?.traceId, spanId: tries[0]?.spanId }]);
    const [lease] = spans.filter(({ name }) => name === "supervise lease");
    expect(lease?.links).toEqual(tries[1]?.links);
    expect(lease?.attributes).toMatchObject({ "drover.step.id": "flight" });
    expect(lease?.startMs).toBeLessThanOrEqual(lease?.endMs ?? 0);
  });

  it("is under the span of its caller, and is sampled as that is", async () => {
    const definition = { workflow: "called", steps: [{ id: "a", task: task("called") }] };
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const callerId = "00f067aa0ba902b7";
    const traceparent = `00-${traceId}-${callerId}-01`;
    const runId = await start(definition, { traceparent, tracestate: "vendor=1" });
    const quiet = await start(definition, { traceparent: `00-${traceId}-${callerId}-00` });
    const agent = jsonAgent("called");
    for (let n = 0; n < 2; n++)
      await report(agent, (await take(agent, "called")).token, { success: {} });
    const spans = await traced(runId);
    expect(tree(spans)).toEqual(["run called", "  queue a", "  perform a"]);
    expect(spans.every((span) => span.traceId === traceId && span.state === "vendor=1")).toBe(true);
    expect(spans.find(({ name }) => name === "run called")?.parentId).toBe(callerId);
    // Jaeger warns of one that ends when it starts.
    expect(spans.filter((span) => span.endMs <= span.startMs)).toEqual([]);
    expect(spansOf(quiet)).toEqual([]);
  });

  it("shows how a run was stopped, asked about and undone", async () => {
    const runId = await start({
      workflow: "undone",
      steps: [
        { id: "pay", task: task("pay"), compensate: { task: "refund", queue: "pay" } },
        { id: "ship", needs: ["pay"], task: task("ship"), onFailure: "ON_FAILURE_ESCALATE" },
      ],
    });
    const agent = jsonAgent("shop");
    await report(agent, (await take(agent, "pay")).token, { success: {} });
    await report(agent, (await take(agent, "ship")).token, {
      failed: { code: "gone", message: "canary-7", failureClass: "FAILURE_CLASS_PERMANENT" },
    });
    const answered = await until("the answer", async () => {
      const { status } = await callJson(server.address, "OperatorService/ResolveEscalation", {
        run: { runId },
        escalationId: "1",
        answer: "compensate",
        by: "ann",
        why: "gone",
      });
      return status === 200 ? true : null;
    });
    expect(answered).toBe(true);
    await report(agent, (await take(agent, "pay")).token, { success: {} });
    expect(tree(await traced(runId))).toEqual([
      "run undone",
      "  queue pay",
      "  perform pay",
      "  queue ship",
      "  perform ship (gone)",
      "  escalation step-failed",
      "  stop",
      "  failure ship (drover.answered)",
      "  queue pay",
      "  compensate pay",
    ]);
  });

  it("links to the trace of the run that one of its steps began, and back", async () => {
    const child = { workflow: "inner", steps: [{ id: "a", wait: { for: "0.01s" } }] };
    await callJson(server.address, "SchedulerService/RegisterWorkflow", { definition: child });
    const runId = await start({
      workflow: "outer",
      steps: [{ id: "sub", run: { workflow: "inner" } }],
    });
    const spans = await traced(runId);
    const [sub] = spans.filter(({ name }) => name === "child sub");
    const inner = await until("the child's root", async () => {
      const found = receiver.spans.find(({ name }) => name === "run inner");
      return found ?? null;
    });
    expect(sub?.links).toEqual([{ traceId: inner.traceId, spanId: inner.spanId }]);
    expect(inner.links).toEqual([{ traceId: sub?.traceId, spanId: sub?.spanId }]);
    expect(inner.traceId).not.toBe(sub?.traceId);
  });

  it("links to the trace of the run that it does again", async () => {
    const definition = { workflow: "twice", steps: [{ id: "a", wait: { for: "0.01s" } }] };
    await callJson(server.address, "SchedulerService/RegisterWorkflow", { definition });
    const first = await start({ workflow: "twice", steps: definition.steps });
    const [before] = (await traced(first)).filter(({ name }) => name === "run twice");
    const { body } = await callJson(server.address, "SchedulerService/RerunFrom", {
      run: { runId: first },
      requestId: "again",
    });
    const again = textAt(body, "runId");
    const [root] = (await traced(again)).filter(({ name }) => name === "run twice");
    expect(root?.traceId).toBe(again.replaceAll("-", ""));
    expect(root?.links).toEqual([{ traceId: before?.traceId, spanId: before?.spanId }]);
  });

  it("is linked to by the transactions that began it, handed out its task and ended it", async () => {
    const definition = { workflow: "batched", steps: [{ id: "a", task: task("batched") }] };
    const runId = await start(definition);
    const agent = jsonAgent("batched");
    await report(agent, (await take(agent, "batched")).token, { success: {} });
    const spans = await traced(runId);
    const idOf = (named: string) => spans.find(({ name }) => name.startsWith(named))?.spanId;
    const batches = await until("the batches of the run", async () => {
      const own = new Set(spans.map(({ spanId }) => spanId));
      const found = receiver.spans.filter(
        ({ name, links }) =>
          name.startsWith("batch ") && links.some(({ spanId }) => own.has(spanId)),
      );
      return found.length >= 3 ? found : null;
    });
    const linked = batches.map(({ name, links }) => [name, links.map(({ spanId }) => spanId)]);
    expect(linked.sort()).toEqual([
      ["batch advance", [idOf("run ")]],
      ["batch claim", [idOf("perform ")]],
      ["batch schedule", [idOf("run ")]],
    ]);
    for (const { service, parentId, kind } of batches)
      expect({ service, parentId, kind }).toEqual({
        service: "drover-server",
        parentId: "",
        kind: 1,
      });
    expect(new Set(batches.map(({ traceId }) => traceId)).size).toBe(3);
  });

  it("has the calls of a caller that is traced itself, and how they ended", async () => {
    const traceId = "5bf92f3577b34da6a3ce929d0e0e4736";
    const callerId = "10f067aa0ba902b7";
    const call = (flags: string, run: string) =>
      callJson(
        server.address,
        "SchedulerService/GetRun",
        { run: { runId: run } },
        { traceparent: `00-${traceId}-${callerId}-${flags}` },
      );
    const runId = await start({ workflow: "asked", steps: [{ id: "a", wait: { for: "3600s" } }] });
    await call("00", runId);
    await call("01", runId);
    await call("01", "018bcfe5-0000-7000-8000-000000000000");
    const calls = await until("both spans", async () => {
      const found = receiver.spans.filter((span) => span.traceId === traceId);
      return found.length >= 2 ? found : null;
    });
    const method = { "rpc.method": "drover.v1.SchedulerService/GetRun" };
    expect(calls).toMatchObject([
      { name: "call GetRun", service: "drover-server", kind: 2, error: null, attributes: method },
      { name: "call GetRun", parentId: callerId, kind: 2, error: "RUN_NOT_FOUND" },
    ]);
    expect(calls).toHaveLength(2);
  });

  it("is what the page docs/TRACES.md shows, whose catalogue is the server's", () => {
    const path = join(import.meta.dirname, "../../docs/TRACES.md");
    expect(readFileSync(path, "utf8"), "run `node docs/generate.ts`").toBe(tracesPage());
  });

  it("is made of spans of the catalogue alone, and holds no payload", () => {
    const specs: Readonly<Record<string, SpanSpec>> = { ...SPANS, ...SERVER_SPANS };
    for (const { name, attributes } of receiver.spans) {
      const spec = specs[name.split(" ")[0] ?? ""];
      expect(spec, name).toBeDefined();
      const known = new Set(["drover.run.id", ...(spec?.attributes ?? [])]);
      const others = Object.keys(attributes).filter((one) => !known.has(one));
      expect(others, name).toEqual([]);
    }
    expect(JSON.stringify(receiver.spans)).not.toContain("canary-7");
  });
});
