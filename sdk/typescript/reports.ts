/**
 * Reports: what became of tasks goes out by Complete, gathered, and is repeated until it is
 * answered.
 *
 *   queued -> under way -> answered
 *      ^----------'  (the call said nothing definite)
 *
 * A lonely report goes out at once; in a busy agent those of 2 ms share a call. A repeat carries
 * the very same outcome, so the server knows it again. A poll for the freed slots rides along.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  CompleteAnswer,
  CompleteResponse,
  TaskResultSchema,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import type { Outcome } from "@drover/proto/drover/v1/task_pb.ts";
import { createBackoff } from "./backoff.ts";
import { callErrorOfStatus, DroverCallError, verdictOf } from "./call-error.ts";
import type { Clock, Timer } from "./clock.ts";
import type { HeldTask } from "./held-task.ts";
import type { Logger } from "./logger.ts";
import { outcomeOfRefusal } from "./outcomes.ts";
import { payloadSizeMax } from "./payload.ts";

export type Result = MessageInitShape<typeof TaskResultSchema>;

export interface ReportsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Sends one Complete, with a poll riding along if it likes; rejects with DroverCallError. */
  readonly send: (results: Result[]) => Promise<CompleteResponse>;
  /** The report was answered for good; the task is out of the agent's hands. */
  readonly onAnswered: (held: HeldTask) => void;
}

export interface Reports {
  add(held: HeldTask, outcome: Outcome): void;
  /** Whether a call is about to go out on which a poll can ride. */
  gathering(): boolean;
  /** Resolves as soon as nothing is left to report. */
  flushed(): Promise<void>;
  /** Drops what is left. */
  stop(): void;
}

const spacingMs = 2;
const resultsMax = 100;
/** The message limit is 4 MiB. */
const resultsBytesMax = 3 * 1024 * 1024;
const inFlightMax = 4;

interface Report {
  readonly held: HeldTask;
  readonly outcome: Outcome;
  /** Whether it already stands in for one that was refused. */
  readonly substitute: boolean;
}

type AnswerKind = "answered" | "repeat" | "substitute";

export function createReports({ clock, log, send, onAnswered }: ReportsOptions): Reports {
  let queue: Report[] = [];
  let inFlight = 0;
  let lastSentMs = -spacingMs;
  let notBeforeMs = 0;
  let batchMax = resultsMax;
  let timer: Timer | null = null;
  const waiters: (() => void)[] = [];
  let stopped = false;
  const backoff = createBackoff(clock);

  function pump(): void {
    while (!stopped && queue.length > 0 && inFlight < inFlightMax && timer === null) {
      const nowMs = clock.monotonicMs();
      const full = queue.length >= resultsMax ? 0 : lastSentMs + spacingMs;
      const dueMs = Math.max(full, notBeforeMs);
      if (dueMs > nowMs) {
        timer = clock.after(dueMs - nowMs, () => {
          timer = null;
          pump();
        });
        return;
      }
      lastSentMs = nowMs;
      void sendBatch(takeBatch());
    }
    if (queue.length === 0 && inFlight === 0) {
      for (const resolve of waiters.splice(0)) resolve();
    }
  }

  function takeBatch(): Report[] {
    let bytes = 0;
    let count = 0;
    for (const { held, outcome } of queue.slice(0, batchMax)) {
      bytes += held.task.taskToken.length + outcomeSizeMax(outcome);
      if (count > 0 && bytes > resultsBytesMax) break;
      count += 1;
    }
    return queue.splice(0, count);
  }

  async function sendBatch(batch: readonly Report[]): Promise<void> {
    inFlight += 1;
    try {
      const results = batch.map(({ held, outcome }) => ({
        taskToken: held.task.taskToken,
        outcome,
      }));
      const { answers } = await send(results);
      backoff.reset();
      batchMax = resultsMax;
      const again = batch.filter((report, index) => !settle(report, answers[index]));
      if (again.length > 0) repeat(again, undefined);
    } catch (error) {
      if (!(error instanceof DroverCallError)) throw error;
      onFailedCall(batch, error);
    } finally {
      inFlight -= 1;
      pump();
    }
  }

  function repeat(batch: readonly Report[], error: DroverCallError | undefined): void {
    queue = [...batch, ...queue];
    const nowMs = clock.monotonicMs();
    // Calls that fail together are one failure.
    if (nowMs >= notBeforeMs) notBeforeMs = nowMs + backoff.nextMs(error);
  }

  function onFailedCall(batch: readonly Report[], error: DroverCallError): void {
    const fields = { code: error.code, reason: error.reason, results: batch.length };
    if (verdictOf(error) !== "definite") {
      log.warn(fields, `report not answered, will be repeated: ${error.message}`);
      repeat(batch, error);
      return;
    }
    log.error(fields, `report refused: ${error.message}`);
    if (batch.length > 1) {
      // One of them must be the cause; alone, each finds out.
      batchMax = 1;
      queue = [...batch, ...queue];
      return;
    }
    for (const report of batch) substitute(report, error);
  }

  /** Returns false if the report has to be repeated. */
  function settle(report: Report, answer: CompleteAnswer | undefined): boolean {
    if (answer === undefined) return false;
    if (answer.status === undefined || answer.status.code === 0) {
      onAnswered(report.held);
      return true;
    }
    const error = callErrorOfStatus(answer.status);
    const { runId, stepId } = report.held.task;
    const fields = { runId, stepId, reason: error.reason };
    switch (answerKind(error)) {
      case "answered":
        log.warn(fields, `report came to nothing: ${error.message}`);
        onAnswered(report.held);
        return true;
      case "substitute":
        log.error(fields, `report refused: ${error.message}`);
        substitute(report, error);
        return true;
      case "repeat":
        return false;
    }
  }

  /** The task is still ours, and something has to be said about it that the server will take. */
  function substitute(report: Report, error: DroverCallError): void {
    if (report.substitute) {
      onAnswered(report.held);
      return;
    }
    const outcome = outcomeOfRefusal(error.reason || error.code, error.message);
    queue.push({ held: report.held, outcome, substitute: true });
  }

  return Object.freeze({
    add(held: HeldTask, outcome: Outcome): void {
      queue.push({ held, outcome, substitute: false });
      if (queue.length >= resultsMax && notBeforeMs <= clock.monotonicMs()) {
        timer?.cancel();
        timer = null;
      }
      pump();
    },
    gathering: () => queue.length > 0 && notBeforeMs <= clock.monotonicMs(),
    flushed(): Promise<void> {
      return new Promise((resolve) => {
        waiters.push(resolve);
        pump();
      });
    },
    stop(): void {
      stopped = true;
      timer?.cancel();
      timer = null;
    },
  });
}

function answerKind(error: DroverCallError): AnswerKind {
  if (verdictOf(error) !== "definite") return "repeat";
  switch (error.code) {
    case "INVALID_ARGUMENT":
      return error.reason === "MALFORMED_TOKEN" ? "answered" : "substitute";
    default:
      return "answered";
  }
}

function outcomeSizeMax({ kind }: Outcome): number {
  const fixed = 1_024;
  switch (kind.case) {
    case "success":
      return fixed + payloadSizeMax(kind.value.output);
    case "failed":
    case "unknown":
      return fixed + kind.value.message.length * 3;
    default:
      return fixed;
  }
}
