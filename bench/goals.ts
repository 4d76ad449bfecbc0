// What a machine of two cores that holds everything should do, and whether a report says it does.
// The goals are for the long forms; a report says which form it is of.

/** A report as `--json` writes it. */
export type Report = Readonly<Record<string, unknown>>;

export interface Goal {
  /** The report's name: a profile, or `chain-single`. */
  readonly report: string;
  readonly figure: string;
  /** Where the report has it; several: the worst of them counts. */
  readonly at: readonly string[];
  /** Figures are told in this, of what the report has: 0.001 makes seconds of milliseconds. */
  readonly times?: number;
  readonly atMost?: number;
  readonly atLeast?: number;
}

const spread = (of: string, p: "p50" | "p99") => [
  `${of}.schedule_to_task_ms.${p}`,
  `${of}.step_to_step_ms.${p}`,
];
/** Schedule to task, and step to step: the slower of the two. */
const bothSpreads = (of: string, words: string, p50: number, p99: number): readonly Goal[] => [
  { report: "latency", figure: `${words}, p50, ms`, at: spread(of, "p50"), atMost: p50 },
  { report: "latency", figure: `${words}, p99, ms`, at: spread(of, "p99"), atMost: p99 },
];
const faults = (of: string) =>
  ["SIGTERM", "SIGKILL", "SIGSTOP", "blackhole"].map((f) => `${f}.${of}`);

export const GOALS: readonly Goal[] = [
  { report: "chain", figure: "steps/s", at: ["steps_per_s"], atLeast: 20_000 },
  { report: "chain", figure: "ratio to the floor", at: ["ratio_to_floor"], atLeast: 0.25 },
  { report: "chain", figure: "server CPU, µs a step", at: ["server_cpu_us_per_step"], atMost: 25 },
  { report: "chain", figure: "database CPU, µs a step", at: ["db_cpu_us_per_step"], atMost: 20 },
  { report: "chain", figure: "WAL, bytes a step", at: ["wal_bytes_per_step"], atMost: 700 },
  {
    ...{ report: "chain", figure: "commits for 100 steps", at: ["commits_per_step"] },
    ...{ times: 100, atMost: 1.5 },
  },
  { report: "chain", figure: "server memory, MiB", at: ["server_rss_mib"], atMost: 250 },
  { report: "chain-single", figure: "steps/s", at: ["steps_per_s"], atLeast: 3_500 },
  {
    ...{ report: "latency", figure: "one at a time: whole run, p50, ms" },
    ...{ at: ["one_at_a_time.run_ms.p50"], atMost: 10 },
  },
  {
    ...{ report: "latency", figure: "one at a time: whole run, p99, ms" },
    ...{ at: ["one_at_a_time.run_ms.p99"], atMost: 25 },
  },
  ...bothSpreads("at_10_percent", "at a tenth: to task, and step to step", 5, 25),
  {
    ...{ report: "latency", figure: "at a tenth: machine idle, %" },
    ...{ at: ["at_10_percent.machine_idle_percent"], atLeast: 40 },
  },
  ...bothSpreads("at_50_percent", "at half: to task, and step to step", 8, 40),
  {
    ...{ report: "fan", figure: "one map of 10,000: an item by a step of a chain" },
    ...{ at: ["cost_ratio_to_chain"], atMost: 1.5 },
  },
  {
    ...{ report: "fan", figure: "100 maps of 1,000: an item by a step of a chain" },
    ...{ at: ["many_cost_ratio_to_chain"], atMost: 1.5 },
  },
  {
    ...{ report: "inflight", figure: "rate beside 1,000,000 parked runs by the plain one" },
    ...{ at: ["parked_1000000.ratio_to_plain"], atLeast: 0.9 },
  },
  {
    ...{ report: "history", figure: "rate beside 10,000,000 finished runs by the plain one" },
    ...{ at: ["ratio_to_plain"], atLeast: 0.9 },
  },
  {
    ...{ report: "snapshot", figure: "rate over ten minutes of a held snapshot by the plain one" },
    ...{ at: ["ratio_to_plain"], atLeast: 0.8 },
  },
  {
    ...{ report: "list", figure: "first page, the slowest p99 of all lists, ms" },
    ...{ at: ["rows.*.first_p99_ms"], atMost: 50 },
  },
  {
    ...{ report: "list", figure: "later pages, the slowest p99, ms" },
    ...{ at: ["rows.*.later_p99_ms"], atMost: 50 },
  },
  {
    ...{ report: "idle", figure: "10,000 parked polls: queries/s" },
    ...{ at: ["parked.queries_per_s"], atMost: 5 },
  },
  {
    ...{ report: "idle", figure: "10,000 parked polls: server memory, MiB" },
    ...{ at: ["parked.server_rss_mib"], atMost: 300 },
  },
  {
    ...{ report: "idle", figure: "the last of 10,000 awake after, s" },
    ...{ at: ["wake_all_last_s"], atMost: 0.5 },
  },
  {
    ...{ report: "heartbeats", figure: "10,000 leases every 5 s, 100 agents: % of a core" },
    ...{ at: ["rows.-1.core_percent"], atMost: 5 },
  },
  {
    ...{ report: "recovery", figure: "all watched after SIGKILL, longest, s" },
    ...{ at: ["SIGKILL.all_owned_max_s"], atMost: 3 },
  },
  {
    ...{ report: "recovery", figure: "all watched after SIGSTOP, longest, s" },
    ...{ at: ["SIGSTOP.all_owned_max_s"], atMost: 5 },
  },
  {
    ...{ report: "recovery", figure: "runs lost or done twice" },
    ...{ at: [...faults("lost"), ...faults("doubled")], atMost: 0 },
  },
  {
    ...{ report: "fair", figure: "p99 of the trickle's runs by its quiet one" },
    ...{ at: ["run_p99_ratio"], atMost: 3 },
  },
  {
    ...{ report: "servers", figure: "two servers: CPU of a step by that of one" },
    ...{ at: ["cpu_per_step_ratio"] },
  },
  {
    ...{ report: "servers", figure: "two servers: sessions waiting for a lock" },
    ...{ at: ["two.waiting_for_locks"] },
  },
  {
    ...{ report: "dashboard", figure: "first paint, the slowest page, ms" },
    ...{ at: ["rows.*.first_paint_ms"], atMost: 1_000 },
  },
  {
    ...{ report: "dashboard", figure: "longest task while scrolling 100,000 runs, ms" },
    ...{ at: ["rows.3.longest_task_ms"], atMost: 200 },
  },
];

/** null: the report does not have it. */
export function figureOf({ at, times = 1, atLeast }: Goal, report: Report): number | null {
  const found = at.flatMap((path) => numbersAt(report, path.split(".")));
  if (found.length === 0) return null;
  return times * (atLeast === undefined ? Math.max(...found) : Math.min(...found));
}

export function isReached({ atMost, atLeast }: Goal, figure: number): boolean | null {
  if (atMost === undefined && atLeast === undefined) return null;
  return figure <= (atMost ?? Number.POSITIVE_INFINITY) && figure >= (atLeast ?? 0);
}

/** `*`: of each element; a negative number: from the end. */
function numbersAt(value: unknown, [key, ...rest]: readonly string[]): readonly number[] {
  if (key === undefined) return typeof value === "number" ? [value] : [];
  if (Array.isArray(value)) {
    const of: readonly unknown[] = value;
    return (key === "*" ? of : [of.at(Number(key))]).flatMap((one) => numbersAt(one, rest));
  }
  if (typeof value !== "object" || value === null) return [];
  return numbersAt(Object.entries(value).find(([name]) => name === key)?.[1], rest);
}
