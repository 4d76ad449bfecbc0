// Gauges: the open work of all servers, and the resources that this process uses. They are read
// when metrics are scraped, and cost nothing otherwise.
import type { Clock } from "../clock.ts";
import type { RunState } from "../core/model/model.ts";
import type { Gauges, Operators } from "../store/operators.ts";
import { seconds } from "./measures.ts";
import type { Metrics } from "./metrics.ts";

/** Reads within this time get the same answer, for each scraper and each series. */
const GAUGES_CACHED_MS = 10_000;
/** All are reported, also those without runs: an alert needs a series that does not disappear. */
const OPEN_STATES: readonly RunState["kind"][] = [
  ...(["PENDING", "RUNNING", "PAUSED", "STOPPING"] as const),
  ...(["COMPENSATING", "FINISHING", "ESCALATED"] as const),
];

/** The open work, as the store returned it in the last seconds; null: the store did not answer. */
function createGauges(
  operators: Pick<Operators, "gauges">,
  clock: Clock,
): () => Promise<Gauges | null> {
  let asked: { readonly atMs: number; readonly answer: Promise<Gauges | null> } | null = null;
  return () => {
    const atMs = clock.monotonicMs();
    if (asked === null || atMs - asked.atMs >= GAUGES_CACHED_MS) {
      // /readyz reports that the database is unavailable: the scrape continues without these.
      asked = { atMs, answer: operators.gauges().catch(() => null) };
    }
    return asked.answer;
  };
}

/** The open work of all servers: one query for all of these series, and seldom. */
export function observeGauges(
  metrics: Metrics,
  operators: Pick<Operators, "gauges" | "connections">,
  clock: Clock,
): void {
  const ask = createGauges(operators, clock);
  const gauge = (values: (of: Gauges) => number) => async () => {
    const seen = await ask();
    return seen ? [{ value: values(seen), labels: {} }] : [];
  };
  metrics.observe(
    "drover_tasks_waiting",
    gauge(({ waiting }) => waiting),
  );
  metrics.observe(
    "drover_tasks_waiting_seconds",
    gauge(({ waitingMs }) => seconds(waitingMs)),
  );
  metrics.observe(
    "drover_escalations_open",
    gauge(({ escalations }) => escalations),
  );
  metrics.observe("drover_runs_open", async () => {
    const open = (await ask())?.openRuns;
    return open
      ? OPEN_STATES.map((state) => ({ value: open.get(state) ?? 0, labels: { state } }))
      : [];
  });
  metrics.observe("drover_circuits_open", async () => {
    const open = (await ask())?.openCircuits;
    if (!open) return [];
    return [
      { value: open.queue, labels: { of: "queue" } },
      { value: open.agent, labels: { of: "agent" } },
    ];
  });
  metrics.observe(
    "drover_agents_failing",
    gauge(({ failingAgents }) => failingAgents),
  );
  metrics.observe("drover_database_connections", () =>
    operators.connections().flatMap(({ pool, busy, idle }) => [
      { value: busy, labels: { pool, state: "busy" } },
      { value: idle, labels: { pool, state: "idle" } },
    ]),
  );
  metrics.observe("drover_database_waiting", () =>
    operators.connections().map(({ pool, waiting: value }) => ({ value, labels: { pool } })),
  );
}

/** The resources of the machine that this process uses. */
export function observeProcess(metrics: Metrics): void {
  const one = (value: number) => [{ value, labels: {} }];
  metrics.observe("drover_process_cpu_seconds_total", () => {
    const { user, system } = process.cpuUsage();
    return one((user + system) / 1e6);
  });
  metrics.observe("drover_process_loop_seconds_total", () =>
    one(seconds(performance.eventLoopUtilization().active)),
  );
  metrics.observe("drover_process_memory_bytes", () => one(process.memoryUsage.rss()));
  metrics.observe("drover_process_start_time_seconds", () =>
    one(seconds(Math.round(performance.timeOrigin))),
  );
}
