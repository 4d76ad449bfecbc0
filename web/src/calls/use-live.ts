// The newest value of a server stream.
//
//   connecting → live → (cut) broken → live → … → ended
//            └─────────→ failed: a retry would change nothing
//
// Promise: a cut stream is opened again automatically, with growing pauses, and gets the last
// value, so that it resumes at its cursor. A hidden tab holds no stream: a browser allows six
// connections to one host, for all tabs together.
import { useEffect, useRef, useState } from "react";
import { onToken, tellRefused } from "../shell/session.ts";
import { beforeTry, tellConnection } from "./connection.ts";
import { type Problem, problemOf } from "./problem.ts";

export type Live<T> =
  | { readonly kind: "connecting" }
  | { readonly kind: "live"; readonly value: T }
  | { readonly kind: "broken"; readonly value: T | null; readonly problem: Problem }
  | { readonly kind: "ended"; readonly value: T | null }
  | { readonly kind: "failed"; readonly value: T | null; readonly problem: Problem };

/** Opens the stream; `last` is the last value, for the cursor. null: there is none yet. */
export type OpenStream<T> = (last: T | null, signal: AbortSignal) => AsyncIterable<T>;

/**
 * A stream that resumes at its cursor may send nothing for long, not even its headers. After this
 * time without an error it counts as open.
 */
const STANDS_MS = 1_500;

/** `key` identifies the stream: a new key starts a new stream. */
export function useLive<T>(key: string, open: OpenStream<T>): Live<T> {
  const [live, setLive] = useState<{ key: string; state: Live<T> }>({
    key,
    state: { kind: "connecting" },
  });
  const opener = useRef(open);
  opener.current = open;
  useEffect(() => {
    const show = (state: Live<T>) => setLive({ key, state });
    show({ kind: "connecting" });
    return follow((last, signal) => opener.current(last, signal), show);
  }, [key]);
  // A value of the old key must not be shown under a new key, not even once.
  return live.key === key ? live.state : { kind: "connecting" };
}

/** The newest value in any state; null: there is none yet. */
export function newestOf<T>(live: Live<T>): T | null {
  return live.kind === "connecting" ? null : live.value;
}

/** Follows the stream until the returned function is called. */
function follow<T>(open: OpenStream<T>, show: (state: Live<T>) => void): () => void {
  const caller = {};
  let last: T | null = null;
  let over = false;
  let current = new AbortController();

  async function followOnce(signal: AbortSignal): Promise<void> {
    for (let tries = 0; !signal.aborted; tries++) {
      const countsAsOpen = setTimeout(() => {
        if (signal.aborted || last === null) return;
        tellConnection(caller, true);
        show({ kind: "live", value: last });
      }, STANDS_MS);
      try {
        for await (const value of open(last, signal)) {
          if (signal.aborted) return;
          clearTimeout(countsAsOpen);
          last = value;
          tries = 0;
          tellConnection(caller, true);
          show({ kind: "live", value });
        }
        if (signal.aborted) return;
        over = true;
        tellConnection(caller, true);
        show({ kind: "ended", value: last });
        return;
      } catch (error) {
        clearTimeout(countsAsOpen);
        if (signal.aborted) return;
        const problem = problemOf(error);
        const unreachable = problem.kind === "unreachable";
        const again = unreachable || problem.kind === "busy";
        tellConnection(caller, !unreachable);
        show({ kind: again ? "broken" : "failed", value: last, problem });
        if (problem.reason === "TOKEN_REQUIRED") tellRefused();
        if (!again) return;
        await beforeTry(tries, signal);
      }
    }
  }

  const start = () => {
    current.abort();
    current = new AbortController();
    if (!over && document.visibilityState === "visible") void followOnce(current.signal);
  };
  start();
  document.addEventListener("visibilitychange", start);
  const forgetToken = onToken(start);
  return () => {
    document.removeEventListener("visibilitychange", start);
    forgetToken();
    current.abort();
    tellConnection(caller, true);
  };
}
