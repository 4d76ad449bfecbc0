/**
 * Reports: the outcomes of tasks are sent with Complete, several in one call, and repeated until
 * they are answered. A repeat carries the very same outcome, so the server recognizes it. The call
 * carries a poll for the freed slots.
 *
 * Only a Drover server can judge a result. A call that was refused for any other reason (a token
 * that has expired, a proxy without a route) leaves all its reports as they are: they are sent
 * again, each alone, until the lease of their task has ended.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  CompleteAnswer,
  CompleteResponse,
  TaskResultSchema,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import type { Outcome } from "@drover/proto/drover/v1/task_pb.ts";
import { callErrorOfStatus, callOutcomeOf, DroverCallError, isAboutResults } from "./call-error.ts";
import { type Clock, within } from "./clock.ts";
import { createGathering, type Gathering, type Sent } from "./gathering.ts";
import type { HeldTask } from "./held-task.ts";
import { attemptFields, type Logger } from "./logger.ts";
import { outcomeOfRefusal } from "./outcomes.ts";
import { payloadSizeMax } from "./payload.ts";

export type Result = MessageInitShape<typeof TaskResultSchema>;

export interface ReportsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Sends one Complete, which may carry a poll; rejects with DroverCallError. */
  readonly send: (results: Result[]) => Promise<CompleteResponse>;
  /** The report was answered for good; the agent no longer holds the task. */
  readonly onAnswered: (held: HeldTask) => void;
}

export interface Reports {
  add(held: HeldTask, outcome: Outcome): void;
  /** Number of reports that the next calls send. */
  pending(): number;
  /** Resolves as soon as nothing is left to report. */
  flushed(): Promise<void>;
  /** Drops what is left. */
  stop(): void;
}

interface Report {
  readonly held: HeldTask;
  readonly outcome: Outcome;
  /** Whether it already replaces one that the server refused. */
  readonly substitute: boolean;
}

/** Of one call: 1,000 is the limit of the contract, and what an answer loses is repeated. */
const resultsMax = 250;

type AnswerKind = "answered" | "repeat" | "substitute";

interface State extends ReportsOptions {
  readonly queue: Gathering<Report>;
}

export function createReports(options: ReportsOptions): Reports {
  const queue = createGathering<Report>({
    clock: options.clock,
    itemsMax: resultsMax,
    sizeMax: reportSizeMax,
    send: (batch) => sendBatch(state, batch),
  });
  const state: State = { ...options, queue };
  return Object.freeze({
    add: (held: HeldTask, outcome: Outcome) => queue.add({ held, outcome, substitute: false }),
    pending: queue.pending,
    flushed: queue.flushed,
    stop: queue.stop,
  });
}

async function sendBatch(state: State, batch: readonly Report[]): Promise<Sent<Report>> {
  try {
    const results = batch.map(({ held, outcome }) => ({
      taskToken: held.task.taskToken,
      outcome,
    }));
    const { answers } = await state.send(results);
    const again = batch.filter((report, index) => !settle(state, report, answers[index]));
    return { kind: "answered", again };
  } catch (error) {
    if (!(error instanceof DroverCallError)) throw error;
    return onFailedCall(state, batch, error);
  }
}

/** Returns false if the report has to be repeated. */
function settle(state: State, report: Report, answer: CompleteAnswer | undefined): boolean {
  const { log, onAnswered } = state;
  if (answer === undefined) return false;
  if (answer.status === undefined || answer.status.code === 0) {
    onAnswered(report.held);
    return true;
  }
  const error = callErrorOfStatus(answer.status);
  const fields = { ...attemptFields(report.held.task), reason: error.reason };
  switch (answerKind(error)) {
    case "answered":
      log.warn(fields, `report came to nothing: ${error.message}`);
      onAnswered(report.held);
      return true;
    case "substitute":
      log.error(fields, `report refused: ${error.message}`);
      substitute(state, report, error);
      return true;
    case "repeat":
      return false;
  }
}

/** The agent still holds the task, and has to report something that the server accepts. */
function substitute({ queue, onAnswered }: State, report: Report, error: DroverCallError): void {
  if (report.substitute) {
    onAnswered(report.held);
    return;
  }
  const outcome = outcomeOfRefusal(report.outcome, error);
  queue.add({ held: report.held, outcome, substitute: true });
}

function onFailedCall(
  state: State,
  batch: readonly Report[],
  error: DroverCallError,
): Sent<Report> {
  const { log } = state;
  const fields = { code: error.code, reason: error.reason, results: batch.length };
  if (callOutcomeOf(error) !== "definite") {
    log.warn(fields, `report not answered, will be repeated: ${error.message}`);
    return { kind: "failed", error };
  }
  if (!isAboutResults(error)) {
    log.error(fields, `reports refused as a call, will be repeated: ${error.message}`);
    const again = batch.filter((report) => isLeased(state, report, error));
    return { kind: "refused", error, again };
  }
  log.error(fields, `report refused: ${error.message}`);
  if (batch.length > 1) return { kind: "spoiled" };
  for (const report of batch) substitute(state, report, error);
  return { kind: "answered", again: [] };
}

/** A report of a call that was refused is given up with the lease of its task. */
function isLeased({ log, onAnswered }: State, { held }: Report, error: DroverCallError): boolean {
  if (held.leftMs() > 0) return true;
  const fields = { ...attemptFields(held.task), code: error.code, reason: error.reason };
  log.error(fields, `report given up: the lease has ended, and no call is taken`);
  onAnswered(held);
  return false;
}

/**
 * Whether all was reported before the last lease ended; `leastMs` is how long it may take even
 * then. Heartbeats continue meanwhile, and extend leases.
 */
export async function withinLeases(
  clock: Clock,
  leastMs: number,
  held: ReadonlySet<HeldTask>,
  flushed: Promise<void>,
): Promise<boolean> {
  const endMs = clock.monotonicMs() + leastMs;
  for (;;) {
    const leases = [...held].map((task) => task.leftMs());
    const leftMs = Math.max(endMs - clock.monotonicMs(), ...leases);
    if (leftMs <= 0) return false;
    if (await within(clock, leftMs, flushed)) return true;
  }
}

function answerKind(error: DroverCallError): AnswerKind {
  if (callOutcomeOf(error) !== "definite") return "repeat";
  switch (error.code) {
    case "INVALID_ARGUMENT":
      return error.reason === "MALFORMED_TOKEN" ? "answered" : "substitute";
    default:
      return "answered";
  }
}

function reportSizeMax({ held, outcome }: Report): number {
  return held.task.taskToken.length + outcomeSizeMax(outcome);
}

function outcomeSizeMax({ kind }: Outcome): number {
  const fixed = 1_024;
  switch (kind.case) {
    case "success":
      return fixed + payloadSizeMax(kind.value.output) + kind.value.outputProblem.length * 3;
    case "failed":
    case "unknown":
      return fixed + kind.value.message.length * 3;
    default:
      return fixed;
  }
}
