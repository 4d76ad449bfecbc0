/**
 * A load of runs that do no work, and how long each part took. Client and agent are in this
 * process, so that both ends of each wait are measured by one clock.
 *
 *     Schedule sent -to the task-> step 1 -hop-> step 2 -hop-> step 3 -> end seen by the client
 */
import { type Client, type Connection, createAgent, createClient } from "@drover/sdk";
import { errorMessage } from "@drover/server/errors.ts";
import * as hdr from "hdr-histogram-js";

export interface LoadOptions {
  readonly namespace: string;
  /** With an admin's token: the bench starts runs, and performs their tasks. */
  readonly connection: Connection;
  /** Runs that are in progress at once. */
  readonly concurrency: number;
  /** Whether another run should start, after `started` runs and `elapsedMs`. */
  readonly continues: (started: number, elapsedMs: number) => boolean;
  readonly onRun: (ended: number) => void;
  /** After its abort no run starts, and open runs are cancelled. */
  readonly signal: AbortSignal;
}

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface LoadResult {
  readonly runs: number;
  readonly notCompleted: number;
  /** The first error; empty: there was none. */
  readonly firstError: string;
  readonly seconds: number;
  readonly runsPerSecond: number;
  readonly stepsPerSecond: number;
  readonly scheduleToTask: Latency;
  readonly hop: Latency;
  readonly wholeRun: Latency;
}

const queue = "bench";
const task = "nothing";
const stepIds = ["one", "two", "three"] as const;
const workflow = {
  workflow: "bench",
  steps: stepIds.map((id, no) => ({
    id,
    task,
    queue,
    needs: stepIds.slice(Math.max(no - 1, 0), no),
  })),
};

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { connection, namespace, concurrency, continues, onRun, signal } = options;
  const times = createTimes();
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const agent = createAgent({
    ...connection,
    namespace,
    id: "bench",
    queues: [queue],
    slots: concurrency,
    log,
    handlers: { [task]: ({ runId, stepId, input }) => times.worked(runId, stepId, input()) },
  });
  const client = createClient({ ...connection, namespace });
  const startedMs = performance.now();
  let started = 0;
  let ended = 0;
  let completed = 0;
  let firstError = "";
  const next = () => !signal.aborted && continues(started, performance.now() - startedMs);
  const work = async () => {
    while (next()) {
      const no = started++;
      const end = await oneRun(client, times, no, signal).catch(errorMessage);
      if (signal.aborted) return;
      if (end === "COMPLETED") completed += 1;
      else firstError ||= end;
      onRun(++ended);
    }
  };
  agent.start();
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
  } finally {
    await agent.stop();
    client.close();
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  return {
    runs: ended,
    notCompleted: ended - completed,
    firstError,
    seconds,
    runsPerSecond: completed / seconds,
    stepsPerSecond: (completed * stepIds.length) / seconds,
    ...times.latencies(),
  };
}

function quiet(): void {
  // Failures show in the runs.
}

/** The run's final state. After an abort the run is cancelled without compensation. */
async function oneRun(
  client: Client,
  times: Times,
  no: number,
  signal: AbortSignal,
): Promise<string> {
  times.sent(no);
  const { runId } = await client.schedule({ workflow, input: { no, from: times.id } });
  try {
    const { state } = await client.waitRun(runId, { signal });
    times.ended(no);
    return state;
  } catch (error) {
    await client.cancelRun(runId, { undo: "leave" }).catch(quiet);
    throw error;
  }
}

type Times = ReturnType<typeof createTimes>;

/** Histograms in microseconds, up to an hour, with three significant digits. */
function createTimes() {
  const id = crypto.randomUUID();
  const create = () =>
    hdr.build({ highestTrackableValue: 3_600_000_000, numberOfSignificantValueDigits: 3 });
  const toTask = create();
  const hops = create();
  const whole = create();
  const sentMs = new Map<number, number>();
  const workedMs = new Map<string, number>();
  const since = (ms: number) => Math.round((performance.now() - ms) * 1_000);

  return Object.freeze({
    id,
    sent: (no: number) => void sentMs.set(no, performance.now()),
    /** Tasks of another load on the same queue are performed, but not timed. */
    worked(runId: string, stepId: string, input: unknown): null {
      const at = workedMs.get(runId);
      const sent = isOurs(input, id) ? sentMs.get(input.no) : undefined;
      if (at !== undefined) hops.recordValue(since(at));
      else if (sent !== undefined && stepId === stepIds[0]) toTask.recordValue(since(sent));
      else return null;
      if (stepId === stepIds.at(-1)) workedMs.delete(runId);
      else workedMs.set(runId, performance.now());
      return null;
    },
    ended(no: number): void {
      const sent = sentMs.get(no);
      if (sent !== undefined) whole.recordValue(since(sent));
      sentMs.delete(no);
    },
    latencies: () => ({
      scheduleToTask: latencyOf(toTask),
      hop: latencyOf(hops),
      wholeRun: latencyOf(whole),
    }),
  });
}

function isOurs(input: unknown, id: string): input is { readonly no: number } {
  return typeof input === "object" && input !== null && "no" in input && "from" in input
    ? input.from === id
    : false;
}

function latencyOf(histogram: hdr.Histogram): Latency {
  const ms = (micros: number) => Math.round(micros / 10) / 100;
  return {
    p50Ms: ms(histogram.getValueAtPercentile(50)),
    p99Ms: ms(histogram.getValueAtPercentile(99)),
    maxMs: ms(histogram.getValueAtPercentile(100)),
  };
}
