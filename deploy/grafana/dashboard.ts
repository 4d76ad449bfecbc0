// The dashboard of Grafana as data: rows of panels, each with the queries that an operator needs.
// `node docs/generate.ts` writes drover.json from it, for Grafana; a test compares every metric and
// label named here with the catalogue.

export interface Query {
  readonly expr: string;
  /** Labels in double braces. */
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  /** What the panel shows, and which values are good. */
  readonly about: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** One number, coloured from there on; left out: lines over time. */
  readonly wrongFrom?: number;
  /** Lines are stacked, since their sum has a meaning. */
  readonly stacked?: true;
}

/** Units by the names of Grafana. */
type Unit = "short" | "s" | "percentunit" | "bytes" | "ops";

/** The label that identifies a server: Prometheus adds it. */
const BY_SERVER = "{{instance}}";
const RANGE = "$__rate_interval";

const rate = (metric: string): string => `rate(${metric}[${RANGE}])`;
const quantile = (q: number, metric: string): Query => ({
  expr: `histogram_quantile(${q}, sum by (le) (${rate(`${metric}_bucket`)}))`,
  legend: `p${q * 100}`,
});
const quantiles = (metric: string): readonly Query[] =>
  [0.5, 0.9, 0.99].map((q) => quantile(q, metric));

