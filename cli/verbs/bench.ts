/**
 * `drover bench`: how fast this server answers, measured with runs that do no work, in a namespace
 * of their own whose runs are deleted after an hour. The benchmarks of releases are in bench/.
 */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Connection as AgentConnection } from "@drover/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Latency, LoadResult } from "../bench-load.ts";
import type { Connection } from "../client.ts";
import { contextOf, parseDuration, wholeNumber } from "../context.ts";
import { CliFailure, type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { sdkConnection } from "../sdk-connection.ts";
import { printPairs, printTable } from "../table.ts";
import { clean, counted } from "../words.ts";

interface BenchOptions {
  readonly runs: number;
  /** In milliseconds; instead of a number of runs. */
  readonly duration?: number;
  readonly concurrency: number;
}

const namespace = "drover-bench";
/** The shortest retention that a server accepts. */
const retentionMs = 3_600_000;
const runsMax = 1_000_000;
const concurrencyMax = 1_000;
const durationMsMax = 3_600_000;
const interrupted = 130;

export function addBench(program: Command, ended: Ended): void {
  program
    .command("bench")
    .description(`measure a running server with empty runs, in the namespace ${namespace}`)
    .option("--runs <n>", "runs of three steps", wholeNumber(1, runsMax), 1_000)
    .addOption(
      new Option("--duration <time>", "duration of the load, instead of --runs")
        .argParser(parseBenchTime)
        .conflicts("runs"),
    )
    .option("--concurrency <n>", "runs at once", wholeNumber(1, concurrencyMax), 20)
    .action(async (options: BenchOptions, command: Command) => {
      const { output, connectionOptions, connect } = contextOf(command);
      const result = await measure(sdkConnection(connectionOptions), connect(), options, output);
      output.value({ ...result, ...latencyValues(result) });
      if (output.format === "table") print(result, output);
      output.note(`  its runs are deleted after an hour: drover run list --namespace ${namespace}`);
      if (result.notCompleted > 0)
        throw new CliFailure(
          `${counted(result.notCompleted, "run")} of ${result.runs} did not complete: ${clean(result.firstError)}`,
          { code: exitCodes.failed, next: "drover doctor; the log of the server" },
        );
      ended(exitCodes.done);
    });
}

function parseBenchTime(text: string): number {
  const ms = parseDuration(text);
  if (ms > 0 && ms <= durationMsMax) return ms;
  throw new InvalidArgumentError("It must be more than 0, and at most 1h.");
}

async function measure(
  connection: AgentConnection,
  { operator }: Connection,
  { runs, duration, concurrency }: BenchOptions,
  output: Output,
): Promise<LoadResult> {
  await operator.createNamespace({ name: namespace });
  await operator.setNamespaceRetention({ namespace, retention: durationFromMs(retentionMs) });
  const giveUp = new AbortController();
  const onSignal = () => giveUp.abort();
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  const { runLoad } = await import("../bench-load.ts");
  const most = duration === undefined ? ` of ${runs}` : "";
  try {
    const result = await runLoad({
      connection,
      namespace,
      concurrency,
      signal: giveUp.signal,
      continues: (started, elapsedMs) =>
        duration === undefined ? started < runs : elapsedMs < duration,
      onRun: (ended) => output.screen?.show(() => [`${ended}${most} runs`]),
    });
    if (giveUp.signal.aborted) process.exit(interrupted);
    return result;
  } finally {
    output.screen?.close();
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

function latencyValues({ scheduleToTask, hop, wholeRun }: LoadResult) {
  return { scheduleToTask: { ...scheduleToTask }, hop: { ...hop }, wholeRun: { ...wholeRun } };
}

function print(result: LoadResult, output: Output): void {
  const { runs, seconds, runsPerSecond, stepsPerSecond } = result;
  printPairs(output, [
    ["runs", `${runs} in ${seconds.toFixed(1)}s`],
    ["runs a second", runsPerSecond.toFixed(1)],
    ["steps a second", stepsPerSecond.toFixed(1)],
  ]);
  output.line("");
  const row = (name: string, { p50Ms, p99Ms, maxMs }: Latency) => [
    name,
    ...[p50Ms, p99Ms, maxMs].map((ms) => `${ms.toFixed(2)}ms`),
  ];
  const rows = [
    row("Schedule to its first task", result.scheduleToTask),
    row("from one step to the next", result.hop),
    row("the whole run", result.wholeRun),
  ];
  printTable(output, ["LATENCY", "P50", "P99", "MAX"], rows);
}
