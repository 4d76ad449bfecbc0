// `npm run simulate -- --seeds N --seed S [--shards N] [--json FILE] [--workers N]`
//
// Plays the seeds S to S + N - 1, shared out among workers, and prints what it saw. The exit code
// is 0 only if no promise was broken and the set is not void.
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import {
  brokenSeed,
  exitCodeOf,
  type Report,
  reportOf,
  reportText,
  type SeedResult,
  seedResult,
} from "./report.ts";
import { simulate } from "./simulate.ts";

interface Share {
  readonly first: number;
  readonly end: number;
  readonly stride: number;
  /** How many shards the store has. */
  readonly shards: number;
}

/** Seeds of whose histories the end is printed too. */
const PRINTED_MAX = 3;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function work(share: Share): Promise<void> {
  // The stack of an error costs more than the rest of a call; a seed by itself prints it.
  if (share.end - share.first > 1) Error.stackTraceLimit = 0;
  for (let seed = share.first; seed < share.end; seed += share.stride)
    parentPort?.postMessage(
      await simulate(seed, share.shards).then(seedResult, (error: unknown) =>
        brokenSeed(seed, error),
      ),
    );
}

function numberOf(name: string, text: string | undefined, byDefault: number): number {
  const value = text === undefined ? byDefault : Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${name} is "${text}": give a whole number`);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string" },
      seed: { type: "string" },
      shards: { type: "string" },
      json: { type: "string" },
      workers: { type: "string" },
    },
  });
  const seeds = Math.max(1, numberOf("seeds", values.seeds, 100));
  const first = numberOf("seed", values.seed, 1);
  const workers = Math.min(seeds, numberOf("workers", values.workers, availableParallelism()) || 1);
  const shards = numberOf("shards", values.shards, 1);
  const startedAtMs = performance.now();
  const results: SeedResult[] = [];
  let printed = 0;
  const onResult = (result: SeedResult): void => {
    results.push(result);
    if (result.violations.length === 0) return;
    print(violationText(printed++ < PRINTED_MAX ? result : { ...result, lastRecords: [] }));
  };
  await Promise.all(
    Array.from({ length: workers }, (_, index) =>
      inWorker({ first: first + index, end: first + seeds, stride: workers, shards }, onResult),
    ),
  );
  const report = reportOf(results, (performance.now() - startedAtMs) / 1_000);
  if (values.json !== undefined) writeFileSync(values.json, jsonText(report));
  print(reportText(report));
  return exitCodeOf(report);
}

function inWorker(share: Share, onResult: (result: SeedResult) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: share });
    worker.on("message", onResult);
    worker.on("error", reject);
    worker.on("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`)),
    );
  });
}

function violationText({ seed, violations, lastRecords }: SeedResult): string {
  const end = lastRecords.length > 0 ? [`seed ${seed}: the end of its history`] : [];
  return [...end, ...lastRecords, `seed ${seed}:`, ...violations].join("\n");
}

function jsonText(report: Report): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}

if (isMainThread) process.exitCode = await main();
else await work(workerData);
