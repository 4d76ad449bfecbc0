/**
 * What a server measures, as Prometheus reads it: by HTTP from a real server, after real work. The
 * catalogue is what is there, and what is there is the catalogue.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { metricsPage } from "../../../docs/metrics-page.ts";
import { CATALOGUE, type MetricSpec } from "../../../server/telemetry/metric-list.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { callJson, jsonAgent, listAt, textAt } from "../../support/json-call.ts";
import { until } from "../../support/until.ts";

const SPECS: Readonly<Record<string, MetricSpec>> = CATALOGUE;

let server: TestServer;

beforeAll(async () => {
  server = await startDroverServer();
});
afterAll(async () => {
  await server?.stop();
});

async function scrape(): Promise<string> {
  const response = await fetch(`http://${server.address}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  return response.text();
}

/** The value of one series, as it is written; undefined: it is not there. */
function seriesValue(text: string, series: string): number | undefined {
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

async function start(definition: object): Promise<string> {
  const { body } = await callJson(server.address, "SchedulerService/Schedule", {
    definition,
  });
  return textAt(body, "runId");
}

async function take(agent: ReturnType<typeof jsonAgent>, queue: string): Promise<string> {
  const { body } = await callJson(server.address, "AgentService/PollTask", {
    agent,
    pollSeq: "1",
    queues: [{ name: queue }],
    maxTasks: 1,
    wait: "10s",
  });
  return textAt(listAt(body, "tasks")[0], "taskToken");
}

const report = (
  agent: ReturnType<typeof jsonAgent>,
  taskToken: string,
  outcome: object = { success: {} },
) =>
  callJson(server.address, "AgentService/Complete", {
    agent,
    results: [{ taskToken, outcome }],
  });

const ended = (runId: string, end = "RUN_STATE_COMPLETED") =>
  until("the run ends", async () => {
    const { body } = await callJson(server.address, "SchedulerService/GetRun", { run: { runId } });
    const state = textAt(body, "run", "state");
    return state === end ? state : null;
  });

describe("/metrics of a server that has worked", () => {
  it("counts what was done, exactly", async () => {
    const plain = await start({
      workflow: "plain",
      steps: [{ id: "a", task: { name: "work", queue: "plain" } }],
    });
    const agent = jsonAgent("steady");
    await report(agent, await take(agent, "plain"));
    await ended(plain);

    const lossy = await start({
      workflow: "lossy",
      steps: [{ id: "a", timeouts: { heartbeat: "2s" }, task: { name: "work", queue: "lossy" } }],
    });
    await take(jsonAgent("silent"), "lossy");
    // It sends nothing more: after two seconds the supervisor gives the task to another.
    const other = jsonAgent("other");
    await report(other, await take(other, "lossy"));
    await ended(lossy);

    const failing = await start({
      workflow: "failing",
      steps: [{ id: "a", task: { name: "work", queue: "failing" } }],
    });
    const failed = { code: "declined", message: "no", failureClass: "FAILURE_CLASS_PERMANENT" };
    await report(agent, await take(agent, "failing"), { failed });
    await ended(failing, "RUN_STATE_FAILED");

    const text = await scrape();
    const series: Readonly<Record<string, number>> = {
      drover_runs_started_total: 3,
      'drover_runs_ended_total{state="COMPLETED"}': 2,
      'drover_runs_ended_total{state="FAILED"}': 1,
      drover_steps_failed_total: 1,
      'drover_attempts_total{task="perform",outcome="success"}': 2,
      'drover_attempts_total{task="perform",outcome="failure"}': 1,
      'drover_attempts_total{task="perform",outcome="unknown"}': 1,
      'drover_tasks_granted_total{task="perform"}': 4,
      drover_task_wait_seconds_count: 4,
      'drover_interventions_total{rule="lease"}': 1,
      'drover_detection_seconds_count{rule="lease"}': 1,
      drover_recovery_seconds_count: 1,
      drover_partitions_owned: 256,
      drover_partitions_unowned: 0,
      drover_overdue_seconds: 0,
      'drover_overdue_rows{of="lease"}': 0,
      drover_polls_parked: 0,
      drover_agent_sessions: 3,
      drover_degraded: 0,
      'drover_runs_open{state="RUNNING"}': 0,
      drover_tasks_waiting: 0,
      drover_tasks_waiting_seconds: 0,
      drover_escalations_open: 0,
      'drover_circuits_open{of="queue"}': 0,
      drover_agents_failing: 0,
      'drover_database_waiting{pool="hot"}': 0,
    };
    const found = Object.keys(series).map((name) => [name, seriesValue(text, name)]);
    expect(Object.fromEntries(found)).toEqual(series);
  });

  it("has every metric of the catalogue, with its type and its help, and no other", async () => {
    const text = await scrape();
    const typed = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [
      name,
      type,
    ]);
    expect(Object.fromEntries(typed)).toEqual(
      Object.fromEntries(Object.entries(SPECS).map(([name, { type }]) => [name, type])),
    );
    for (const [name, { help }] of Object.entries(SPECS))
      expect(text).toContain(`# HELP ${name} ${help}\n`);
  });

  it("reports what the process takes", async () => {
    const text = await scrape();
    const age = Date.now() / 1_000 - (seriesValue(text, "drover_process_start_time_seconds") ?? 0);
    expect(age).toBeGreaterThan(0);
    expect(age).toBeLessThan(600);
    expect(seriesValue(text, "drover_process_memory_bytes")).toBeGreaterThan(10_000_000);
    expect(seriesValue(text, "drover_process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(seriesValue(text, "drover_process_loop_seconds_total")).toBeGreaterThan(0);
  });

  it("labels each series with the labels of the catalogue, and none with an id", async () => {
    const text = await scrape();
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    expect(lines.length).toBeGreaterThan(50);
    for (const line of lines) {
      const name = /^\w+/.exec(line)?.[0] ?? "";
      const base = SPECS[name] ? name : name.replace(/_(bucket|sum|count)$/, "");
      const labels = [...line.matchAll(/(\w+)="/g)].map(([, label]) => label);
      expect(
        labels.filter((label) => label !== "le"),
        line,
      ).toEqual(SPECS[base]?.labels);
      expect(line).not.toMatch(/[0-9a-f]{8}-/);
    }
  });
});

describe("the catalogue", () => {
  it("names metrics as Prometheus does", () => {
    for (const [name, { type, unit }] of Object.entries(SPECS)) {
      expect(name).toMatch(/^drover_[a-z_]+$/);
      expect(name.endsWith("_total"), name).toBe(type === "counter");
      if (unit === "seconds") expect(name).toMatch(/_seconds(_total)?$/);
    }
  });

  it("is the page docs/METRICS.md", () => {
    const path = join(import.meta.dirname, "../../../docs/METRICS.md");
    expect(readFileSync(path, "utf8"), "run `node docs/generate.ts`").toBe(metricsPage());
  });
});