export const ROWS: readonly { readonly title: string; readonly panels: readonly Panel[] }[] = [
  {
    title: "Needs attention",
    panels: [
      {
        title: "Escalations",
        about: "Open escalations. Their runs wait for the answer of a person.",
        unit: "short",
        wrongFrom: 1,
        queries: [{ expr: "max(drover_escalations_open)", legend: "open" }],
      },
      {
        title: "Overdue",
        about: "By how much the oldest due row is overdue. The goal is at most 5 s.",
        unit: "s",
        wrongFrom: 5,
        queries: [{ expr: "max(drover_overdue_seconds)", legend: "oldest" }],
      },
      {
        title: "Partitions without owner",
        about: "Partitions without a supervisor. Normal for some seconds after a server was lost.",
        unit: "short",
        wrongFrom: 1,
        queries: [{ expr: "max(drover_partitions_unowned)", legend: "partitions" }],
      },
      {
        title: "Open circuits",
        about: "Tasks that fail for all agents, and agents that fail where others do not.",
        unit: "short",
        wrongFrom: 1,
        queries: [{ expr: "max by (of) (drover_circuits_open)", legend: "{{of}}" }],
      },
      {
        title: "Failing agents",
        about: "Agent sessions that fail nearly all of their attempts at a task.",
        unit: "short",
        wrongFrom: 1,
        queries: [{ expr: "max(drover_agents_failing)", legend: "agents" }],
      },
      {
        title: "Oldest waiting task",
        about: "How long the oldest task has waited for an agent. Paused tasks do not count.",
        unit: "s",
        wrongFrom: 300,
        queries: [{ expr: "max(drover_tasks_waiting_seconds)", legend: "oldest" }],
      },
      {
        title: "Degraded servers",
        about: "Servers that report that supervision is late. /healthz contains the reason.",
        unit: "short",
        wrongFrom: 1,
        queries: [{ expr: "sum(drover_degraded)", legend: "degraded" }],
      },
    ],
  },
  {
    title: "Runs",
    panels: [
      {
        title: "Success rate",
        about: "The share of ended runs that are COMPLETED.",
        unit: "percentunit",
        queries: [
          {
            expr: `sum(${rate('drover_runs_ended_total{state="COMPLETED"}')}) / sum(${rate("drover_runs_ended_total")})`,
            legend: "completed",
          },
        ],
      },
      {
        title: "Runs started and ended",
        about: "Per second; ended runs by their final state.",
        unit: "ops",
        queries: [
          { expr: `sum(${rate("drover_runs_started_total")})`, legend: "started" },
          { expr: `sum by (state) (${rate("drover_runs_ended_total")})`, legend: "{{state}}" },
        ],
      },
      {
        title: "Open runs by state",
        about: "Open runs in all namespaces.",
        unit: "short",
        stacked: true,
        queries: [{ expr: "max by (state) (drover_runs_open)", legend: "{{state}}" }],
      },
      {
        title: "Retries per run",
        about: "Attempts with a failed or unknown outcome, for each ended run.",
        unit: "short",
        queries: [
          {
            expr: `sum(${rate('drover_attempts_total{outcome=~"failure|unknown"}')}) / sum(${rate("drover_runs_ended_total")})`,
            legend: "retries",
          },
        ],
      },
    ],
  },
  {
    title: "Faults and recovery",
    panels: [
      {
        title: "Time to detect",
        about: "From the due time to the action of a supervisor. Good: p99 within 1 s.",
        unit: "s",
        queries: quantiles("drover_detection_seconds"),
      },
      {
        title: "Time to recover",
        about: "From an attempt whose outcome is unknown to the success of its step.",
        unit: "s",
        queries: quantiles("drover_recovery_seconds"),
      },
      {
        title: "Interventions by rule",
        about: "Actions of supervisors per second. See the runbook of a rule that rises.",
        unit: "ops",
        stacked: true,
        queries: [
          { expr: `sum by (rule) (${rate("drover_interventions_total")})`, legend: "{{rule}}" },
        ],
      },
      {
        title: "Attempts by outcome",
        about: "Ended tasks per second.",
        unit: "ops",
        stacked: true,
        queries: [
          { expr: `sum by (outcome) (${rate("drover_attempts_total")})`, legend: "{{outcome}}" },
        ],
      },
    ],
  },
  {
    title: "Dispatch and agents",
    panels: [
      {
        title: "Dispatch latency",
        about: "From the time at which a task was ready to its lease. If it is long, add agents.",
        unit: "s",
        queries: quantiles("drover_task_wait_seconds"),
      },
      {
        title: "Queue depth",
        about: "Waiting tasks of all queues, and parked polls of agents.",
        unit: "short",
        queries: [
          { expr: "max(drover_tasks_waiting)", legend: "tasks" },
          { expr: "sum(drover_polls_parked)", legend: "polls" },
        ],
      },
      {
        title: "Queue age",
        about: "The wait of the oldest task.",
        unit: "s",
        queries: [{ expr: "max(drover_tasks_waiting_seconds)", legend: "oldest" }],
      },
      {
        title: "Tasks handed out",
        about: "Per second, by kind of task.",
        unit: "ops",
        stacked: true,
        queries: [
          { expr: `sum by (task) (${rate("drover_tasks_granted_total")})`, legend: "{{task}}" },
        ],
      },
      {
        title: "Heartbeats",
        about: "Heartbeats of sessions that were stored, per second.",
        unit: "ops",
        queries: [
          {
            expr: `sum(${rate('drover_batch_items_sum{batch="heartbeat"}')})`,
            legend: "heartbeats",
          },
        ],
      },
      {
        title: "Sessions of agents",
        about: "Sessions that called each server in the last minute.",
        unit: "short",
        stacked: true,
        queries: [{ expr: "drover_agent_sessions", legend: BY_SERVER }],
      },
    ],
  },
  {
    title: "Supervision",
    panels: [
      {
        title: "Overdue rows",
        about: "Due rows that are overdue by more than the goal, by kind. Good: none.",
        unit: "short",
        stacked: true,
        queries: [{ expr: "max by (of) (drover_overdue_rows)", legend: "{{of}}" }],
      },
      {
        title: "Partitions by owner",
        about: "The number of partitions of each server; a step is a hand-over.",
        unit: "short",
        stacked: true,
        queries: [
          { expr: "drover_partitions_owned", legend: BY_SERVER },
          { expr: "max(drover_partitions_unowned)", legend: "no owner" },
        ],
      },
      {
        title: "Consistency check",
        about: "How long ago the last whole round started. Good: up to an hour.",
        unit: "s",
        queries: [{ expr: "max(drover_consistency_round_age_seconds)", legend: "age" }],
      },
    ],
  },
  {
    title: "Database",
    panels: [
      {
        title: "Transactions: p99",
        about: "The duration of a transaction of a batch. Good: well under a second.",
        unit: "s",
        queries: [
          {
            expr: `histogram_quantile(0.99, sum by (le, batch) (${rate("drover_batch_seconds_bucket")}))`,
            legend: "{{batch}}",
          },
        ],
      },
      {
        title: "Calls in a batch",
        about:
          "How many calls one transaction contains: it grows with the load, and saves disk writes.",
        unit: "short",
        queries: [
          {
            expr: `sum by (batch) (${rate("drover_batch_items_sum")}) / sum by (batch) (${rate("drover_batch_items_count")})`,
            legend: "{{batch}}",
          },
        ],
      },
      {
        title: "Connections",
        about: "Busy connections, and transactions that wait for one. Good: none waits.",
        unit: "short",
        queries: [
          {
            expr: 'sum by (pool) (drover_database_connections{state="busy"})',
            legend: "{{pool}}, busy",
          },
          { expr: "sum(drover_database_waiting)", legend: "waiting for one" },
        ],
      },
    ],
  },
  {
    title: "Processes",
    panels: [
      {
        title: "Processor",
        about: "CPU cores used by each server.",
        unit: "short",
        queries: [{ expr: rate("drover_process_cpu_seconds_total"), legend: BY_SERVER }],
      },
      {
        title: "Main thread",
        about: "The share of time in which the thread is busy. At 90 % start one more server.",
        unit: "percentunit",
        queries: [{ expr: rate("drover_process_loop_seconds_total"), legend: BY_SERVER }],
      },
      {
        title: "Memory",
        about: "Resident memory of each server.",
        unit: "bytes",
        queries: [{ expr: "drover_process_memory_bytes", legend: BY_SERVER }],
      },
      {
        title: "Up since",
        about: "The age of each server; a fall to zero is a restart.",
        unit: "s",
        queries: [{ expr: "time() - drover_process_start_time_seconds", legend: BY_SERVER }],
      },
      {
        title: "Refused peers",
        about:
          "Connections and calls per second that a server has refused or cut to protect itself. If it rises, the log names the addresses (peer.refused).",
        unit: "ops",
        stacked: true,
        queries: [
          {
            expr: `sum by (reason) (${rate("drover_transport_refusals_total")})`,
            legend: "{{reason}}",
          },
        ],
      },
      {
        title: "Lost spans",
        about: "Spans per second that were not delivered to the receiver of traces. Good: none.",
        unit: "ops",
        queries: [{ expr: `sum(${rate("drover_spans_lost_total")})`, legend: "lost" }],
      },
    ],
  },
];

