// Long waits of calls: bounded by the wait that the caller asks for, by its deadline, and by the
// drain.
import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import type { Clock } from "../../clock.ts";
import type { Drain } from "./drain.ts";

const WAIT_MS_DEFAULT = 30_000;
/** An answer is sent this long before the caller's deadline. */
const BEFORE_DEADLINE_MS = 1_000;

export function waitMs(wait: Duration | undefined, deadlineMs: number | null): number {
  const wanted = wait === undefined ? WAIT_MS_DEFAULT : durationMs(wait);
  const left = deadlineMs === null ? wanted : deadlineMs - BEFORE_DEADLINE_MS;
  return Math.max(0, Math.min(wanted, left));
}

interface WaitEnd {
  /** Ends the wait after this time, too. */
  readonly afterMs?: number;
}

/** The work of a call that does nothing but wait. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * Runs `work` with a signal that is aborted when the caller disconnects, the server drains, or the
 * time is over. Leaves no listener or timer behind.
 */
export async function whileWaiting<T>(
  deps: { readonly drain: Drain; readonly clock: Clock },
  caller: AbortSignal,
  { afterMs }: WaitEnd,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const end = () => controller.abort();
  const forgetDrain = deps.drain.onBegin(end);
  const timer = afterMs === undefined ? null : deps.clock.after(afterMs, end);
  caller.addEventListener("abort", end);
  if (caller.aborted) end();
  try {
    return await work(controller.signal);
  } finally {
    forgetDrain();
    timer?.cancel();
    caller.removeEventListener("abort", end);
  }
}
