// What a machine of two cores that holds everything should do, and whether a report shows it does.
// The goals are for the long forms; a report has which form it is of.

/** A report as `--json` writes it. */
export type Report = Readonly<Record<string, unknown>>;

export interface Goal {
  /** The report's name: a profile, `chain-single`, or `detect`. */
  readonly report: string;
  readonly figure: string;
  /** Where the report has it; several: the worst of them counts. */
  readonly at: readonly string[];
  /** Figures are given in this, of what the report has: 0.001 makes seconds of milliseconds. */
  readonly times?: number;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** A better value than the goal, which the design should come to. */
  readonly lookFor?: number;
}

const faults = (of: string) =>
  ["SIGTERM", "SIGKILL", "SIGSTOP", "blackhole"].map((fault) => `${fault}.${of}`);

const BY_REPORT: Readonly<Record<string, readonly Omit<Goal, "report">[]>> = {
  chain: [
    { figure: "steps/s", at: ["steps_per_s"], atLeast: 15_000, lookFor: 25_000 },
    { figure: "ratio to the floor", at: ["ratio_to_floor"], atLeast: 0.15, lookFor: 0.25 },
    { figure: "server CPU, µs a step", at: ["server_cpu_us_per_step"], atMost: 50, lookFor: 30 },
    { figure: "database CPU, µs a step", at: ["db_cpu_us_per_step"], atMost: 25, lookFor: 18 },
    { figure: "agent CPU, µs a step", at: ["agent_cpu_us_per_step"], atMost: 25, lookFor: 15 },
    { figure: "WAL, bytes a step", at: ["wal_bytes_per_step"], atMost: 1_200, lookFor: 800 },
    { figure: "server memory, MiB", at: ["server_rss_mib"], atMost: 250 },
  ],
  "chain-single": [{ figure: "steps/s", at: ["steps_per_s"], atLeast: 3_500, lookFor: 5_000 }],
  latency: [
    ...spread("one at a time: whole run", "one_at_a_time.run_ms", {
      p50: { atMost: 7, lookFor: 5 },
      p99: { atMost: 20, lookFor: 12 },
    }),
    ...spread("at a tenth: step to step", "at_10_percent.step_to_step_ms", {
      p50: { atMost: 4, lookFor: 3 },
      p99: { atMost: 20, lookFor: 12 },
    }),
    {
      figure: "at a tenth: machine idle, %",
      at: ["at_10_percent.machine_idle_percent"],
      atLeast: 50,
      lookFor: 60,
    },
    ...spread("at half: step to step", "at_50_percent.step_to_step_ms", {
      p50: { atMost: 8, lookFor: 5 },
      p99: { atMost: 40, lookFor: 25 },
    }),
  ],
  fan: [
    {
      figure: "one map of 10,000: an item by a step of a chain",
      at: ["cost_ratio_to_chain"],
      atMost: 1.5,
    },
    {
      figure: "100 maps of 1,000: an item by a step of a chain",
      at: ["many_cost_ratio_to_chain"],
      atMost: 1.5,
    },
  ],
  inflight: [
    {
      figure: "rate beside 1,000,000 parked runs by the plain one",
      at: ["parked_1000000.ratio_to_plain"],
      atLeast: 0.9,
    },
  ],
  history: [
    {
      figure: "rate beside 10,000,000 finished runs by the plain one",
      at: ["ratio_to_plain"],
      atLeast: 0.9,
    },
  ],
  snapshot: [
    {
      figure: "rate over ten minutes of a held snapshot by the plain one",
      at: ["ratio_to_plain"],
      atLeast: 0.8,
    },
  ],
  list: [
    {
      figure: "first page, the slowest p99 of all lists, ms",
      at: ["rows.*.first_p99_ms"],
      atMost: 50,
    },
    { figure: "later pages, the slowest p99, ms", at: ["rows.*.later_p99_ms"], atMost: 50 },
  ],
  idle: [
    {
      figure: "10,000 parked polls: queries/s",
      at: ["parked.queries_per_s"],
      atMost: 5,
      lookFor: 2,
    },
    {
      figure: "10,000 parked polls: server memory, MiB",
      at: ["parked.server_rss_mib"],
      atMost: 300,
      lookFor: 150,
    },
    {
      figure: "the last of 10,000 awake after, s",
      at: ["wake_all_last_s"],
      atMost: 0.5,
      lookFor: 0.3,
    },
  ],
  heartbeats: [
    {
      figure: "10,000 leases every 5 s, 100 agents: % of a core",
      at: ["rows.-1.core_percent"],
      atMost: 4,
      lookFor: 2,
    },
  ],
  detect: [
    {
      // Its last two rows: timers, and agents that fell silent.
      figure: "with 1,000,000 runs: acted after it was due, p99, s",
      at: ["figures.-2.p99", "figures.-1.p99"],
      times: 0.001,
      atMost: 0.5,
      lookFor: 0.2,
    },
  ],
  recovery: [
    {
      figure: "all watched after SIGKILL, longest, s",
      at: ["SIGKILL.all_owned_max_s"],
      atMost: 3,
    },
    {
      figure: "all watched after SIGSTOP, longest, s",
      at: ["SIGSTOP.all_owned_max_s"],
      atMost: 5,
    },
    {
      figure: "runs lost or done twice",
      at: [...faults("lost"), ...faults("doubled")],
      atMost: 0,
    },
  ],
  fair: [
    {
      figure: "p99 of the trickle's runs by its quiet one",
      at: ["run_p99_ratio"],
      atMost: 3,
      lookFor: 2,
    },
  ],
  peers: [
    {
      figure: "steps/s by those of pg-boss in batches",
      at: ["by_batches.pg-boss"],
      atLeast: 1,
      lookFor: 2,
    },
    {
      figure: "steps/s by those of graphile-worker in batches",
      at: ["by_batches.graphile-worker"],
      atLeast: 1,
      lookFor: 2,
    },
  ],
  servers: [
    { figure: "two servers: CPU of a step by that of one", at: ["cpu_per_step_ratio"] },
    { figure: "two servers: sessions waiting for a lock", at: ["two.waiting_for_locks"] },
  ],
  dashboard: [
    { figure: "first paint, the slowest page, ms", at: ["rows.*.first_paint_ms"], atMost: 1_000 },
    {
      figure: "longest task while scrolling 100,000 runs, ms",
      at: ["rows.3.longest_task_ms"],
      atMost: 200,
    },
  ],
};

