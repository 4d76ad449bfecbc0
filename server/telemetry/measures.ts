// Metrics of what the control plane does. They are recorded after the commit, so nothing is
// measured that did not happen. The rules know nothing of them.
import type { OnFlushed } from "../batching/batcher.ts";
import type { Clock } from "../clock.ts";
import type { Effect } from "../core/model/effect.ts";
import { isEnded } from "../core/model/model.ts";
import { plannedOf } from "../core/model/strategy.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Worked } from "../scheduler/commit-summary.ts";
import { OVERDUE_OF, unownedCount } from "../store/overdue.ts";
import type { PassRecord } from "../store/pass-record.ts";
import type { Granted } from "../store/store.ts";
import type { SupervisorHealth } from "../supervisor/health.ts";
import type { Ownership } from "../supervisor/ownership.ts";
import type { Metrics } from "./metrics.ts";

const SESSION_SEEN_MS = 60_000;

/** Parts that work without a caller, as labels of their failures. */
const BACKGROUND_PARTS = [
  ...([
    "timers",
    "consistency",
    "housekeeping",
    "poll-tick",
    "circuits",
    "dispatch",
    "health",
  ] as const),
  ...(["webhooks", "triggers", "inbox", "rate-limit", "queue-shares", "durations"] as const),
];
export type BackgroundPart = (typeof BACKGROUND_PARTS)[number];

export interface Measures {
  readonly onFlushed: OnFlushed;
  worked(worked: Worked): void;
  granted(leases: readonly Granted[]): void;
  /** Work that no caller waits for has failed; it is tried again by itself. */
  failed(part: BackgroundPart): void;
  /** The consistency check has rewritten derived rows. */
  derivedRowsRepaired(rows: number): void;
  /** A transaction was decided on outdated knowledge, and is decided once more. */
  outdated(): void;
  /** The same dispatcher, which also records the sessions that call it. */
  dispatcher(of: Dispatcher): Dispatcher;
  /** Sessions that have called in the last minute. */
  sessions(): number;
}

export function createMeasures(metrics: Metrics, clock: Clock): Measures {
  const seenAtMs = new Map<string, number>();
  const seen = (session: string): void => void seenAtMs.set(session, clock.monotonicMs());
  // The counters begin at 0, so that a rate includes the first failure.
  for (const part of BACKGROUND_PARTS)
    metrics.count("drover_background_failures_total", 0, { part });
  metrics.count("drover_derived_rows_repaired_total", 0, {});
  metrics.count("drover_outdated_transactions_total", 0, {});

  return Object.freeze({
    onFlushed(batch, items, ms) {
      metrics.record("drover_batch_items", items, { batch });
      metrics.record("drover_batch_seconds", ms / 1_000, { batch });
    },
    worked({ records, started }) {
      if (started.length > 0) metrics.count("drover_runs_started_total", started.length, {});
      const ended = [
        ...started.map(({ run: { state } }) => state),
        ...records.flatMap(({ before, after }) =>
          isEnded(before.run.state) ? [] : [after.run.state],
        ),
      ].filter(isEnded);
      for (const [state, of] of Map.groupBy(ended, ({ kind }) => kind))
        metrics.count("drover_runs_ended_total", of.length, { state });
      countAttempts(metrics, records);
      for (const record of records)
        for (const effect of record.effects) measure(metrics, record, effect);
    },
    granted(leases) {
      for (const [task, of] of Map.groupBy(leases, ({ ready }) => ready.task))
        metrics.count("drover_tasks_granted_total", of.length, { task });
      for (const { ready, grantedAt } of leases)
        metrics.record("drover_task_wait_seconds", seconds(grantedAt - ready.readyAt), {});
    },
    failed: (part) => metrics.count("drover_background_failures_total", 1, { part }),
    derivedRowsRepaired: (rows) => metrics.count("drover_derived_rows_repaired_total", rows, {}),
    outdated: () => metrics.count("drover_outdated_transactions_total", 1, {}),
    dispatcher(of) {
      return Object.freeze({
        poll(request, ends) {
          seen(request.agent.session);
          return of.poll(request, ends);
        },
        heartbeat(request) {
          seen(request.agent.session);
          return of.heartbeat(request);
        },
        complete(request, signal) {
          seen(request.agent.session);
          return of.complete(request, signal);
        },
      } satisfies Dispatcher);
    },
    sessions() {
      const since = clock.monotonicMs() - SESSION_SEEN_MS;
      for (const [session, at] of seenAtMs) if (at < since) seenAtMs.delete(session);
      return seenAtMs.size;
    },
  } satisfies Measures);
}

