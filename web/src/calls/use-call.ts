// One call as a value: loading, loaded or failed. The call is repeated automatically while the
// server is unreachable, a few times while the server is busy, at an interval if the page asks for
// that, and when `again` is called. The loaded value stays on the screen meanwhile.
import { useCallback, useEffect, useRef, useState } from "react";
import { onToken, tellRefused } from "../shell/session.ts";
import { beforeTry, tellConnection } from "./connection.ts";
import { type Problem, problemOf } from "./problem.ts";

export type Loaded<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "loaded"; readonly value: T }
  | { readonly kind: "failed"; readonly problem: Problem };

export interface CallOptions {
  /** Repeats the call at this interval, while the tab is visible. */
  readonly everyMs?: number;
}

/** `key` identifies the request: a new key starts a new call. null: no call yet. */
export function useCall<T>(
  key: string | null,
  call: (signal: AbortSignal) => Promise<T>,
  { everyMs }: CallOptions = {},
): Loaded<T> & { readonly again: () => void } {
  const [shown, setShown] = useState<{ key: string | null; state: Loaded<T> }>({
    key,
    state: { kind: "loading" },
  });
  const [round, setRound] = useState(0);
  const asking = useRef(false);
  const caller = useRef(call);
  caller.current = call;
  const again = useCallback(() => setRound((last) => last + 1), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round asks the same again.
  useEffect(() => {
    if (key === null) return;
    const ending = new AbortController();
    const show = (state: Loaded<T>) => {
      asking.current = false;
      setShown({ key, state });
    };
    asking.current = true;
    void ask((signal) => caller.current(signal), show, ending.signal);
    return () => ending.abort();
  }, [key, round]);
  useEffect(() => onToken(again), [again]);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      // A call that takes longer than the interval is not aborted for the next one.
      if (document.visibilityState === "visible" && !asking.current) again();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, again]);
  const state: Loaded<T> = shown.key === key ? shown.state : { kind: "loading" };
  return { ...state, again };
}

/** If the server is busy each time, the problem is shown after this many tries. */
const BUSY_TRIES_MAX = 3;

async function ask<T>(
  call: (signal: AbortSignal) => Promise<T>,
  show: (state: Loaded<T>) => void,
  signal: AbortSignal,
): Promise<void> {
  const caller = {};
  signal.addEventListener("abort", () => tellConnection(caller, true));
  for (let tries = 0; !signal.aborted; tries++) {
    try {
      const value = await call(signal);
      if (signal.aborted) return;
      tellConnection(caller, true);
      show({ kind: "loaded", value });
      return;
    } catch (error) {
      if (signal.aborted) return;
      const problem = problemOf(error);
      const unreachable = problem.kind === "unreachable";
      // The line in the shell shows it; the content of the screen stays.
      tellConnection(caller, !unreachable);
      if (unreachable || (problem.kind === "busy" && tries + 1 < BUSY_TRIES_MAX)) {
        await beforeTry(tries, signal);
        continue;
      }
      show({ kind: "failed", problem });
      if (problem.reason === "TOKEN_REQUIRED") tellRefused();
      return;
    }
  }
}
