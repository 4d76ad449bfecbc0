/**
 * The lease of one task and the time of its attempt, by the agent's own monotonic clock.
 *
 * A lease counts from when the call that granted or renewed it was *sent*: the server cannot have
 * started to count before, so the agent never believes to hold what the server has given away. The
 * attempt counts from the same time, and nothing extends it. Each end is reported once.
 */
import type { Clock, Timer } from "./clock.ts";

export interface LeaseOptions {
  readonly clock: Clock;
  /** When the lease started: the sending of the call that granted it, plus `waited`. */
  readonly grantedMs: number;
  readonly leaseForMs: number;
  readonly attemptForMs: number;
  readonly onEnd: (kind: "lease-ended" | "attempt-over") => void;
}

export interface Lease {
  /** A heartbeat was answered with "carry on". */
  renew(sentMs: number, forMs: number): void;
  /** A heartbeat was answered with "cancel": from now on nothing makes the lease longer. */
  shorten(sentMs: number, withinMs: number): void;
  /** What is left of lease and attempt, whichever is less; 0 when one has ended. */
  leftMs(): number;
  stop(): void;
}

export function createLease(options: LeaseOptions): Lease {
  const { clock, grantedMs, onEnd } = options;
  const attemptEndMs = grantedMs + options.attemptForMs;
  let leaseEndMs = grantedMs + options.leaseForMs;
  let shortened = false;
  let timer: Timer | null = null;

  const endMs = () => Math.min(leaseEndMs, attemptEndMs);

  /** A renewal only moves the end: the timer finds that out when it fires. */
  function arm(): void {
    timer = clock.after(endMs() - clock.monotonicMs(), () => {
      timer = null;
      if (clock.monotonicMs() < endMs()) arm();
      else onEnd(leaseEndMs <= attemptEndMs ? "lease-ended" : "attempt-over");
    });
  }
  arm();

  return Object.freeze({
    renew(sentMs: number, forMs: number): void {
      if (!shortened) leaseEndMs = Math.max(leaseEndMs, sentMs + forMs);
    },
    shorten(sentMs: number, withinMs: number): void {
      shortened = true;
      leaseEndMs = Math.min(leaseEndMs, sentMs + withinMs);
    },
    leftMs: () => Math.max(0, endMs() - clock.monotonicMs()),
    stop(): void {
      timer?.cancel();
      timer = null;
    },
  });
}
