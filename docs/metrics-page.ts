/** docs/METRICS.md: the catalogue of metrics as a page, with what a person does with them. */
import { CATALOGUE, type MetricSpec } from "../server/telemetry/metric-list.ts";

export function metricsPage(): string {
  const specs: Readonly<Record<string, MetricSpec>> = CATALOGUE;
  const rows = Object.entries(specs).map(([name, { type, unit, labels, help, wrong }]) => {
    const labelled = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${unit} | ${labelled} | ${help} | ${wrong ?? ""} |`;
  });
  return `${[HEAD, rows.join("\n")].join("\n")}\n${TAIL}`;
}

const HEAD = `# Metrics and health

<!-- Made by \`node docs/generate.ts\` from server/telemetry/metric-list.ts: change that, not this page. -->

After reading this page you can monitor a server: what each metric means, from which value on it is wrong, what \`/healthz\` reports, and which queries to put on a dashboard.

A server publishes its metrics in the text format of Prometheus at \`/metrics\`, on its one port, beside \`/healthz\` and \`/readyz\`. A counter counts what this server did since it started: add up the counters of all servers. A gauge marked *every server* has the same value on each server: take the greatest. Labels have few values: no run, step, agent, namespace or queue is a label.

| name | type | unit | labels | meaning | [wrong](RUNBOOKS.md) |
| --- | --- | --- | --- | --- | --- |`;

const TAIL = `
## Health

\`/healthz\` answers 200 while the process lives. The body is \`{"status":"ok","reasons":[]}\`, or has the status \`degraded\` and a sentence for each reason:

- **Work is overdue**: a lease, a ready task, a timer, an escalation, a run, a message, a schedule, or an ended run that a trigger waits for has been due for more than 5 s, and no supervisor has acted. A supervisor acts within 1 s (p99) in normal operation, within 3 s after another supervisor was killed, and within 5 s after one was frozen or cut off. So more than 5 s is a fault. \`--overdue\` sets another limit.
- **Partitions are without owner**: no supervisor has watched a share of the runs for 5 s. Leases, timers and deadlines of these runs pass unnoticed until a server takes the partitions over; the servers still accept the reports of agents.
- **The consistency check is late**: the last whole round of this server's check of derived rows began more than an hour ago. \`--consistency-late\` sets another limit.

Every server checks all partitions every 3 s, by the clock of the database, even if it owns none. So the other servers report a server that hangs. A server logs the start and the end as \`health.degraded\` and \`health.ok\`. A degraded server still answers 200, so that a liveness probe does not restart it: a restart would not help. \`/readyz\` shows whether a server can take calls, and does not depend on this status: a degraded server can.

## Queries for a dashboard

| question | query |
| --- | --- |
| how fast does the supervisor find silence | \`histogram_quantile(0.99, sum by (le) (rate(drover_detection_seconds_bucket[5m])))\` |
| how long does a step then take to recover | \`histogram_quantile(0.99, sum by (le) (rate(drover_recovery_seconds_bucket[15m])))\` |
| is a partition without a supervisor, or is work overdue | \`max(drover_partitions_unowned) > 0\`, \`max(drover_overdue_seconds) > 5\` |
| do tasks wait for agents | \`histogram_quantile(0.9, sum by (le) (rate(drover_task_wait_seconds_bucket[5m])))\`, \`sum(drover_polls_parked)\` |
| what fails | \`sum by (rule) (rate(drover_interventions_total[15m]))\`, \`sum by (outcome) (rate(drover_attempts_total[5m]))\` |
`;
