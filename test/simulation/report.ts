// The result of a set of seeds, and whether it proves anything: a set in which a kind of fault or a
// transition hardly ever happened is void, not passed.
import { type EdgeName, EVERY_EDGE, RARE_EDGES } from "./edges.ts";
import { FAULT_KINDS } from "./faults.ts";
import type { Simulated } from "./simulate.ts";

const RUNS_MIN = 20;
const FAULT_SEEDS_SHARE_MIN = 0.05;
/** Each edge once in so many seeds, which is 100 times in 20,000. Fewer seeds evaluate no edge. */
const SEEDS_PER_EDGE = 200;
const SEEDS_PER_RARE_EDGE = 5_000;

/** One seed, without its history: what a worker sends. */
export interface SeedResult {
  readonly seed: number;
  readonly runs: number;
  readonly violations: readonly string[];
  readonly faults: Readonly<Record<string, number>>;
  readonly edges: Readonly<Record<string, number>>;
  /** The last part of the history of a seed with violations. */
  readonly lastRecords: readonly string[];
}

export interface Report {
  readonly seeds: number;
  readonly firstSeed: number;
  readonly seconds: number;
  readonly seedsPerSecond: number;
  readonly runsPerSeed: { readonly least: number; readonly mean: number };
  readonly faults: Readonly<Record<string, { readonly times: number; readonly seedShare: number }>>;
  readonly edges: Readonly<Record<string, number>>;
  /** How often an edge has to be taken that is not rare; 0: too few seeds to evaluate that. */
  readonly edgesLeast: number;
  readonly violations: readonly { readonly seed: number; readonly texts: readonly string[] }[];
  /** Why the set proves nothing; none if it does. */
  readonly void: readonly string[];
}

const RECORDS_PRINTED = 40;

export function seedResult(simulated: Simulated): SeedResult {
  const { seed, runs, violations, faults, edges, history } = simulated;
  const records = violations.length > 0 ? history.records.slice(-RECORDS_PRINTED) : [];
  return {
    seed,
    runs,
    violations,
    faults: Object.fromEntries(faults),
    edges: Object.fromEntries(edges),
    lastRecords: records.map((record) => JSON.stringify(record)),
  };
}

/** Of a world that could not be played to its end: what it threw is what is wrong with it. */
export function brokenSeed(seed: number, error: unknown): SeedResult {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { seed, runs: 0, violations: [text], faults: {}, edges: {}, lastRecords: [] };
}

export function reportOf(results: readonly SeedResult[], seconds: number): Report {
  const runs = results.map((result) => result.runs);
  const faults = Object.fromEntries(
    FAULT_KINDS.map((kind) => {
      const counts = results.map((result) => result.faults[kind] ?? 0);
      const seedShare = counts.filter((times) => times > 0).length / results.length;
      return [kind, { times: sum(counts), seedShare }];
    }),
  );
  const edges = Object.fromEntries(
    EVERY_EDGE.map((edge) => [edge, sum(results.map((result) => result.edges[edge] ?? 0))]),
  );
  const least = Math.min(...runs);
  const edgesLeast = Math.floor(results.length / SEEDS_PER_EDGE);
  return {
    seeds: results.length,
    firstSeed: Math.min(...results.map(({ seed }) => seed)),
    seconds,
    seedsPerSecond: results.length / seconds,
    runsPerSeed: { least, mean: sum(runs) / runs.length },
    faults,
    edges,
    edgesLeast,
    violations: results
      .filter(({ violations }) => violations.length > 0)
      .map(({ seed, violations }) => ({ seed, texts: violations })),
    void: [
      ...(least < RUNS_MIN ? [`a seed had ${least} runs, ${RUNS_MIN} are the least`] : []),
      ...Object.entries(faults)
        .filter(([, { seedShare }]) => seedShare < FAULT_SEEDS_SHARE_MIN)
        .map(([kind, { seedShare }]) => `"${kind}" happened in ${percent(seedShare)} of the seeds`),
      ...Object.entries(edges)
        .map(([edge, times]) => ({ edge, times, least: leastOf(edge, results.length) }))
        .filter(({ times, least }) => times < least)
        .map(
          ({ edge, times, least }) => `"${edge}" was taken ${times} times, ${least} are the least`,
        ),
    ],
  };
}

function leastOf(edge: EdgeName, seeds: number): number {
  return Math.floor(seeds / (RARE_EDGES.has(edge) ? SEEDS_PER_RARE_EDGE : SEEDS_PER_EDGE));
}

/** Of the program that has made the report: 0 only where it is no violation and not void. */
export function exitCodeOf({ violations, void: voids }: Report): 0 | 1 {
  return violations.length === 0 && voids.length === 0 ? 0 : 1;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** For people, on a terminal. */
export function reportText(report: Report): string {
  const faults = Object.entries(report.faults).map(
    ([kind, { times, seedShare }]) => `  ${kind}: ${times} times, in ${percent(seedShare)}`,
  );
  const edges = Object.entries(report.edges).map(([edge, times]) => `  ${edge}: ${times}`);
  const { least, mean } = report.runsPerSeed;
  const evaluated =
    report.edgesLeast === 0
      ? `not evaluated by fewer than ${SEEDS_PER_EDGE} seeds`
      : `${report.edgesLeast} times at least`;
  return [
    "faults:",
    ...faults,
    `edges of the state table, ${evaluated}:`,
    ...edges,
    `${report.seeds} seeds from ${report.firstSeed} in ${report.seconds.toFixed(1)} s: ${report.seedsPerSecond.toFixed(1)} seeds per second`,
    `runs per seed: ${mean.toFixed(1)}, ${least} at least`,
    `violations: in ${report.violations.length} seeds`,
    ...report.void.map((why) => `void: ${why}`),
  ].join("\n");
}
