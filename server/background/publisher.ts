// What a commit means to the other parts of this process: runs that callers wait for, lanes with
// tasks, timers, webhooks and triggers. It runs after the commit and changes no answer.
import type { AttemptCounter } from "../dispatch/attempt-counts.ts";
import type { OutcomeCounts } from "../dispatch/outcome-counts.ts";
import type { Advance } from "../scheduler/advance.ts";
import type { CommitSummary } from "../scheduler/commit-summary.ts";
import type { RunWatchers } from "../scheduler/run-watchers.ts";
import type { EngineStore } from "../store/store.ts";
import type { Ownership } from "../supervisor/ownership.ts";
import type { TimerScan } from "../supervisor/timers.ts";
import type { Measures } from "../telemetry/measures.ts";
import type { Tracing } from "../telemetry/traces/tracing.ts";

interface PublisherOptions {
  /** Left out: no metrics. */
  readonly measures?: Pick<Measures, "worked">;
}

interface PublisherParts {
  readonly markSilent: EngineStore["markSilent"];
  readonly traces: Tracing | undefined;
  readonly runWatchers: RunWatchers;
  readonly wake: (lanes: Iterable<number>) => void;
  readonly outcomeCounts: OutcomeCounts;
  readonly attemptCounter: Pick<AttemptCounter, "count">;
  readonly timers: TimerScan;
  readonly ownership: Ownership;
  readonly advance: Advance;
  /** What sends webhooks, and what starts runs at the ends of others; null: it is not here. */
  readonly outside: readonly ({ announce(): void } | null)[];
}

/** Passes the summary of each commit to the parts of this process. */
export function publisherOf(
  { measures }: PublisherOptions,
  onError: (error: unknown) => void,
  parts: PublisherParts,
) {
  const { traces, runWatchers, wake, outcomeCounts, attemptCounter } = parts;
  const { timers, ownership, advance, outside } = parts;
  return (summary: CommitSummary): void => {
    measures?.worked(summary.worked);
    traces?.committed(summary);
    for (const run of summary.runs) runWatchers.changed(run);
    wake(summary.lanes);
    outcomeCounts.count(summary.ended);
    attemptCounter.count(summary.ended);
    if (summary.silent.length > 0) parts.markSilent(summary.silent).catch(onError);
    if (summary.wakeAt !== null) timers.announce(summary.wakeAt);
    ownership.announceDueTime(summary);
    if (summary.outside) for (const one of outside) one?.announce();
    // If it fails, the owner of the run's partition finds the message in one of its next scans.
    for (const run of summary.messaged) advance.submit(run, { kind: "messages" }).catch(onError);
  };
}
