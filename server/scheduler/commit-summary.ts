// What a batch has changed, published after its commit: lanes with ready tasks, runs that have
// changed, the next due time.
import type { EpochMs } from "../core/model/attempt.ts";
import { requestsApproval } from "../core/model/effect.ts";
import { isEnded, movingSide } from "../core/model/model.ts";
import type { SilentSession } from "../store/operators.ts";
import type { PassRecord } from "../store/pass-record.ts";
import { type EndedTask, runsToWake } from "../store/rows-of-effects.ts";
import type { NewRun, RunId, RunRef } from "../store/store.ts";
import type { Ended, Written } from "../store/written.ts";

/** What the rest of the server needs to know of a commit. */
export interface CommitSummary {
  /** Lanes with unclaimed ready tasks, or with newly freed capacity. */
  readonly lanes: ReadonlySet<number>;
  readonly runs: readonly { readonly runId: RunId; readonly version: number }[];
  /** There may be a webhook to send. */
  readonly outside: boolean;
  /** Runs that were sent a message: a pass of each has to apply it. */
  readonly messaged: readonly RunRef[];
  /** Tasks that have ended: circuit breakers count them. */
  readonly ended: readonly EndedTask[];
  /** Sessions that lost a lease without a report: they may have fallen silent. */
  readonly silent: readonly SilentSession[];
  /** The earliest due time that was set. */
  readonly wakeAt: EpochMs | null;
  /** What the batch has written, for the metrics. */
  readonly worked: Worked;
  /** The batch's time. */
  readonly now: EpochMs;
  readonly batch: BatchTiming;
}

/** The transaction by name, and how long it took until its commit was known. */
interface BatchTiming {
  readonly name: string;
  readonly ms: number;
}

/** What a batch has written. */
export interface Worked extends Written {
  readonly records: readonly PassRecord[];
  /** Runs that have started. */
  readonly started: readonly NewRun[];
}

/**
 * `filled`: lanes in which ready rows are left; `drained`: lanes that need no scan after the claim
 * of the batch, see `Claim.drained`.
 */
export function commitSummary(
  worked: Worked,
  filled: readonly number[],
  ended: Ended,
  drained: ReadonlySet<number>,
  now: EpochMs,
  batch: BatchTiming,
): CommitSummary {
  const { records } = worked;
  const lanes = new Set([...filled, ...ended.freed]);
  for (const lane of drained) lanes.delete(lane);
  const dueTimes = records.flatMap(({ effects, after: { run } }) => [
    ...effects.flatMap((effect) =>
      effect.kind === "backed-off" ||
      effect.kind === "began-waiting" ||
      effect.kind === "items-due" ||
      effect.kind === "wake-moved"
        ? [effect.wakeAt]
        : [],
    ),
    ...(run.state.kind === "PENDING" ? [run.state.until] : []),
  ]);
  return {
    lanes,
    runs: records.map(({ head, after }) => ({ runId: head.runId, version: after.run.version })),
    outside: records.some(isForHooks),
    ended: ended.tasks,
    silent: records.flatMap(silentOf),
    messaged: [
      ...new Map(
        records.flatMap(runsToWake).map((run): [RunId, RunRef] => [run.runId, run]),
      ).values(),
    ],
    wakeAt: dueTimes.length === 0 ? null : Math.min(...dueTimes),
    worked,
    now,
    batch,
  };
}

/**
 * The sessions of attempts that ended without a report. Whether such a session still sends
 * heartbeats is checked by the store.
 */
function silentOf({ before, effects }: PassRecord): readonly SilentSession[] {
  return effects.flatMap((effect): readonly SilentSession[] => {
    if (effect.kind !== "task-ended") return [];
    const { step, session, digest, outcome, endedAt: at } = effect.attempt;
    if (session === null || digest !== null || outcome.kind !== "unknown") return [];
    const of = before.steps.get(step);
    const lease = of && movingSide(of)?.state;
    const isLease = lease?.kind === "LEASED";
    return isLease ? [{ kind: "lost", session, at, heartbeatMs: lease.heartbeatMs }] : [];
  });
}

/** The store writes an outbox row for such a pass, if a hook wants it. */
function isForHooks({ after, effects }: PassRecord): boolean {
  return (
    isEnded(after.run.state) ||
    effects.some(
      (effect) =>
        effect.kind === "escalated" ||
        effect.kind === "escalation-reminded" ||
        effect.kind === "escalation-answered" ||
        effect.kind === "escalation-closed" ||
        requestsApproval(effect),
    )
  );
}
