/**
 * Time and chance: the only module of the server that uses the clock, timers and randomness.
 *
 * Everything that waits, measures or draws receives a `Clock` and a `Random`, so that a simulation
 * can pass virtual ones and replay a run from one seed.
 *
 * - A duration is a difference of `monotonicMs`, never of `wallMs`, which may jump.
 * - Due times are compared by the database's clock alone; `wallMs` is for people (logs, names).
 */

export interface Timer {
  /** Has no effect after the timer has fired. */
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since an arbitrary time; never goes back. */
  monotonicMs(): number;
  /** Milliseconds since 1970, by the clock of the machine. */
  wallMs(): number;
  /** Calls `fn` once, never in the same turn. A time that is past or negative is due at once. */
  after(ms: number, fn: () => void): Timer;
  /** Rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Random {
  /** Fit for tokens and passwords. */
  bytes(count: number): Uint8Array;
  /** At least 0, less than 1; for jitter, not for secrets. */
  fraction(): number;
}

/** Node fires longer timers at once, so longer waits are made of several. */
const timerMsMax = 2 ** 31 - 1;

function after(ms: number, fn: () => void): Timer {
  if (Number.isNaN(ms)) throw new RangeError("A timer was asked to wait NaN milliseconds.");
  const arm = (leftMs: number): NodeJS.Timeout =>
    setTimeout(
      () => {
        if (leftMs <= timerMsMax) fn();
        else handle = arm(leftMs - timerMsMax);
      },
      Math.min(Math.max(leftMs, 0), timerMsMax),
    );
  let handle = arm(ms);
  return Object.freeze({ cancel: () => clearTimeout(handle) });
}

/** `sleep` made from `after`, so that every clock sleeps by the same rules. */
export function sleepBy(start: Clock["after"]): Clock["sleep"] {
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const abort = () => {
        timer.cancel();
        reject(signal?.reason);
      };
      const timer = start(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    });
}

export const systemClock: Clock = Object.freeze({
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  after,
  sleep: sleepBy(after),
});

/** Bytes of one draw: a draw for each secret would cost a call to the system's generator each. */
const RANDOM_AHEAD = 4_096;
let ahead = new Uint8Array(0);

/** Each byte is returned once. */
function randomBytes(count: number): Uint8Array {
  if (count > RANDOM_AHEAD) return crypto.getRandomValues(new Uint8Array(count));
  if (ahead.length < count) ahead = crypto.getRandomValues(new Uint8Array(RANDOM_AHEAD));
  const taken = ahead.slice(0, count);
  ahead = ahead.subarray(count);
  return taken;
}

export const systemRandom: Random = Object.freeze({
  bytes: randomBytes,
  fraction: () => Math.random(),
});
