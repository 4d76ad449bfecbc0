/**
 * The lines that handlers log, on their way to the server, which stores them with the attempt.
 *
 * Best effort: a task never waits for its lines, and never fails because of them. The lines of all
 * tasks are sent together, a second after the first of them or at 16 KiB, one call at a time, and
 * once more before the agent stops. A call that fails is repeated with the same lines: the server
 * stores a line once, by its number. What finds no room is counted, and a line says how many were
 * not stored. Lines of a task that says so (`storeLogs`) never leave the process.
 */
import { inspect } from "node:util";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type AppendLogsResponse,
  type LogText,
  LogTextSchema,
  type TaskLogSchema,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { LogLevel, type Task } from "@drover/proto/drover/v1/task_pb.ts";
import { DroverCallError } from "./call-error.ts";
import { type Clock, type Timer, wallMs, within } from "./clock.ts";
import type { Logger } from "./logger.ts";

export type TaskLogMessage = MessageInitShape<typeof TaskLogSchema>;

export interface TaskLogsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Sends one AppendLogs; rejects with DroverCallError. */
  readonly send: (logs: TaskLogMessage[]) => Promise<AppendLogsResponse>;
}

export interface TaskLogs {
  /** The log of one task: each line goes to `log`, and to the server unless the task forbids it. */
  tee(task: Task, log: Logger): Logger;
  /** The handler has ended: what it logs from now on is not stored. */
  end(task: Task): void;
  /** Sends what is waiting, for at most this time; after that nothing is sent. Never rejects. */
  stop(ms: number): Promise<void>;
}

const flushMs = 1_000;
const flushBytes = 16 * 1024;
/** Of all lines that wait in this process. */
const waitingBytesMax = 256 * 1024;
/** Of one call, and of the lines of one task in it: limits of the contract. */
const itemsMax = 1_000;
/** Calls with the same lines before these are given up. */
const triesMax = 5;
/** The server cuts a line at 8 KiB and says so; a longer one is not worth its way. */
const messageLengthMax = 16_384;
const fieldsMax = 16;
const keyBytesMax = 64;
const valueBytesMax = 256;
/** What a line takes beside its text. */
const lineBytes = 64;

interface Waiting {
  readonly lines: LogText[];
  /** Number of the first of these lines. */
  first: number;
  /** Lines that were not stored since the last line. */
  dropped: number;
  ended: boolean;
  /** No line of the task is stored any more. */
  closed: boolean;
}

interface State extends TaskLogsOptions {
  /** By task token. */
  readonly tasks: Map<string, Waiting>;
  bytes: number;
  timer: Timer | null;
  sending: Promise<void> | null;
  tries: number;
  stopped: boolean;
}

export function createTaskLogs(options: TaskLogsOptions): TaskLogs {
  const state: State = {
    ...options,
    tasks: new Map(),
    bytes: 0,
    timer: null,
    sending: null,
    tries: 0,
    stopped: false,
  };
  return Object.freeze({
    tee: (task: Task, log: Logger) => (task.storeLogs ? tee(state, task, log) : log),
    end: (task: Task) => end(state, task.taskToken),
    stop: (ms: number) => stop(state, ms),
  });
}

function tee(state: State, { taskToken }: Task, log: Logger): Logger {
  const waiting: Waiting = { lines: [], first: 1, dropped: 0, ended: false, closed: false };
  state.tasks.set(taskToken, waiting);
  const at =
    (level: LogLevel, method: keyof Logger) =>
    (fields: object, message: string): void => {
      log[method](fields, message);
      add(state, waiting, lineOf(level, fields, message));
    };
  return Object.freeze({
    debug: at(LogLevel.DEBUG, "debug"),
    info: at(LogLevel.INFO, "info"),
    warn: at(LogLevel.WARN, "warn"),
    error: at(LogLevel.ERROR, "error"),
  });
}

function add(state: State, waiting: Waiting, line: LogText): void {
  if (waiting.ended || waiting.closed || state.stopped) return;
  const bytes = bytesOf(line);
  if (state.bytes + bytes > waitingBytesMax) {
    waiting.dropped += 1;
    return;
  }
  if (waiting.dropped > 0) push(state, waiting, notStored(waiting));
  push(state, waiting, line);
  if (state.bytes >= flushBytes && state.tries === 0) void flush(state);
  else wakeIn(state, flushMs);
}

function push(state: State, { lines }: Waiting, line: LogText): void {
  lines.push(line);
  state.bytes += bytesOf(line);
}