const WIDTH = 24;
const HEIGHT = { number: 4, lines: 8, heading: 1 };
/** The Prometheus that the reader selects. */
const SOURCE = { type: "prometheus", uid: "${source}" };

/** drover.json, as text. */
export function dashboardText(): string {
  const panels: object[] = [];
  let y = 0;
  for (const row of ROWS) {
    const at = { h: HEIGHT.heading, w: WIDTH, x: 0, y };
    panels.push({ id: panels.length + 1, type: "row", title: row.title, gridPos: at, panels: [] });
    y += HEIGHT.heading;
    const { height, perLine } = sizesOf(row.panels);
    for (const [n, panel] of row.panels.entries()) {
      const x = (n % perLine) * (WIDTH / perLine);
      const place = { h: height, w: WIDTH / perLine, x, y: y + Math.floor(n / perLine) * height };
      panels.push({ id: panels.length + 1, ...panelOf(panel), gridPos: place });
    }
    y += Math.ceil(row.panels.length / perLine) * height;
  }
  return `${JSON.stringify(dashboardOf(panels), null, 2)}\n`;
}

function sizesOf(panels: readonly Panel[]): { readonly height: number; readonly perLine: number } {
  const areNumbers = panels.every(({ wrongFrom }) => wrongFrom !== undefined);
  if (areNumbers) return { height: HEIGHT.number, perLine: panels.length };
  return { height: HEIGHT.lines, perLine: panels.length % 4 === 0 ? 4 : 3 };
}

function dashboardOf(panels: readonly object[]): object {
  return {
    uid: "drover",
    title: "Drover",
    description:
      "What needs attention, the outcomes of runs, detection and recovery times, and resources.",
    tags: ["drover"],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: "15s",
    time: { from: "now-1h", to: "now" },
    templating: {
      list: [{ name: "source", label: "Prometheus", type: "datasource", query: "prometheus" }],
    },
    panels,
  };
}

function panelOf({ title, about, unit, queries, wrongFrom, stacked }: Panel): object {
  const targets = queries.map(({ expr, legend }, n) => {
    return { refId: String.fromCharCode(65 + n), datasource: SOURCE, expr, legendFormat: legend };
  });
  const same = { title, description: about, datasource: SOURCE, targets };
  if (wrongFrom === undefined) {
    const stacking = { mode: stacked ? "normal" : "none", group: "A" };
    const custom = { fillOpacity: stacked ? 30 : 5, showPoints: "never", stacking };
    const options = {
      legend: { displayMode: "list", placement: "bottom" },
      tooltip: { mode: "multi" },
    };
    const defaults = { unit, min: 0, custom };
    return { type: "timeseries", ...same, fieldConfig: { defaults, overrides: [] }, options };
  }
  const steps = [
    { color: "green", value: null },
    { color: "red", value: wrongFrom },
  ];
  const defaults = { unit, thresholds: { mode: "absolute", steps } };
  const options = { colorMode: "background", reduceOptions: { calcs: ["lastNotNull"] } };
  return { type: "stat", ...same, fieldConfig: { defaults, overrides: [] }, options };
}
