// `npm run bench -- all`: every profile in a process of its own, one after the other, and at the
// end one table of all figures that have a goal, as docs/PERFORMANCE.md has it. A report that is in
// the folder already is reused, so that a run that was cut off goes on where it was.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { figureOf, GOALS, type Goal, isFound, isReached, type Report } from "./goals.ts";

interface Program {
  readonly file?: string;
  /** Of the long form. */
  readonly args: readonly string[];
  /** Of the short form; left out: those of the long one, and `--short`. */
  readonly short?: readonly string[];
}

/** Shortest first: what comes late is what a session that ends early goes without. */
const REPORTS: Readonly<Record<string, Program>> = {
  chain: { args: ["chain"] },
  "chain-single": { args: ["chain", "--single"] },
  latency: { args: ["latency"] },
  fair: { args: ["fair"] },
  servers: { args: ["servers"] },
  fan: { args: ["fan"] },
  idle: { args: ["idle"] },
  dashboard: { args: ["dashboard"] },
  heartbeats: { args: ["heartbeats"] },
  detect: {
    file: "detect.ts",
    short: [],
    args: ["--leases", "100000", "--runs", "1000000", "--samples", "300"],
  },
  inflight: { args: ["inflight"] },
  recovery: { args: ["recovery"] },
  snapshot: { args: ["snapshot"] },
  list: { args: ["list"] },
  history: { args: ["history"] },
  peers: { args: ["peers"] },
};

/** Returns the names of those that gave no report. */
export function runAll(folder: string, short: boolean): readonly string[] {
  mkdirSync(folder, { recursive: true });
  for (const [name, program] of Object.entries(REPORTS)) {
    const file = fileOf(folder, name);
    if (existsSync(file)) continue;
    process.stderr.write(`== ${name}\n`);
    const main = join(import.meta.dirname, program.file ?? "main.ts");
    const args = short ? (program.short ?? [...program.args, "--short"]) : program.args;
    spawnSync(process.execPath, [main, ...args, "--json", file], {
      stdio: ["ignore", "inherit", "inherit"],
    });
  }
  return Object.keys(REPORTS).filter((name) => !existsSync(fileOf(folder, name)));
}

/** Of the reports that are in the folder. */
export function summaryOf(folder: string): string {
  const rows = GOALS.map((goal) => rowOf(goal, reportIn(folder, goal.report)));
  const peers = peerRows(reportIn(folder, "peers"));
  return [
    "| profile | figure | measured | goal | |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
    ...(peers.length > 0
      ? [
          "",
          "| peer | Drover's steps/s by its | its CPU a step by Drover's |",
          "| --- | --- | --- |",
        ]
      : []),
    ...peers,
  ].join("\n");
}

function rowOf(goal: Goal, report: Report | null): string {
  const figure = report && figureOf(goal, report);
  const form = report?.short === true ? " `--short`" : "";
  const cells = [
    `\`${goal.report.replace("-", " --")}\`${form}`,
    goal.figure,
    figure === null ? "not measured" : numberText(figure),
    goalText(goal),
    figure === null ? "" : reachedText(goal, figure, form && ", with less"),
  ];
  return `| ${cells.join(" | ")} |`;
}

function goalText({ atLeast, atMost, lookFor }: Goal): string {
  const wanted = atLeast ?? atMost;
  if (wanted === undefined) return "";
  const more = lookFor === undefined ? "" : ` (look for ${numberText(lookFor)})`;
  return `${atLeast === undefined ? "at most" : "at least"} ${numberText(wanted)}${more}`;
}

function reachedText(goal: Goal, figure: number, form: string): string {
  const reached = isReached(goal, figure);
  if (reached === null) return "";
  if (!reached) return `**missed**${form}`;
  return `reached${isFound(goal, figure) ? ", and what is looked for" : ""}${form}`;
}

function peerRows(report: Report | null): readonly string[] {
  const rows: readonly unknown[] = Array.isArray(report?.rows) ? report.rows : [];
  return rows.flatMap((row) => {
    if (!isReport(row) || row.product === "drover") return [];
    const name = [row.product, row.version, row.how].filter(Boolean).join(" ");
    const times = (of: unknown) => (typeof of === "number" ? `${numberText(of)} times` : "");
    return [`| ${name} | ${times(row.drover_times)} | ${times(row.cpu_times)} |`];
  });
}

function numberText(value: number): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : value < 10 ? 2 : 1;
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

function fileOf(folder: string, name: string): string {
  return join(folder, `${name}.json`);
}

function reportIn(folder: string, name: string): Report | null {
  const file = fileOf(folder, name);
  if (!existsSync(file)) return null;
  const report: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!isReport(report)) throw new Error(`${file} is not a report of a benchmark`);
  return report;
}

function isReport(value: unknown): value is Report {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
