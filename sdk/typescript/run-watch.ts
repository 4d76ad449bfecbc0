/** Following a run: a stream of its states, opened again when it breaks; a wait for its end. */
import type * as wire from "@drover/proto/drover/v1/run_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { createBackoff } from "./backoff.ts";
import { type Call, type CallControl, present, tryMs } from "./call.ts";
import { callOutcomeOf, DroverCallError } from "./call-error.ts";
import type { Channel } from "./channel.ts";
import { sleep, systemClock } from "./clock.ts";
import { toDuration } from "./duration.ts";
import type { Outage } from "./outage.ts";
import { type RunName, toRef } from "./run-name.ts";
import { type Run, readRun, readStep, type Step } from "./runs.ts";

export interface RunSnapshot {
  readonly run: Run;
  readonly steps: readonly Step[];
}

interface WatchSpec extends CallControl {
  readonly afterVersion?: bigint;
}

export interface RunWatch {
  /**
   * The current state and each change, until the end of the run; continues after a broken stream.
   */
  watchRun(run: RunName, options?: WatchSpec): AsyncGenerator<RunSnapshot, void, undefined>;
  /**
   * Waits without a limit until the run has ended or the signal is aborted, and returns the run.
   */
  waitRun(run: RunName, options?: CallControl): Promise<Run>;
}

const rpc = SchedulerService.method;

/** Time for which the server holds one call of `waitRun`. */
const waitMs = 30_000;
/** The least time from one call of `waitRun` to the next. */
const spacingMs = 100;

interface Connection {
  readonly call: Call;
  readonly channel: Channel;
  readonly namespace: string;
  readonly patienceMs: number;
  readonly outage: Outage;
}

export function createRunWatch(connection: Connection): RunWatch {
  return Object.freeze({
    watchRun: (run: RunName, spec: WatchSpec = {}) => watchRun(connection, run, spec),
    waitRun: (run: RunName, control: CallControl = {}) => waitRun(connection, run, control),
  });
}

async function* watchRun(
  { channel, namespace, patienceMs, outage }: Connection,
  name: RunName,
  { signal, afterVersion = 0n }: WatchSpec,
): AsyncGenerator<RunSnapshot, void, undefined> {
  const run = toRef(name);
  const backoff = createBackoff(systemClock);
  let seen = afterVersion;
  let after = "";
  let failingSinceMs: number | null = null;
  for (;;) {
    signal?.throwIfAborted();
    const openedMs = systemClock.monotonicMs();
    let failure: DroverCallError | undefined;
    try {
      // A server of an older version does not know the cursor, and uses the version.
      const request = { namespace, run, after, afterVersion: seen };
      for await (const answer of channel.stream(rpc.watchRun, request, signal)) {
        const snapshot = readSnapshot(answer);
        seen = snapshot.run.version;
        after = answer.cursor;
        failingSinceMs = null;
        backoff.reset();
        outage.answered();
        yield snapshot;
        if (snapshot.run.ended) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof DroverCallError) || callOutcomeOf(error) === "definite") throw error;
      const nowMs = systemClock.monotonicMs();
      // A stream that was open for long without a change had reached the server.
      if (failingSinceMs === null || nowMs - openedMs > tryMs) failingSinceMs = nowMs;
      if (nowMs - failingSinceMs > patienceMs) throw error;
      failure = error;
      outage.failed(error);
    }
    await sleep(systemClock, backoff.nextMs(failure), signal);
  }
}

async function waitRun(
  { call, namespace }: Connection,
  name: RunName,
  { signal }: CallControl,
): Promise<Run> {
  const request = { namespace, run: toRef(name), wait: toDuration(waitMs) };
  for (;;) {
    const sentMs = systemClock.monotonicMs();
    const answer = await call(rpc.waitRun, request, { timeoutMs: waitMs + tryMs, signal });
    if (answer.ended) return readRun(present(answer.run));
    // A draining server answers at once: do not call it again too fast.
    const leftMs = spacingMs - (systemClock.monotonicMs() - sentMs);
    if (leftMs > 0) await sleep(systemClock, leftMs, signal);
  }
}

export function readSnapshot(answer: {
  run?: wire.Run | undefined;
  steps: readonly wire.Step[];
}): RunSnapshot {
  return { run: readRun(present(answer.run)), steps: answer.steps.map(readStep) };
}
