/**
 * Getting tasks, by two polls in turn: a long poll of its own, and the poll that rides along with a
 * call of reports. An idle agent has the long poll alone.
 *
 *   parked -> answered | lost -> parked again, after a wait if it went wrong
 *
 * A slot is promised to one poll at a time, so that tasks never come for which there is none. The
 * slots that reports make free are for the poll that rides with them, so that a busy agent needs
 * one call for each step; the others, and one of several in any case, are for the long poll. So
 * while the answer to one poll is on its way, the other one waits.
 */
import { create } from "@bufbuild/protobuf";
import {
  type Next,
  NextSchema,
  type PollTaskResponse,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import type { Task } from "@drover/proto/drover/v1/task_pb.ts";
import { createBackoff } from "./backoff.ts";
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
  /** Reports that go out with the next calls, and a poll with each call. */
  readonly reporting: () => number;
  /** Sends one PollTask; rejects with DroverCallError. */
  readonly send: (call: PollCall) => Promise<PollTaskResponse>;
  readonly receive: (tasks: readonly Task[], sentMs: number, waitedMs: number) => void;
}

/** A poll that rides along with a Complete. */
export interface Ride {
  readonly next: Next;
  answered(tasks: readonly Task[], waitedMs: number): void;
  failed(error: unknown): void;
}

export interface Polling {
  /** There may be something to poll for. */
  wake(): void;
  /** For a call of so many reports. */
  ride(reports: number): Ride | null;
  /** Polls no more; resolves when the parked poll has ended. */
  stop(): Promise<void>;
}

/** Of one answer: as many as a call of reports can bring; 1,000 is the limit of the contract. */
const tasksMax = 250;
/** An empty answer that comes sooner is that of a server which is about to go. */
const hastyMs = 500;

export function createPolling(options: PollingOptions): Polling {
  const { clock, log, polls } = options;
  const backoff = createBackoff(clock);
  const stopping = new AbortController();
  let parked: Promise<void> | null = null;
  let reserved = 0;
  let pause: Timer | null = null;

  const unpromised = () => options.free() - reserved;

  function wake(): void {
    if (stopping.signal.aborted || parked || pause) return;
    const maxTasks = Math.min(besideReports(unpromised(), options.reporting()), tasksMax);
    if (maxTasks <= 0) return;
    parked = park(maxTasks).finally(() => {
      parked = null;
      wake();
    });
  }

  function rest(error?: DroverCallError): void {
    pause = clock.after(backoff.nextMs(error), () => {
      pause = null;
      wake();
    });
  }

  async function park(maxTasks: number): Promise<void> {
    // Spread, so that agents which started together do not poll together for ever.
    const waitMs = Math.round(options.waitMs * (0.8 + 0.2 * clock.fraction()));
    const poll = polls.begin(waitMs);
    reserved += maxTasks;
    try {
      const { signal } = stopping;
      const answer = await options.send({ seq: poll.seq, maxTasks, waitMs, signal });
      reserved -= maxTasks;
      options.receive(answer.tasks, poll.sentMs, fromDuration(answer.waited));
      poll.over();
      const hasty = clock.monotonicMs() - poll.sentMs < Math.min(hastyMs, waitMs);
      if (answer.tasks.length === 0 && hasty) rest();
      else backoff.reset();
    } catch (error) {
      if (!(error instanceof DroverCallError)) throw error;
      reserved -= maxTasks;
      if (wasNotAdmitted(error) || error.reason === "OVERLOADED") poll.over();
      else poll.lost();
      if (stopping.signal.aborted) return;
      sayFailed(error);
      rest(error);
    }
  }

  function sayFailed(error: DroverCallError): void {
    const fields = { code: error.code, reason: error.reason };
    const message = `poll failed, will poll again: ${error.message}`;
    if (callOutcomeOf(error) === "definite") log.error(fields, message);
    else log.warn(fields, message);
  }

  function ride(reports: number): Ride | null {
    const free = unpromised();
    // Where no long poll waits, one is about to.
    const kept = parked || pause ? 0 : besideReports(free, reports);
    const maxTasks = Math.min(free - kept, tasksMax);
    if (stopping.signal.aborted || maxTasks <= 0) return null;
    const poll: Poll = polls.begin(0);
    reserved += maxTasks;
    wake();
    const { tasks, queues } = options;
    return {
      next: create(NextSchema, {
        pollSeq: poll.seq,
        queues: [...queues],
        tasks: [...tasks],
        maxTasks,
      }),
      answered(granted: readonly Task[], waitedMs: number): void {
        reserved -= maxTasks;
        options.receive(granted, poll.sentMs, waitedMs);
        poll.over();
        wake();
      },
      failed(error: unknown): void {
        reserved -= maxTasks;
        // OVERLOADED may come from where the reports wait: the poll may have been served by then.
        if (error instanceof DroverCallError && wasNotAdmitted(error)) poll.over();
        else poll.lost();
        wake();
      },
    };
  }

  return Object.freeze({
    wake,
    ride,
    async stop(): Promise<void> {
      stopping.abort();
      pause?.cancel();
      pause = null;
      await parked;
    },
  });
}

/** Of the free slots, those for the long poll while so many reports wait to go out. */
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