function notStored(waiting: Waiting): LogText {
  const count = waiting.dropped;
  waiting.dropped = 0;
  const message = `${count} ${count === 1 ? "line was" : "lines were"} not stored`;
  return lineOf(LogLevel.WARN, {}, message);
}

function end(state: State, token: string): void {
  const waiting = state.tasks.get(token);
  if (waiting === undefined) return;
  if (waiting.dropped > 0) push(state, waiting, notStored(waiting));
  waiting.ended = true;
  if (waiting.lines.length === 0) state.tasks.delete(token);
  else wakeIn(state, flushMs);
}

async function stop(state: State, ms: number): Promise<void> {
  await within(state.clock, ms, flush(state));
  state.stopped = true;
  state.timer?.cancel();
}

function wakeIn(state: State, ms: number): void {
  state.timer ??= state.clock.after(ms, () => {
    state.timer = null;
    void flush(state);
  });
}

/** One call at a time; resolves when the lines that wait now were sent, or given up. */
function flush(state: State): Promise<void> {
  state.sending ??= sendAll(state).finally(() => {
    state.sending = null;
  });
  return state.sending;
}

async function sendAll(state: State): Promise<void> {
  while (!state.stopped) {
    const batch = batchOf(state);
    if (batch.length === 0) return;
    try {
      const { answers } = await state.send(batch);
      state.tries = 0;
      for (const [at, one] of batch.entries()) settle(state, one, answers[at]);
    } catch (error) {
      if (!(error instanceof DroverCallError)) throw error;
      state.tries += 1;
      if (state.tries < triesMax) {
        wakeIn(state, flushMs);
        return;
      }
      state.tries = 0;
      const message = `log lines were not stored: ${error.message}`;
      state.log.warn({ code: error.code, tasks: batch.length }, message);
      for (const one of batch) giveUp(state, one);
    }
  }
}

interface Sent {
  readonly taskToken: string;
  readonly firstLine: number;
  readonly lines: LogText[];
}

function batchOf({ tasks }: State): Sent[] {
  const batch: Sent[] = [];
  for (const [taskToken, { first, lines }] of tasks) {
    if (batch.length === itemsMax) break;
    if (lines.length > 0)
      batch.push({ taskToken, firstLine: first, lines: lines.slice(0, itemsMax) });
  }
  return batch;
}

function settle(
  state: State,
  sent: Sent,
  answer: AppendLogsResponse["answers"][number] | undefined,
): void {
  const waiting = take(state, sent);
  // The lines of a task that is refused, or whose log is full, stay with the process.
  if (waiting && (answer === undefined || answer.full || (answer.status?.code ?? 0) !== 0)) {
    waiting.closed = true;
    take(state, { ...sent, lines: waiting.lines });
  }
  forgetEnded(state, sent.taskToken);
}

function giveUp(state: State, sent: Sent): void {
  const waiting = take(state, sent);
  if (waiting) waiting.dropped += sent.lines.length;
  forgetEnded(state, sent.taskToken);
}

/** Removes lines that were sent. */
function take(state: State, { taskToken, lines }: Sent): Waiting | undefined {
  const waiting = state.tasks.get(taskToken);
  if (waiting === undefined) return undefined;
  waiting.first += lines.length;
  for (const line of waiting.lines.splice(0, lines.length)) state.bytes -= bytesOf(line);
  return waiting;
}

function forgetEnded({ tasks }: State, token: string): void {
  const waiting = tasks.get(token);
  if (waiting?.ended && waiting.lines.length === 0) tasks.delete(token);
}

function lineOf(level: LogLevel, fields: object, message: string): LogText {
  return create(LogTextSchema, {
    time: timestampFromMs(wallMs()),
    level,
    message: tidy(message).slice(0, messageLengthMax).toWellFormed(),
    fields: Object.fromEntries(
      Object.entries(fields)
        .slice(0, fieldsMax)
        .map(([key, value]) => [
          cut(tidy(key), keyBytesMax) || "-",
          cut(tidy(textOf(value)), valueBytesMax),
        ]),
    ),
  });
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return inspect(value, { breakLength: Number.POSITIVE_INFINITY, depth: 3 });
}

function tidy(text: string): string {
  return text.replaceAll("\0", " ");
}

/** The first bytes of a text in UTF-8, without a character that is cut in two. */
function cut(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text.toWellFormed();
  return new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true });
}

function bytesOf({ message, fields }: LogText): number {
  return Object.entries(fields).reduce(
    (sum, [key, value]) => sum + key.length + value.length,
    lineBytes + message.length,
  );
}
