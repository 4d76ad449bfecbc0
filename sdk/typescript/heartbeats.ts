/**
 * Heartbeats: one call for all tasks that the agent holds, sent at the shortest interval that one
 * of them has.
 *
 * A heartbeat renews leases and brings cancels. It carries progress and details only when a handler
 * has left new ones, so an automatic heartbeat never moves progress. A heartbeat is due whether or
 * not the one before was answered: a server that hangs costs one heartbeat and not the leases.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  HeartbeatAnswer,
  HeartbeatReportSchema,
  HeartbeatResponse,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { type Backoff, createBackoff } from "./backoff.ts";
import { callErrorOfStatus, DroverCallError } from "./call-error.ts";
import type { Clock, Timer } from "./clock.ts";
import { fromDuration } from "./duration.ts";
import type { HeldTask, Notes } from "./held-task.ts";
import { attemptFields, type Logger } from "./logger.ts";
import { payloadSizeMax } from "./payload.ts";

export type HeartbeatReport = MessageInitShape<typeof HeartbeatReportSchema>;

export interface HeartbeatsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Sends one Heartbeat; rejects with DroverCallError. */
  readonly send: (reports: HeartbeatReport[], listsAllTo: bigint) => Promise<HeartbeatResponse>;
  /** Tasks of polls up to this number are added by now. */
  readonly endedTo: () => bigint;
}

export interface Heartbeats {
  add(held: HeldTask): void;
  remove(held: HeldTask): void;
  /** A handler left progress or details: a heartbeat sends them soon. */
  hurry(): void;
  /** Sends the details that a handler left last, unless they were sent; never rejects. */
  sendDetails(held: HeldTask): Promise<void>;
  stop(): void;
}

/** Progress and details of handlers are sent at most this much later, and at most this often. */
const noteSpacingMs = 1_000;
const reportsMax = 1_000;
/** The message limit is 4 MiB; what does not fit goes with the next heartbeat. */
const detailsBytesMax = 2 * 1024 * 1024;
const inFlightMax = 4;

/** A task in a heartbeat, with the notes of its handler that the heartbeat carries. */
interface Carried {
  readonly held: HeldTask;
  readonly notes: Notes;
}

interface State extends HeartbeatsOptions {
  /** When each task was granted, or was last named in a heartbeat. */
  readonly namedMs: Map<HeldTask, number>;
  /**
   * Tasks whose notes are in a heartbeat under way, and the end of that call: newer notes must not
   * overtake them.
   */
  readonly noting: Map<HeldTask, Promise<void>>;
  readonly backoff: Backoff;
  timer: Timer | null;
  timerMs: number;
  inFlight: number;
  lastSentMs: number;
  /** When to send again after a failure; infinite: no failure waits for that. */
  retryMs: number;
  stopped: boolean;
}

export function createHeartbeats(options: HeartbeatsOptions): Heartbeats {
  const state: State = {
    ...options,
    namedMs: new Map(),
    noting: new Map(),
    backoff: createBackoff(options.clock, 200, 2_000),
    timer: null,
    timerMs: 0,
    inFlight: 0,
    lastSentMs: -noteSpacingMs,
    retryMs: Number.POSITIVE_INFINITY,
    stopped: false,
  };
  return Object.freeze({
    add: (held: HeldTask) => add(state, held),
    remove: (held: HeldTask) => remove(state, held),
    hurry: () => wakeAt(state, state.lastSentMs + noteSpacingMs),
    sendDetails: (held: HeldTask) => sendDetails(state, held),
    stop: () => stop(state),
  });
}

function add(state: State, held: HeldTask): void {
  const nowMs = state.clock.monotonicMs();
  state.namedMs.set(held, nowMs);
  wakeAt(state, nowMs + held.heartbeatIntervalMs);
}

function remove(state: State, held: HeldTask): void {
  state.namedMs.delete(held);
  if (state.namedMs.size === 0) reschedule(state);
}

function stop(state: State): void {
  state.stopped = true;
  state.timer?.cancel();
  state.timer = null;
}

/** After anything that may have made the next heartbeat due later: looks at all tasks. */
function reschedule(state: State): void {
  state.timer?.cancel();
  state.timer = null;
  wakeAt(state, dueMs(state));
}

/**
 * Sets the timer to this time, or leaves it at an earlier one. What was due may have gone by then,
 * so all tasks are looked at when the timer fires, and not for each task that comes or goes, of
 * which there may be thousands.
 */
function wakeAt(state: State, atMs: number): void {
  const { clock, stopped, inFlight } = state;
  if (stopped || inFlight >= inFlightMax || atMs === Number.POSITIVE_INFINITY) return;
  if (state.timer !== null && state.timerMs <= atMs) return;
  state.timer?.cancel();
  state.timerMs = atMs;
  state.timer = clock.after(atMs - clock.monotonicMs(), () => {
    state.timer = null;
    if (dueMs(state) <= clock.monotonicMs()) sendAll(state);
    reschedule(state);
  });
}

