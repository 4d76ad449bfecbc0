/**
 * One task that the agent holds, from the answer that brought it to the answer to its report.
 *
 *   running -> ended (its report is on the way) -> closed
 *
 * It is listed in heartbeats until it is closed, or until the server says that the lease is lost.
 */
import type { Payload } from "@drover/proto/drover/v1/payload_pb.ts";
import type { Progress, Task } from "@drover/proto/drover/v1/task_pb.ts";
import type { Clock } from "./clock.ts";
import { fromDuration } from "./duration.ts";
import { createLease } from "./leases.ts";
import { type StopKind, TaskStopped } from "./task-errors.ts";

/** Progress and details of a handler that the server has not yet stored. */
export interface Notes {
  readonly progress?: Progress;
  readonly details?: Payload;
}

export interface HeldTask {
  readonly task: Task;
  readonly heartbeatIntervalMs: number;
  readonly signal: AbortSignal;
  /** Why it has to stop; null if it does not. */
  stopped(): TaskStopped | null;
  /** Of lease and attempt; 0 when one has ended, or the server said that the lease is lost. */
  leftMs(): number;
  /** False once the server said that the lease is lost, and when it is closed. */
  listed(): boolean;
  note(notes: Notes): void;
  notes(): Notes;
  /** These notes were answered: stored, or refused for good. */
  noted(notes: Notes): void;
  carryOn(sentMs: number, leaseForMs: number): void;
  cancel(sentMs: number, withinMs: number): void;
  lose(): void;
  stop(kind: StopKind): void;
  /** The handler has ended; the lease no longer matters to it. */
  end(): void;
  close(): void;
}

/** `waited` cannot be longer than the call itself took; a server that says so is not believed. */
export function holdTask(clock: Clock, task: Task, sentMs: number, waitedMs: number): HeldTask {
  const controller = new AbortController();
  let lost = false;
  let closed = false;
  let waiting: Notes = {};

  function stop(kind: StopKind): void {
    if (!controller.signal.aborted) controller.abort(new TaskStopped(kind));
  }

  const tookMs = clock.monotonicMs() - sentMs;
  const lease = createLease({
    clock,
    grantedMs: sentMs + Math.min(Math.max(waitedMs, 0), tookMs),
    leaseForMs: fromDuration(task.leaseFor),
    attemptForMs: fromDuration(task.attemptFor),
    onEnd: stop,
  });

  return Object.freeze({
    task,
    heartbeatIntervalMs: Math.max(fromDuration(task.heartbeatInterval), 1),
    signal: controller.signal,
    stopped: () =>
      controller.signal.reason instanceof TaskStopped ? controller.signal.reason : null,
    leftMs: () => (lost ? 0 : lease.leftMs()),
    listed: () => !lost && !closed,
    note(notes: Notes): void {
      waiting = { ...waiting, ...notes };
    },
    notes: () => waiting,
    noted(notes: Notes): void {
      const { progress, details } = waiting;
      waiting = {
        ...(progress !== undefined && progress !== notes.progress && { progress }),
        ...(details !== undefined && details !== notes.details && { details }),
      };
    },
    carryOn: lease.renew,
    cancel(sentAtMs: number, withinMs: number): void {
      lease.shorten(sentAtMs, withinMs);
      stop("cancelled");
    },
    lose(): void {
      lost = true;
      stop("lease-lost");
    },
    stop,
    end: lease.stop,
    close(): void {
      closed = true;
      lease.stop();
    },
  });
}