export const GOALS: readonly Goal[] = Object.entries(BY_REPORT).flatMap(([report, goals]) =>
  goals.map((goal) => ({ report, ...goal })),
);

type Bound = Pick<Goal, "atMost" | "lookFor">;

function spread(figure: string, at: string, { p50, p99 }: Readonly<Record<"p50" | "p99", Bound>>) {
  return [
    { figure: `${figure}, p50, ms`, at: [`${at}.p50`], ...p50 },
    { figure: `${figure}, p99, ms`, at: [`${at}.p99`], ...p99 },
  ];
}

/** null: the report does not have it. */
export function figureOf({ at, times = 1, atLeast }: Goal, report: Report): number | null {
  const found = at.flatMap((path) => numbersAt(report, path.split(".")));
  if (found.length === 0) return null;
  return times * (atLeast === undefined ? Math.max(...found) : Math.min(...found));
}

/** null: there is no goal. */
export function isReached({ atMost, atLeast }: Goal, figure: number): boolean | null {
  if (atMost === undefined && atLeast === undefined) return null;
  return figure <= (atMost ?? Number.POSITIVE_INFINITY) && figure >= (atLeast ?? 0);
}

/** Whether it is as good as what is wanted beyond the goal. */
export function isFound({ atLeast, lookFor }: Goal, figure: number): boolean {
  if (lookFor === undefined) return false;
  return atLeast === undefined ? figure <= lookFor : figure >= lookFor;
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
