/**
 * The demo in a real Jaeger: 25 runs by three agents, one of which is killed, are 25 traces, each a
 * whole tree. Jaeger is built by Go, once; where it is not built the test is skipped, with a
 * message.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { LANGUAGES } from "../../docs/traces-page.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { needsGo } from "../support/go-tool.ts";
import {
  type Jaeger,
  type JaegerSpan,
  type JaegerTrace,
  needsJaeger,
  startJaeger,
} from "../support/jaeger.ts";
import { callJson, textAt } from "../support/json-call.ts";
import { endForLack } from "../support/required-tools.ts";
import { prepareTracedAgents } from "../support/traced-agents.ts";
import { until } from "../support/until.ts";

const demo = fileURLToPath(new URL("../../agents-examples/holiday/demo.ts", import.meta.url));
const RUNS = 25;
const buildMsMax = 1_200_000;
const demoMsMax = 150_000;

beforeEach(async (context) => {
  await needsGo(context);
  await needsJaeger(context);
}, buildMsMax);

async function jaeger(): Promise<Jaeger> {
  const started = await startJaeger();
  onTestFinished(() => started.stop());
  return started;
}

function parentOf(span: JaegerSpan): string | undefined {
  return span.references.find(({ refType }) => refType === "CHILD_OF")?.spanID;
}

test(
  "each run of the demo is one trace, with its tries and the agents' own spans below them",
  async () => {
    const receiver = await jaeger();
    const child = spawn(process.execPath, [demo, "--trace", receiver.http], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [output, ended] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect(ended, output).toEqual([0, null]);
    expect(output).toMatch(/SIGKILL for hotel-\d+, in the middle of holiday-/);

    const traces = await until("all traces", async () => {
      const found = await receiver.traces("drover", 100);
      const whole = found.filter(({ spans }) => spans.some((span) => !parentOf(span)));
      return whole.length >= RUNS ? found : null;
    });
    expect(traces).toHaveLength(RUNS);
    const services = new Set<string>();
    for (const { spans, processes } of traces) {
      const serviceOf = ({ processID }: JaegerSpan) => processes[processID]?.serviceName ?? "";
      const byId = new Map(spans.map((span) => [span.spanID, span]));
      const roots = spans.filter((span) => parentOf(span) === undefined);
      expect(roots.map(({ operationName }) => operationName)).toEqual(["run book-holiday"]);
      // No span lacks its parent, whichever process was killed.
      for (const span of spans) {
        const parent = parentOf(span);
        if (parent !== undefined) expect(byId.has(parent), span.operationName).toBe(true);
        services.add(serviceOf(span));
      }
      for (const span of spans.filter((one) => serviceOf(one) !== "drover")) {
        const above = byId.get(parentOf(span) ?? "");
        expect(above && serviceOf(above)).toBe("drover");
        expect(above?.operationName.split(" ")[0]).toBe(span.operationName.split(" ")[0]);
      }
    }
    expect([...services].sort()).toEqual(["car-agent", "drover", "flight-agent", "hotel-agent"]);
    const names = traces.flatMap(({ spans }) => spans.map(({ operationName }) => operationName));
    expect(names).toContain("supervise lease");
    expect(names.some((name) => name.startsWith("compensate "))).toBe(true);
  },
  buildMsMax,
);

test(
  "a run over agents in TypeScript, Go and Python is one trace, their own spans below their tries",
  async (context) => {
    const agents = await prepareTracedAgents();
    if ("missing" in agents) return endForLack(context, "python3", agents.missing);
    const receiver = await jaeger();
    const url = `${receiver.http}/v1/traces`;
    const trace = { url, protocol: "http", ratio: 1 } as const;
    const server = await startDroverServer(undefined, { trace });
    onTestFinished(() => server.stop());
    const processes = agents.start(server.address, receiver.http);
    onTestFinished(() => {
      for (const child of processes) child.kill("SIGKILL");
    });
    const steps = agents.languages.map((queue, index) => ({
      id: `by-${queue}`,
      task: { name: "book", queue },
      needs: agents.languages.slice(0, index).map((before) => `by-${before}`),
    }));
    const definition = { workflow: "trip", steps };
    await callJson(server.address, "SchedulerService/Schedule", { definition });
    const lines = await until(
      "the whole trace",
      async () => {
        const [found] = await receiver.traces("drover", 10);
        return found && found.spans.length >= LANGUAGES.length ? tree(found) : null;
      },
      60_000,
    );
    expect(lines).toEqual(LANGUAGES);
  },
  buildMsMax,
);

function tree({ spans, processes }: JaegerTrace): readonly string[] {
  const below = (parent: string | undefined, indent: string): readonly string[] =>
    spans
      .filter((span) => parentOf(span) === parent)
      .sort((a, b) => a.startTime - b.startTime || a.duration - b.duration)
      .flatMap((span) => [
        `${indent}${span.operationName} [${processes[span.processID]?.serviceName}]`,
        ...below(span.spanID, `${indent}  `),
      ]);
  return below(undefined, "");
}

test(
  "a server sends over gRPC as well",
  async () => {
    const receiver = await jaeger();
    const url = receiver.grpc.replace("grpc:", "http:");
    const trace = { url, protocol: "grpc", ratio: 1 } as const;
    const server = await startDroverServer(undefined, { trace });
    onTestFinished(() => server.stop());
    const definition = { workflow: "short", steps: [{ id: "a", wait: { for: "0.01s" } }] };
    const { body } = await callJson(server.address, "SchedulerService/Schedule", { definition });
    const runId = textAt(body, "runId");
    const [found] = await until("its trace", async () => {
      const traces = await receiver.traces("drover", 10);
      return traces.length > 0 ? traces : null;
    });
    expect(found?.traceID).toBe(runId.replaceAll("-", ""));
    const names = found?.spans.map(({ operationName }) => operationName).sort();
    expect(names).toEqual(["run short", "supervise timer", "wait a"]);
  },
  buildMsMax + demoMsMax,
);
