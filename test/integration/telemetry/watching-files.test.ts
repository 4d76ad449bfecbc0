/**
 * The files that watch Drover from outside, alert rules of Prometheus and the dashboard of Grafana,
 * name only what a real server publishes, and each alert has what to do and where to read on.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { dashboardText, ROWS } from "../../../deploy/grafana/dashboard.ts";
import type { Outcome } from "../../../server/core/model/attempt.ts";
import { TASKS } from "../../../server/core/page/page.ts";
import { rules, runStates } from "../../../server/store/postgres/codes.ts";
import { CATALOGUE, type MetricSpec } from "../../../server/telemetry/metric-list.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { callJson, jsonAgent, listAt, textAt } from "../../support/json-call.ts";
import { readPromql } from "../../support/promql.ts";
import { until } from "../../support/until.ts";

/** How attempts end (core/model/attempt.ts). */
const OUTCOMES: readonly Outcome["kind"][] = [
  ...(["success", "failure", "unknown", "released", "cancelled", "undelivered"] as const),
  ...(["again", "deferred", "superseded", "unsent"] as const),
];
const ROOT = join(import.meta.dirname, "../../..");
const SPECS: Readonly<Record<string, MetricSpec>> = CATALOGUE;
/** What Prometheus itself adds to all that it scrapes. */
const OF_PROMETHEUS = { metrics: ["up"], labels: ["job", "instance"] };

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const file: { readonly groups: readonly { readonly name: string; readonly rules: Alert[] }[] } =
  parse(read("deploy/prometheus/drover.rules.yml"));
const alerts = file.groups.flatMap((group) => group.rules);
const panels = ROWS.flatMap((row) => row.panels);
const expressions = [
  ...alerts.map(({ alert, expr }) => ({ of: alert, expr })),
  ...panels.flatMap(({ title, queries }) => queries.map(({ expr }) => ({ of: title, expr }))),
].map(({ of, expr }) => ({ of, ...readPromql(expr.replaceAll("$__rate_interval", "5m")) }));

/** The metric of the catalogue that a series is of: a histogram is published as three. */
function specOf(metric: string): MetricSpec | undefined {
  const spec = SPECS[metric];
  if (spec && spec.type !== "histogram") return spec;
  const [, base = ""] = /^(.*)_(?:bucket|sum|count)$/.exec(metric) ?? [];
  return SPECS[base]?.type === "histogram" ? SPECS[base] : undefined;
}

const labelsOf = (metric: string): readonly string[] => [
  ...(specOf(metric)?.labels ?? []),
  ...(metric.endsWith("_bucket") ? ["le"] : []),
  ...OF_PROMETHEUS.labels,
];

describe("alert rules and dashboard", () => {
  it("are some, and name metrics of the catalogue alone", () => {
    expect(alerts.length).toBeGreaterThan(15);
    expect(panels.length).toBeGreaterThan(20);
    const unknown = expressions.flatMap(({ of, selectors }) =>
      selectors
        .filter(({ metric }) => !specOf(metric) && !OF_PROMETHEUS.metrics.includes(metric))
        .map(({ metric }) => `${of}: ${metric}`),
    );
    expect(unknown).toEqual([]);
  });

  it("name labels that the metrics have, and group by no other", () => {
    for (const { of, selectors, groups } of expressions) {
      for (const { metric, matchers } of selectors)
        for (const { label } of matchers) expect(labelsOf(metric), of).toContain(label);
      const known = selectors.flatMap(({ metric }) => labelsOf(metric));
      for (const group of groups) expect(known, of).toContain(group);
    }
  });

  it("show or alert on every measure that can mean something wrong", () => {
    const used = new Set(
      expressions.flatMap(({ selectors }) =>
        selectors.map(({ metric }) => metric.replace(/_(?:bucket|sum|count)$/, "")),
      ),
    );
    const alarms = Object.keys(SPECS).filter((name) => SPECS[name]?.wrong !== undefined);
    expect(alarms.filter((name) => !used.has(name))).toEqual([]);
  });
});

