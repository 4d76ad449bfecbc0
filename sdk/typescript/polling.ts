/**
 * Getting tasks, by two polls in turn: a long poll of its own, and the poll that a call of reports
 * carries. An idle agent has the long poll alone.
 *
 *   parked -> answered | lost -> parked again, after a wait if the poll failed
 *
 * A slot is promised to one poll at a time, so the server never grants more tasks than there are
 * slots. The slots that reports make free are for the poll that is sent with them, so that a busy
 * agent needs one call for each step; the others, and one of several in any case, are for the long
 * poll. So while the answer to one poll is on its way, the other one waits.
 */
import { create } from "@bufbuild/protobuf";
import {
  type Next,
  NextSchema,
  type PollTaskResponse,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import type { Task } from "@drover/proto/drover/v1/task_pb.ts";
import { type Backoff, createBackoff } from "./backoff.ts";
import { callOutcomeOf, DroverCallError } from "./call-error.ts";
import type { Clock, Timer } from "./clock.ts";
import { fromDuration } from "./duration.ts";
import type { Logger } from "./logger.ts";
import type { Poll, Polls } from "./polls.ts";

export interface PollCall {
  readonly seq: bigint;
  readonly maxTasks: number;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface PollingOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly polls: Polls;
  readonly waitMs: number;
  readonly queues: readonly { readonly name: string; readonly weight: number }[];
  readonly tasks: readonly string[];
  /** Slots without a task. */
  readonly free: () => number;
  /** Number of reports that the next calls send, each call with a poll. */
  readonly reporting: () => number;
  /** Sends one PollTask; rejects with DroverCallError. */
  readonly send: (call: PollCall) => Promise<PollTaskResponse>;
  readonly receive: (tasks: readonly Task[], sentMs: number, waitedMs: number) => void;
}

/** A poll that a Complete carries. */
export interface CarriedPoll {
  readonly next: Next;
  answered(tasks: readonly Task[], waitedMs: number): void;
  failed(error: unknown): void;
}

export interface Polling {
  /** There may be something to poll for. */
  wake(): void;
  /** The poll for a call of this many reports; null: no slot is free for it. */
  carry(reports: number): CarriedPoll | null;
  /** Polls no more; resolves when the parked poll has ended. */
  stop(): Promise<void>;
}

/** Of one answer: as many as a call of reports can bring; 1,000 is the limit of the contract. */
const tasksMax = 250;
/** A server that is about to stop answers a poll at once and without tasks. */
const hastyMs = 500;

interface State extends PollingOptions {
  readonly backoff: Backoff;
  readonly stopping: AbortController;
  /** The long poll, while one is under way. */
  parked: Promise<void> | null;
  /** Slots that are promised to polls under way. */
  reserved: number;
  /** The wait after a failed poll. */
  pause: Timer | null;
}

export function createPolling(options: PollingOptions): Polling {
  const state: State = {
    ...options,
    backoff: createBackoff(options.clock),
    stopping: new AbortController(),
    parked: null,
    reserved: 0,
    pause: null,
  };
  return Object.freeze({
    wake: () => wake(state),
    carry: (reports: number) => carry(state, reports),
    stop: () => stop(state),
  });
}

function unpromised({ free, reserved }: State): number {
  return free() - reserved;
}

function wake(state: State): void {
  if (state.stopping.signal.aborted || state.parked || state.pause) return;
  const maxTasks = Math.min(besideReports(unpromised(state), state.reporting()), tasksMax);
  if (maxTasks <= 0) return;
  state.parked = park(state, maxTasks).finally(() => {
    state.parked = null;
    wake(state);
  });
}

async function park(state: State, maxTasks: number): Promise<void> {
  const { clock, backoff, stopping } = state;
  // Spread, so that agents which started together do not poll together for ever.
  const waitMs = Math.round(state.waitMs * (0.8 + 0.2 * clock.fraction()));
  const poll = state.polls.begin(waitMs);
  state.reserved += maxTasks;
  try {
    const { signal } = stopping;
    const answer = await state.send({ seq: poll.seq, maxTasks, waitMs, signal });
    state.reserved -= maxTasks;
    state.receive(answer.tasks, poll.sentMs, fromDuration(answer.waited));
    poll.over();
    const hasty = clock.monotonicMs() - poll.sentMs < Math.min(hastyMs, waitMs);
    if (answer.tasks.length === 0 && hasty) pausePolls(state);
    else backoff.reset();
  } catch (error) {
    if (!(error instanceof DroverCallError)) throw error;
    state.reserved -= maxTasks;
    if (wasNotAdmitted(error) || error.reason === "OVERLOADED") poll.over();
    else poll.lost();
    if (stopping.signal.aborted) return;
    logFailed(state.log, error);
    pausePolls(state, error);
  }
}

function pausePolls(state: State, error?: DroverCallError): void {
  state.pause = state.clock.after(state.backoff.nextMs(error), () => {
    state.pause = null;
    wake(state);
  });
}

function logFailed(log: Logger, error: DroverCallError): void {
  const fields = { code: error.code, reason: error.reason };
  const message = `poll failed, will poll again: ${error.message}`;
  if (callOutcomeOf(error) === "definite") log.error(fields, message);
  else log.warn(fields, message);
}

function carry(state: State, reports: number): CarriedPoll | null {
  const { polls, tasks, queues, receive } = state;
  const free = unpromised(state);
  // Where no long poll waits, one is about to.
  const kept = state.parked || state.pause ? 0 : besideReports(free, reports);
  const maxTasks = Math.min(free - kept, tasksMax);
  if (state.stopping.signal.aborted || maxTasks <= 0) return null;
  const poll: Poll = polls.begin(0);
  state.reserved += maxTasks;
  wake(state);
  return {
    next: create(NextSchema, {
      pollSeq: poll.seq,
      queues: [...queues],
      tasks: [...tasks],
      maxTasks,
    }),
    answered(granted: readonly Task[], waitedMs: number): void {
      state.reserved -= maxTasks;
      receive(granted, poll.sentMs, waitedMs);
      poll.over();
      wake(state);
    },
    failed(error: unknown): void {
      state.reserved -= maxTasks;
      // OVERLOADED may come from where the reports wait: the poll may have been served by then.
      if (error instanceof DroverCallError && wasNotAdmitted(error)) poll.over();
      else poll.lost();
      wake(state);
    },
  };
}

async function stop(state: State): Promise<void> {
  state.stopping.abort();
  state.pause?.cancel();
  state.pause = null;
  await state.parked;
}

/** Of the free slots, those for the long poll while this many reports wait to be sent. */
function besideReports(free: number, reports: number): number {
  if (free <= 0) return 0;
  return Math.max(free - reports, free > 1 ? 1 : 0);
}

/**
 * Refused by a Drover server before it looked for tasks, so that nothing can have been granted.
 * After any other error the poll has to be named as lost: also one that the client's own library
 * made, such as RESOURCE_EXHAUSTED for an answer that it takes for too large.
 */
function wasNotAdmitted({ reason }: DroverCallError): boolean {
  return admissionReasons.has(reason);
}

const admissionReasons: ReadonlySet<string> = new Set([
  "INVALID_REQUEST",
  "MALFORMED_MESSAGE",
  "MESSAGE_TOO_LARGE",
  "DEADLINE_TOO_LONG",
  "NAMESPACE_NOT_FOUND",
  "TOKEN_REQUIRED",
  "NOT_ALLOWED",
]);
