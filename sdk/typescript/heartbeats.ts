/**
 * Heartbeats: one call for all tasks in the agent's hands, sent by itself as often as the task asks
 * that wants it most often.
 *
 * A beat keeps leases and brings cancels. It carries progress and details only when a handler has
 * given new ones, so an automatic beat never moves progress. A beat is due whether or not the one
 * before was answered, so a server that hangs costs one beat and not the leases.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  HeartbeatAnswer,
  HeartbeatReportSchema,
  HeartbeatResponse,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { createBackoff } from "./backoff.ts";
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
  /** A handler said something: let it go out soon. */
  hurry(): void;
  /** The details that a handler left last go out, if they have not; never rejects. */
  tellDetails(held: HeldTask): Promise<void>;
  stop(): void;
}

/** What a handler says goes out at most so much later, and at most so often. */
const noteSpacingMs = 1_000;
const reportsMax = 1_000;
/** The message limit is 4 MiB; what does not fit rides with the next beat. */
const detailsBytesMax = 2 * 1024 * 1024;
const inFlightMax = 4;

interface Carried {
  readonly held: HeldTask;
  readonly notes: Notes;
}

export function createHeartbeats({ clock, log, send, endedTo }: HeartbeatsOptions): Heartbeats {
  /** When each task was last named in a beat, or granted. */
  const beaten = new Map<HeldTask, number>();
  /** Tasks whose notes are in a beat under way, and its end: newer ones must not overtake them. */
  const noting = new Map<HeldTask, Promise<void>>();
  const backoff = createBackoff(clock, 200, 2_000);
  let timer: Timer | null = null;
  let timerMs = 0;
  let inFlight = 0;
  let lastSentMs = -noteSpacingMs;
  let retryMs = Number.POSITIVE_INFINITY;
  let stopped = false;

  function dueMs(): number {
    let due = retryMs;
    for (const [held, lastMs] of beaten) {
      if (!held.listed()) continue;
      due = Math.min(due, lastMs + held.heartbeatIntervalMs);
      if (hasNotes(held) && !noting.has(held)) due = Math.min(due, lastSentMs + noteSpacingMs);
    }
    return due;
  }

  /** After anything that may have moved due times away: looks at all tasks. */
  function schedule(): void {
    timer?.cancel();
    timer = null;
    lookAt(dueMs());
  }

  /**
   * At this time or sooner. What was due may have gone by then, so all tasks are looked at once
   * it has come, and not for each one that comes or goes, of which there may be thousands.
   */
  function lookAt(due: number): void {
    if (stopped || inFlight >= inFlightMax || due === Number.POSITIVE_INFINITY) return;
    if (timer !== null && timerMs <= due) return;
    timer?.cancel();
    timerMs = due;
    timer = clock.after(due - clock.monotonicMs(), () => {
      timer = null;
      if (dueMs() <= clock.monotonicMs()) heartbeat();
      schedule();
    });
  }

  function heartbeat(): void {
    const sentMs = clock.monotonicMs();
    retryMs = Number.POSITIVE_INFINITY;
    lastSentMs = sentMs;
    const listed = [...beaten.keys()].filter((held) => held.listed());
    const listsAllTo = listed.length > reportsMax ? 0n : endedTo();
    for (let at = 0; at < listed.length; at += reportsMax) {
      void sendHeartbeat(listed.slice(at, at + reportsMax), sentMs, listsAllTo);
    }
  }

  /** `listsAllTo`: these are all that polls up to it have brought; 0: they are only some. */
  async function sendHeartbeat(
    tasks: readonly HeldTask[],
    sentMs: number,
    listsAllTo = 0n,
  ): Promise<void> {
    let bytesLeft = detailsBytesMax;
    const over = Promise.withResolvers<void>();
    const carried = tasks.map((held): Carried => {
      beaten.set(held, sentMs);
      const notes = noting.has(held) ? {} : held.notes();
      const bytes = payloadSizeMax(notes.details);
      // A single large one has to go out at some time.
      if (bytes > bytesLeft && bytesLeft < detailsBytesMax) return { held, notes: {} };
      bytesLeft -= bytes;
      if (notes.progress || notes.details) noting.set(held, over.promise);
      return { held, notes };
    });
    inFlight += 1;
    try {
      const reports = carried.map(({ held, notes }) => ({
        taskToken: held.task.taskToken,
        ...notes,
      }));
      const { answers } = await send(reports, listsAllTo);
      backoff.reset();
      for (const [index, answer] of answers.entries()) {
        const item = carried[index];
        if (item !== undefined) hear(item, answer, sentMs);
      }
    } catch (error) {
      if (!(error instanceof DroverCallError)) throw error;
      log.warn({ code: error.code, reason: error.reason }, `heartbeat failed: ${error.message}`);
      retryMs = clock.monotonicMs() + backoff.nextMs(error);
    } finally {
      inFlight -= 1;
      for (const { held, notes } of carried) {
        if (notes.progress || notes.details) noting.delete(held);
      }
      over.resolve();
      schedule();
    }
  }

  function hear({ held, notes }: Carried, { answer }: HeartbeatAnswer, sentMs: number): void {
    const task = attemptFields(held.task);
    switch (answer.case) {
      case "carryOn":
        held.carryOn(sentMs, fromDuration(answer.value.leaseFor));
        held.noted(notes);
        break;
      case "cancel":
        log.info(task, "told to cancel");
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
        // The lease was not renewed: drop what was refused, and beat again without it.
        if (hasNotes(held)) retryMs = clock.monotonicMs() + backoff.nextMs(error);
        held.noted(notes);
        break;
      }
      case undefined:
        // An answer of a newer server: carry on, and the lease is as it was.
        break;
    }
  }

  return Object.freeze({
    add(held: HeldTask): void {
      const nowMs = clock.monotonicMs();
      beaten.set(held, nowMs);
      lookAt(nowMs + held.heartbeatIntervalMs);
    },
    remove(held: HeldTask): void {
      beaten.delete(held);
      if (beaten.size === 0) schedule();
    },
    hurry: () => lookAt(lastSentMs + noteSpacingMs),
    async tellDetails(held: HeldTask): Promise<void> {
      await noting.get(held);
      if (!held.listed() || held.notes().details === undefined) return;
      await sendHeartbeat([held], clock.monotonicMs());
    },
    stop(): void {
      stopped = true;
      timer?.cancel();
      timer = null;
    },
  });
}

function hasNotes(held: HeldTask): boolean {
  const { progress, details } = held.notes();
  return progress !== undefined || details !== undefined;
}
