/**
 * Time and randomness: the only module of the SDK that uses clocks, timers and jitter, so that
 * tests can give an agent a clock of their own.
 *
 * On some systems `monotonicMs` does not advance while the machine sleeps. The agent then notices
 * late that a lease has ended; the idempotency key and the fence protect against that.
 */

export interface Timer {
  /** Has no effect after the timer has fired. */
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since an arbitrary time; never goes back. */
  monotonicMs(): number;
  /** Calls `fn` once, never in the same turn; as soon as possible if `ms` is 0 or negative. */
  after(ms: number, fn: () => void): Timer;
  /** Calls `fn` once, after this turn of the event loop; no time passes. */
  soon(fn: () => void): void;
  /** At least 0, less than 1; for jitter, not for secrets. */
  fraction(): number;
}

/** Node fires longer timers at once; code that is woken early checks the clock again. */
const timerMsMax = 2 ** 31 - 1;

export const systemClock: Clock = Object.freeze({
  monotonicMs: () => performance.now(),
  after(ms: number, fn: () => void): Timer {
    const handle = setTimeout(fn, Math.min(Math.max(ms, 0), timerMsMax));
    return Object.freeze({ cancel: () => clearTimeout(handle) });
  },
  soon: (fn: () => void) => void setImmediate(fn),
  fraction: () => Math.random(),
});

/** The same, with timers for which a process does not stay. */
export const backgroundClock: Clock = Object.freeze({
  ...systemClock,
  after(ms: number, fn: () => void): Timer {
    const handle = setTimeout(fn, Math.min(Math.max(ms, 0), timerMsMax)).unref();
    return Object.freeze({ cancel: () => clearTimeout(handle) });
  },
});

/** The time for people, as of a log line: milliseconds since 1970. */
export function wallMs(): number {
  return Date.now();
}

/** The time at which a call ends, in the form that gRPC needs. */
export function deadlineIn(ms: number): Date {
  return new Date(Date.now() + ms);
}

/** Rejects with the signal's reason as soon as it is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Whether the promise was settled within the time; it is not stopped. */
export async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = clock.after(ms, () => resolve(false));
  const settled = () => resolve(true);
  work.then(settled, settled);
  const inTime = await promise;
  timer.cancel();
  return inTime;
}
