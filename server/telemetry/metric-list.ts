// Every metric of a server: its name on /metrics, its type, unit, labels and meaning. The page
// docs/METRICS.md is generated from this list, and only metrics of this list can be measured.
//
// Labels have few values whatever the load: no run, step, agent, namespace or queue is a label.

export interface MetricSpec {
  readonly type: "counter" | "gauge" | "histogram";
  /** In the form of Prometheus: seconds, or the plural of what is counted. */
  readonly unit: string;
  readonly labels: readonly string[];
  readonly help: string;
  /** The value from which something is wrong, as docs/RUNBOOKS.md explains; left out: none. */
  readonly wrong?: string;
  /** The upper bounds of a histogram's buckets. */
  readonly bounds?: readonly number[];
  /** A counter that other code counts: its value is read at each scrape. */
  readonly asked?: true;
}

/** From an immediate wait to one of a working day. */
const WAITS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 28_800];
/** For detections: the promises are 1, 3 and 5 seconds (docs/METRICS.md). */
const DETECTIONS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60];
const COMMITS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const SIZES = [1, 2, 5, 10, 25, 50, 100, 200, 500, 1_000];

export const CATALOGUE = Object.freeze({
  drover_runs_started_total: {
    type: "counter",
    unit: "runs",
    labels: [],
    help: "Runs that this server has accepted, children included.",
  },
  drover_runs_ended_total: {
    type: "counter",
    unit: "runs",
    labels: ["state"],
    help: "Runs that have ended in a pass of this server, by their final state.",
  },
  drover_attempts_total: {
    type: "counter",
    unit: "attempts",
    labels: ["task", "outcome"],
    help: "Tasks that have ended, by what they were (perform, verify, compensate) and how.",
  },
  drover_steps_failed_total: {
    type: "counter",
    unit: "steps",
    labels: [],
    help: "Steps, and items of maps, that have failed for good in a pass of this server; `drover status` names them by workflow, step and error code.",
    wrong: "more than your own goal in 15 minutes",
  },
  drover_tasks_granted_total: {
    type: "counter",
    unit: "tasks",
    labels: ["task"],
    help: "Tasks that this server has handed to an agent.",
  },
  drover_task_wait_seconds: {
    type: "histogram",
    unit: "seconds",
    labels: [],
    help: "From the time at which a task was ready to its lease.",
    wrong: "the 90th percentile above your own goal",
    bounds: WAITS,
  },
  drover_interventions_total: {
    type: "counter",
    unit: "interventions",
    labels: ["rule"],
    help: "What supervisors have done, by the rule of the watch.",
    wrong: "a rule rises that did not",
  },
  drover_derived_rows_repaired_total: {
    type: "counter",
    unit: "rows",
    labels: [],
    help: "Derived rows that differed from the state of their run and were rewritten by the consistency check of this server: a defect of Drover.",
    wrong: "above 0",
  },
  drover_outdated_transactions_total: {
    type: "counter",
    unit: "transactions",
    labels: [],
    help: "Transactions that were decided by what this server knew of runs and lanes, and decided once more since that had changed: many where agents report to another server than the one that handed out their tasks.",
  },
  drover_detection_seconds: {
    type: "histogram",
    unit: "seconds",
    labels: ["rule"],
    help: "Time to detect: from the due time of a timer to its action.",
    wrong: "the 99th percentile above 1",
    bounds: DETECTIONS,
  },
  drover_recovery_seconds: {
    type: "histogram",
    unit: "seconds",
    labels: [],
    help: "Time to recover: from the record that the outcome of an attempt is unknown to the success of its step.",
    bounds: WAITS,
  },
  drover_overdue_rows: {
    type: "gauge",
    unit: "rows",
    labels: ["of"],
    help: "Rows whose due time has passed by more than the detection goal, at most 10 of each kind and partition; every server sees all partitions.",
    wrong: "above 0",
  },
  drover_overdue_seconds: {
    type: "gauge",
    unit: "seconds",
    labels: [],
    help: "How long the oldest overdue row is due; 0: nothing is overdue.",
    wrong: "above 5",
  },
  drover_partitions_unowned: {
    type: "gauge",
    unit: "partitions",
    labels: [],
    help: "Partitions of regions in use whose owner was not seen for 3 seconds, or that have none; every server sees all of them.",
    wrong: "above 0 for 5 s",
  },
  drover_partitions_owned: {
    type: "gauge",
    unit: "partitions",
    labels: [],
    help: "Partitions that this server watches.",
  },
  drover_degraded: {
    type: "gauge",
    unit: "servers",
    labels: [],
    help: "1 while /healthz reports degraded, else 0.",
    wrong: "1",
  },
  drover_consistency_round_age_seconds: {
    type: "gauge",
    unit: "seconds",
    labels: [],
    help: "How long ago the last whole round of the consistency check over the partitions of this server began; 0 while it owns none.",
    wrong: "above 3600",
  },
  drover_failed_timers: {
    type: "gauge",
    unit: "rows",
    labels: [],
    help: "Due rows of this server's partitions whose event has failed: each waits 1 s to 5 min and is then tried again by itself.",
    wrong: "above 0 for 5 minutes",
  },
  drover_background_failures_total: {
    type: "counter",
    unit: "failures",
    labels: ["part"],
    help: "Work that no caller waits for has failed, by the part of the server. It is tried again by itself.",
    wrong: "growing for 10 minutes",
  },
  drover_batch_seconds: {
    type: "histogram",
    unit: "seconds",
    labels: ["batch"],
    help: "Transactions that carry many calls: how long one was out.",
    wrong: "the 99th percentile above 1",
    bounds: COMMITS,
  },
  drover_batch_items: {
    type: "histogram",
    unit: "items",
    labels: ["batch"],
    help: "Transactions that carry many calls: how many calls were in each.",
    bounds: SIZES,
  },
  drover_polls_parked: {
    type: "gauge",
    unit: "polls",
    labels: [],
    help: "Polls of agents that wait at this server.",
  },
  drover_transport_refusals_total: {
    type: "counter",
    unit: "refusals",
    labels: ["reason"],
    help: "Connections and calls that this server has refused or cut to protect itself from a peer, by reason (docs/SECURITY.md).",
    wrong: "rising",
  },
  drover_spans_lost_total: {
    type: "counter",
    unit: "spans",
    labels: [],
    help: "Spans that no receiver of traces has taken: it was unavailable, or too slow.",
    wrong: "rising",
  },
  drover_agent_sessions: {
    type: "gauge",
    unit: "sessions",
    labels: [],
    help: "Sessions of agents that were seen by this server in the last minute.",
  },
  drover_runs_open: {
    type: "gauge",
    unit: "runs",
    labels: ["state"],
    help: "Open runs of all namespaces, by state, counted up to 400 of each partition; every server sees all of them.",
  },
  drover_tasks_waiting: {
    type: "gauge",
    unit: "tasks",
    labels: [],
    help: "Tasks that wait for an agent, those that are paused left out, counted up to 1000 of each queue and task; every server sees all of them.",
  },
  drover_tasks_waiting_seconds: {
    type: "gauge",
    unit: "seconds",
    labels: [],
    help: "How long the task waits that has waited longest, those that are paused left out; 0: none waits. Every server sees all of them.",
    wrong: "above your own goal",
  },
  drover_escalations_open: {
    type: "gauge",
    unit: "escalations",
    labels: [],
    help: "Questions that wait for a person, counted up to 10000 of each namespace; every server sees all of them.",
    wrong: "above 0",
  },
  drover_circuits_open: {
    type: "gauge",
    unit: "circuits",
    labels: ["of"],
    help: "Circuits that let nothing through but a try, of queues and of agents; every server sees all of them.",
    wrong: "above 0",
  },
  drover_agents_failing: {
    type: "gauge",
    unit: "agents",
    labels: [],
    help: "Live agent sessions of which at least 90% of their attempts at a task in the last hour failed, at least 10 attempts; counted once for each task, up to 1000; every server sees all of them.",
    wrong: "above 0",
  },
  drover_database_connections: {
    type: "gauge",
    unit: "connections",
    labels: ["pool", "state"],
    help: "Connections of this server to the database, busy and idle.",
  },
  drover_database_waiting: {
    type: "gauge",
    unit: "transactions",
    labels: ["pool"],
    help: "Transactions of this server that wait for a connection, since all are busy.",
    wrong: "above 0 for a minute",
  },
  drover_process_cpu_seconds_total: {
    type: "counter",
    unit: "seconds",
    labels: [],
    help: "Processor time that this server has taken.",
    asked: true,
  },
  drover_process_loop_seconds_total: {
    type: "counter",
    unit: "seconds",
    labels: [],
    help: "Time in which the one thread that takes calls was at work; a rate of 1 is all that it has.",
    wrong: "a rate above 0.9",
    asked: true,
  },
  drover_process_memory_bytes: {
    type: "gauge",
    unit: "bytes",
    labels: [],
    help: "Memory that this server holds, as the system counts it.",
  },
  drover_process_start_time_seconds: {
    type: "gauge",
    unit: "seconds",
    labels: [],
    help: "When this server was started, in seconds since 1970.",
    wrong: "it changes again and again",
  },
} as const satisfies Readonly<Record<string, MetricSpec>>);

type MetricName = keyof typeof CATALOGUE;
type Named<Type extends MetricSpec["type"]> = {
  [Name in MetricName]: (typeof CATALOGUE)[Name]["type"] extends Type ? Name : never;
}[MetricName];
/** Metrics whose values are read at each scrape. */
export type ObservedName =
  | Named<"gauge">
  | {
      [Name in MetricName]: (typeof CATALOGUE)[Name] extends { asked: true } ? Name : never;
    }[MetricName];
export type CounterName = Exclude<Named<"counter">, ObservedName>;
export type HistogramName = Named<"histogram">;

/** All labels of a metric. */
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<(typeof CATALOGUE)[Name]["labels"][number], string>
>;
