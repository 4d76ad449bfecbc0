// Whether the server can be reached, as seen by all calls of this tab: one line in the shell shows
// it, and waiting calls are retried together.
import { useSyncExternalStore } from "react";

let broken: ReadonlySet<object> = new Set();
const listeners = new Set<() => void>();

/** Each call reports that it waits for the server, or that it no longer does. */
export function tellConnection(caller: object, reachable: boolean): void {
  if (broken.has(caller) !== reachable) return;
  const next = new Set(broken);
  if (reachable) next.delete(caller);
  else next.add(caller);
  broken = next;
  for (const listener of listeners) listener();
}

export function useConnectionLost(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => broken.size > 0,
  );
}

/** Why nothing can be changed now. */
export const CONNECTION_LOST =
  "The connection to the server is lost. The action is possible once it is back.";

const FIRST_MS = 400;
const MOST_MS = 8_000;

/**
 * Resolves when it is time for the next try: the pause grows with each try, and ends at once when
 * the network is back.
 */
export function beforeTry(tries: number, signal: AbortSignal): Promise<void> {
  const most = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(tries, 6));
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer);
      removeEventListener("online", go);
      signal.removeEventListener("abort", go);
      resolve();
    };
    const timer = setTimeout(go, most * (0.7 + 0.3 * Math.random()));
    addEventListener("online", go);
    signal.addEventListener("abort", go);
  });
}
