// Times and durations in a form that people use; hovering shows the exact time, which can be
// copied.
import { type Duration, durationMs, type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { useSyncExternalStore } from "react";
import { durationWords, exactTime } from "../words/time-words.ts";

const TICK_MS = 1_000;
const HOUR_MS = 3_600_000;
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function listen(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === null) {
    // The timer was stopped, so the value is that of the last tick.
    nowMs = Date.now();
    timer = setInterval(() => {
      nowMs = Date.now();
      for (const one of listeners) one();
    }, TICK_MS);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

/** The current time, to the second; all components that show it tick together. */
export function useNowMs(): number {
  return useSyncExternalStore(listen, () => nowMs);
}

/** `3 min ago`, `in 20 s`; a dash if there is none. */
export function Ago({ at }: { readonly at: Timestamp | undefined }) {
  if (at === undefined) return <span className="dim">–</span>;
  return <AgoMs atMs={timestampMs(at)} />;
}

export function AgoMs({ atMs }: { readonly atMs: number }) {
  const words = useSyncExternalStore(listen, () => agoWords(atMs, nowMs));
  return (
    <time dateTime={new Date(atMs).toISOString()} title={exactTime(atMs)}>
      {words}
    </time>
  );
}

function agoWords(atMs: number, now: number): string {
  const away = atMs - now;
  if (Math.abs(away) < TICK_MS) return "now";
  // Several future times may be listed, and must be distinguishable.
  const words = durationWords(Math.abs(away), away >= HOUR_MS ? "fine" : "coarse");
  return away > 0 ? `in ${words}` : `${words} ago`;
}

/** How long it took; if it has not ended, how long so far, counting on. */
export function Lasted(props: {
  readonly from: Timestamp | undefined;
  readonly to?: Timestamp | undefined;
}) {
  const { from, to } = props;
  if (from === undefined) return <span className="dim">–</span>;
  const fromMs = timestampMs(from);
  if (to === undefined) return <Counting fromMs={fromMs} />;
  return <span>{durationWords(timestampMs(to) - fromMs)}</span>;
}

function Counting({ fromMs }: { readonly fromMs: number }) {
  const now = useNowMs();
  return <span>{durationWords(Math.max(0, now - fromMs), "coarse")}</span>;
}

/** A duration; a dash if there is none. */
export function Length({ of }: { readonly of: Duration | undefined }) {
  if (of === undefined) return <span className="dim">–</span>;
  return <span>{durationWords(durationMs(of))}</span>;
}