describe("each alert", () => {
  const headings = new Set(
    [...read("docs/RUNBOOKS.md").matchAll(/^## (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, "")
        .replaceAll(/\s/g, "-"),
    ),
  );

  it.for(alerts)(
    "$alert describes what it means, what to do first, and where to read on",
    (alert) => {
      expect(alert.alert).toMatch(/^Drover[A-Z]\w+$/);
      expect(alert.for).toMatch(/^\d+[sm]$/);
      expect(["critical", "warning"]).toContain(alert.labels.severity);
      const { summary = "", description = "", runbook = "", ...more } = alert.annotations;
      expect(more).toEqual({});
      expect(summary).toMatch(/\.$/);
      expect(description).toMatch(/\bFirst\b/);
      const [page, heading = ""] = runbook.split("#");
      expect(page).toBe("docs/RUNBOOKS.md");
      expect([...headings]).toContain(heading);
    },
  );

  it("has a name of its own", () => {
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("the dashboard", () => {
  it("is what is made of its description", () => {
    expect(read("deploy/grafana/drover.json"), "run `node docs/generate.ts`").toBe(dashboardText());
  });

  it("asks whatever Prometheus the reader has, and describes for each panel what is good", () => {
    const { panels: made, templating }: Dashboard = JSON.parse(dashboardText());
    expect(templating.list).toMatchObject([{ name: "source", type: "datasource" }]);
    const used = made.filter(({ type }) => type !== "row");
    expect(used.length).toBe(panels.length);
    for (const { title, description, datasource, targets } of used) {
      expect(description, title).toMatch(/\.$/);
      expect([datasource, ...targets.map((one) => one.datasource)]).toEqual(
        [datasource, ...targets].map(() => ({ type: "prometheus", uid: `\${${"source"}}` })),
      );
    }
  });

  it("puts no panel on another", () => {
    const { panels: made }: Dashboard = JSON.parse(dashboardText());
    const cells = made.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(made.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });
});

interface Dashboard {
  readonly templating: { readonly list: readonly object[] };
  readonly panels: readonly {
    readonly type: string;
    readonly title: string;
    readonly description: string;
    readonly datasource: object;
    readonly targets: readonly { readonly datasource: object }[];
    readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  }[];
}

describe("against a server that has worked", () => {
  let server: TestServer;
  let text: string;
  beforeAll(async () => {
    server = await startDroverServer();
    await work(server.address);
    text = await until("the run has ended, and that is measured", async () => {
      const page = await (await fetch(`http://${server.address}/metrics`)).text();
      return page.includes('drover_runs_ended_total{state="COMPLETED"} 1') ? page : null;
    });
  });
  afterAll(async () => {
    await server?.stop();
  });

  it("each metric has a series", () => {
    const named = new Set([...text.matchAll(/^(\w+)[ {]/gm)].map(([, name]) => name));
    for (const { of, selectors } of expressions)
      for (const { metric } of selectors)
        if (!OF_PROMETHEUS.metrics.includes(metric)) expect([...named], of).toContain(metric);
  });

  it("each value of a label is one that the server publishes", () => {
    const words: readonly string[] = [...OUTCOMES, ...rules.names, ...runStates.names, ...TASKS];
    for (const { of, selectors } of expressions)
      for (const { metric, matchers } of selectors)
        for (const { label, value } of matchers) {
          if (OF_PROMETHEUS.labels.includes(label)) continue;
          const series = new RegExp(`^${metric}\\{[^}]*${label}="([^"]+)"`, "gm");
          const values = [...text.matchAll(series)].map(([, word = ""]) => word);
          for (const word of value.split("|"))
            expect([...words, ...values], `${of}: ${label}`).toContain(word);
        }
  });
});

/** A step of which one agent is lost, and which another one does after a heartbeat. */
async function work(address: string): Promise<void> {
  const task = { name: "work", queue: "plain" };
  await callJson(address, "SchedulerService/Schedule", {
    definition: { workflow: "plain", steps: [{ id: "a", timeouts: { heartbeat: "2s" }, task }] },
  });
  const take = async (agent: ReturnType<typeof jsonAgent>): Promise<string> => {
    const { body } = await callJson(address, "AgentService/PollTask", {
      agent,
      pollSeq: "1",
      queues: [{ name: "plain" }],
      maxTasks: 1,
      wait: "10s",
    });
    return textAt(listAt(body, "tasks")[0], "taskToken");
  };
  await take(jsonAgent("silent"));
  const agent = jsonAgent("steady");
  const taskToken = await take(agent);
  await callJson(address, "AgentService/Heartbeat", { agent, reports: [{ taskToken }] });
  const results = [{ taskToken, outcome: { success: {} } }];
  await callJson(address, "AgentService/Complete", { agent, results });
}
