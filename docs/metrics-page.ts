/** docs/METRICS.md: the catalogue of metrics as a page, with what a person does with them. */
import { CATALOGUE, type MetricSpec } from "../server/telemetry/catalogue.ts";

export function metricsPage(): string {
  const specs: Readonly<Record<string, MetricSpec>> = CATALOGUE;
  const rows = Object.entries(specs).map(([name, { type, unit, labels, help, wrong }]) => {
    const labelled = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${unit} | ${labelled} | ${help} | ${wrong ?? ""} |`;
  });
  return `${[HEAD, rows.join("\n")].join("\n")}\n${TAIL}`;
}

const HEAD = `# Metrics and health

<!-- Made by \`node docs/generate.ts\` from server/telemetry/catalogue.ts: change that, not this page. -->

A server tells what it measures in the text form of Prometheus at \`/metrics\` on its one port, beside \`/healthz\` and \`/readyz\`. Counters count what this server did since it started: add up those of all servers. Gauges marked *every server* say the same on each: take the greatest. No label has more values than the control plane has words, whatever is run.

| name | type | unit | labels | what it says | [wrong](RUNBOOKS.md) |
| --- | --- | --- | --- | --- | --- |`;

const TAIL = `
## Health

\`/healthz\` answers 200 while the process lives, with \`{"status":"ok","reasons":[]}\`, or \`degraded\` and a sentence for each reason:

- **work is overdue**: the moment of a lease, a ready task, a timer, an escalation, a run, a message, a schedule or an ended run that a trigger waits for has passed by more than 5 s, and nobody has acted. It is acted on within 1 s (p99) while all is well, 3 s after a supervisor was killed and 5 s after one was frozen or cut off; so 5 s is the goal, and more is a fault. Another is set by \`--overdue\`.
- **partitions are without owner**: nobody watches a share of the runs since 5 s. Leases, timers and deadlines there pass unseen until a server takes it over; what agents report is still taken.

Each server looks every 3 s at all partitions, with one statement, by the database's clock: also one that watches nothing. So a server that hangs is told of by the others. The beginning and the end are lines in the log, \`health.degraded\` and \`health.ok\`. A probe that restarts what is not 200 does not restart a degraded server, which would help nobody. \`/readyz\` says whether a server may be sent calls, and does not ask for any of this: a degraded one may.

## What to look at

| question | query |
| --- | --- |
| how fast is silence found | \`histogram_quantile(0.99, sum by (le) (rate(drover_detection_seconds_bucket[5m])))\` |
| how long until a step goes on after that | \`histogram_quantile(0.99, sum by (le) (rate(drover_recovery_seconds_bucket[15m])))\` |
| is somebody watching | \`max(drover_partitions_unowned) > 0\`, \`max(drover_overdue_seconds) > 5\` |
| do tasks wait for agents | \`histogram_quantile(0.9, sum by (le) (rate(drover_task_wait_seconds_bucket[5m])))\`, \`sum(drover_polls_parked)\` |
| what goes wrong | \`sum by (rule) (rate(drover_interventions_total[15m]))\`, \`sum by (outcome) (rate(drover_attempts_total[5m]))\` |
`;