/** One increment for all attempts of a batch that ended alike. */
function countAttempts(metrics: Metrics, records: readonly PassRecord[]): void {
  const ended = records.flatMap(({ effects }) =>
    effects.flatMap((effect) => (effect.kind === "task-ended" ? [effect.attempt] : [])),
  );
  for (const [task, of] of Map.groupBy(ended, ({ kind }) => kind))
    for (const [outcome, alike] of Map.groupBy(of, (attempt) => attempt.outcome.kind))
      metrics.count("drover_attempts_total", alike.length, { task, outcome });
}

function measure(metrics: Metrics, record: PassRecord, effect: Effect): void {
  switch (effect.kind) {
    case "intervened": {
      const { rule, dueAt, actedAt } = effect.intervention;
      metrics.count("drover_interventions_total", 1, { rule });
      metrics.record("drover_detection_seconds", seconds(actedAt - dueAt), { rule });
      return;
    }
    case "failed":
      metrics.count("drover_steps_failed_total", 1, {});
      return;
    case "succeeded": {
      const recoveredInMs = recovery(record, effect.step);
      if (recoveredInMs !== null)
        metrics.record("drover_recovery_seconds", seconds(recoveredInMs), {});
      return;
    }
    default:
      return;
  }
}

/**
 * How long it took since the outcome of an attempt was found unknown; null: none was. That time is
 * not stored: it is computed from the end of the settling time, which it has determined.
 */
function recovery({ after, effects, laneOf }: PassRecord, no: number): number | null {
  const step = after.steps.get(no);
  if (!step || step.settleUntil === null) return null;
  const ended = effects.findLast(
    (effect) => effect.kind === "task-ended" && effect.attempt.step === no,
  );
  if (ended?.kind !== "task-ended") return null;
  const { task } = laneOf(no, "perform", plannedOf(step));
  return ended.attempt.endedAt - (step.settleUntil - task.timeouts.settleMs);
}

/** Never negative, although the database's clock may be set back. */
export function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000;
}

/** What is read of a control plane at each scrape. */
interface ObservedPlane {
  /** Polls that wait in this process. */
  parked(): number;
  readonly ownership: Pick<Ownership, "owned">;
  consistencyAgeMs(): number;
  failedTimers(): number;
}

/** Metrics that are read at each scrape. */
export function observePlane(
  metrics: Metrics,
  {
    plane,
    measures,
    supervisorHealth,
  }: {
    readonly plane: ObservedPlane;
    readonly measures: Measures;
    readonly supervisorHealth: Pick<SupervisorHealth, "health" | "seen">;
  },
): void {
  const one = (value: number) => [{ value, labels: {} }];
  metrics.observe("drover_polls_parked", () => one(plane.parked()));
  metrics.observe("drover_agent_sessions", () => one(measures.sessions()));
  metrics.observe("drover_partitions_owned", () => one(plane.ownership.owned().length));
  metrics.observe("drover_failed_timers", () => one(plane.failedTimers()));
  metrics.observe("drover_consistency_round_age_seconds", () =>
    one(seconds(plane.consistencyAgeMs())),
  );
  metrics.observe("drover_degraded", () =>
    one(Number(supervisorHealth.health().status === "degraded")),
  );
  metrics.observe("drover_partitions_unowned", () => {
    const seen = supervisorHealth.seen();
    return seen ? one(unownedCount(seen)) : [];
  });
  metrics.observe("drover_overdue_seconds", () => {
    const seen = supervisorHealth.seen();
    return seen ? one(seen.oldestAt === null ? 0 : seconds(seen.now - seen.oldestAt)) : [];
  });
  metrics.observe("drover_overdue_rows", () => {
    const seen = supervisorHealth.seen();
    return seen ? OVERDUE_OF.map((of) => ({ value: seen.rows[of], labels: { of } })) : [];
  });
}