function dueMs({ namedMs, noting, retryMs, lastSentMs }: State): number {
  let due = retryMs;
  for (const [held, lastMs] of namedMs) {
    if (!held.listed()) continue;
    due = Math.min(due, lastMs + held.heartbeatIntervalMs);
    if (hasNotes(held) && !noting.has(held)) due = Math.min(due, lastSentMs + noteSpacingMs);
  }
  return due;
}

function sendAll(state: State): void {
  const sentMs = state.clock.monotonicMs();
  state.retryMs = Number.POSITIVE_INFINITY;
  state.lastSentMs = sentMs;
  const listed = [...state.namedMs.keys()].filter((held) => held.listed());
  const listsAllTo = listed.length > reportsMax ? 0n : state.endedTo();
  for (let at = 0; at < listed.length; at += reportsMax) {
    void sendHeartbeat(state, listed.slice(at, at + reportsMax), sentMs, listsAllTo);
  }
}

async function sendDetails(state: State, held: HeldTask): Promise<void> {
  await state.noting.get(held);
  if (!held.listed() || held.notes().details === undefined) return;
  await sendHeartbeat(state, [held], state.clock.monotonicMs(), 0n);
}

/** `listsAllTo`: these tasks are all that polls up to it have brought; 0: they are only some. */
async function sendHeartbeat(
  state: State,
  tasks: readonly HeldTask[],
  sentMs: number,
  listsAllTo: bigint,
): Promise<void> {
  const { clock, log, backoff, noting } = state;
  const over = Promise.withResolvers<void>();
  const carried = takeNotes(state, tasks, sentMs, over.promise);
  state.inFlight += 1;
  try {
    const reports = carried.map(({ held, notes }) => ({
      taskToken: held.task.taskToken,
      ...notes,
    }));
    const { answers } = await state.send(reports, listsAllTo);
    backoff.reset();
    for (const [index, answer] of answers.entries()) {
      const item = carried[index];
      if (item !== undefined) takeAnswer(state, item, answer, sentMs);
    }
  } catch (error) {
    if (!(error instanceof DroverCallError)) throw error;
    log.warn({ code: error.code, reason: error.reason }, `heartbeat failed: ${error.message}`);
    state.retryMs = clock.monotonicMs() + backoff.nextMs(error);
  } finally {
    state.inFlight -= 1;
    for (const { held, notes } of carried) {
      if (notes.progress || notes.details) noting.delete(held);
    }
    over.resolve();
    reschedule(state);
  }
}

/** Names the tasks in a heartbeat, with as many of their notes as fit; `over` is its end. */
function takeNotes(
  { namedMs, noting }: State,
  tasks: readonly HeldTask[],
  sentMs: number,
  over: Promise<void>,
): Carried[] {
  let bytesLeft = detailsBytesMax;
  return tasks.map((held): Carried => {
    namedMs.set(held, sentMs);
    const notes = noting.has(held) ? {} : held.notes();
    const bytes = payloadSizeMax(notes.details);
    // The first details are always sent, however large: they would never fit otherwise.
    if (bytes > bytesLeft && bytesLeft < detailsBytesMax) return { held, notes: {} };
    bytesLeft -= bytes;
    if (notes.progress || notes.details) noting.set(held, over);
    return { held, notes };
  });
}

function takeAnswer(
  state: State,
  { held, notes }: Carried,
  { answer }: HeartbeatAnswer,
  sentMs: number,
): void {
  const { clock, log, backoff } = state;
  const task = attemptFields(held.task);
  switch (answer.case) {
    case "carryOn":
      held.carryOn(sentMs, fromDuration(answer.value.leaseFor));
      held.noted(notes);
      break;
    case "cancel":
      log.info(task, "the server cancelled the task");
      held.cancel(sentMs, fromDuration(answer.value.within));
      held.noted(notes);
      break;
    case "leaseLost":
      log.warn(task, "lease lost");
      held.lose();
      break;
    case "error": {
      const error = callErrorOfStatus(answer.value);
      log.error({ ...task, reason: error.reason }, `heartbeat refused: ${error.message}`);
      // The lease was not renewed: drop what was refused, and send again without it.
      if (hasNotes(held)) state.retryMs = clock.monotonicMs() + backoff.nextMs(error);
      held.noted(notes);
      break;
    }
    case undefined:
      // An answer of a newer server: carry on, and the lease is as it was.
      break;
  }
}

function hasNotes(held: HeldTask): boolean {
  const { progress, details } = held.notes();
  return progress !== undefined || details !== undefined;
}
