// What processes ask without locks: leases that never arrived, what is ready, and what is due.
import type { Moment } from "../../core/attempt.ts";
import { POLLED_MS } from "../../core/plan.ts";
import type { LanePause } from "../queues.ts";
import type { RunSigns } from "../reads.ts";
import type { RunId } from "../run-head.ts";
import type { DueLook, DueRow, Pulse, RunRef, UndeliveredLease } from "../store.ts";
import { workflowKey } from "./queue-tables.ts";
import { stepKey, type Tables } from "./tables.ts";

/** What keeps a lane, if it is paused. */
export type PauseOf = (lane: number) => LanePause | null;

/** What is known of a lane, by its number. */
export interface LaneFacts {
  readonly pauseOf: PauseOf;
  readonly queueOf: (lane: number) => string;
}

export function undelivered(
  tables: Tables,
  session: string,
  polls: readonly number[],
): readonly UndeliveredLease[] {
  return tables.lease.where("session", session).flatMap(({ runId, partition, step, lease }) => {
    const { fence, secret, pollSeq } = lease;
    return polls.includes(pollSeq) ? [{ runId, partition, step, fence, secret }] : [];
  });
}

export function pulse(
  tables: Tables,
  now: Moment,
  lanes: readonly number[],
  runs: readonly RunRef[],
  pauseOf: PauseOf,
): Pulse {
  return {
    lanes: lanes.filter(
      (lane) =>
        !pauseOf(lane) &&
        tables.ready
          .where("lane", lane)
          .some(({ ready }) => ready.until === null || ready.until > now),
    ),
    runs: runs.flatMap(({ runId, partition }) => {
      const open = tables.runOpen.get(runId);
      return open?.partition === partition ? [{ runId, version: open.run.version }] : [];
    }),
  };
}

export function dueRows(
  tables: Tables,
  now: Moment,
  partitions: readonly number[],
  limit: number,
  pauseOf: PauseOf,
): DueLook {
  const rows = partitions
    .flatMap((partition) => momentsOf(tables, now, partition, pauseOf))
    .sort((a, b) => a.wakeAt - b.wakeAt);
  return {
    now,
    due: rows.filter((row) => row.wakeAt <= now).slice(0, limit),
    nextAt: rows.find((row) => row.wakeAt > now)?.wakeAt ?? null,
  };
}

/** Every moment of a partition, whether it has come or not. */
export function momentsOf(
  tables: Tables,
  now: Moment,
  partition: number,
  pauseOf: PauseOf,
): readonly DueRow[] {
  const unpolled = { polled: false };
  const leases = tables.lease.where("partition", partition).map((row): DueRow => {
    const { fence, wakeAt } = row.lease;
    return { ...unpolled, ...ofStep(row), kind: "lease", fence, wakeAt };
  });
  const ready = tables.ready.where("partition", partition).map((row): DueRow => {
    const { fence, wakeAt } = row.ready;
    const isHeld = row.lane < 0 || pauseOf(row.lane) !== null;
    const polled = isHeld || isPolled(tables, now, row.lane);
    return { ...ofStep(row), kind: "ready", fence, wakeAt, polled };
  });
  const due = tables.due.where("partition", partition).map((row): DueRow => {
    const { due: of } = row;
    const kind = of.kind === "WAITING" ? of.on : "backoff";
    return { ...unpolled, ...ofStep(row), kind, fence: 0, wakeAt: of.wakeAt };
  });
  const runs = tables.runOpen
    .where("partition", partition)
    .flatMap(({ runId, wakeAt }): DueRow[] =>
      wakeAt === null
        ? []
        : [{ ...unpolled, runId, partition, kind: "run", step: -1, fence: 0, wakeAt }],
    );
  const messages = tables.message.where("partition", partition).map(({ runId, wakeAt }): DueRow => {
    return { ...unpolled, runId, partition, kind: "message", step: -1, fence: 0, wakeAt };
  });
  const asked = tables.escalation
    .where("partition", partition)
    .flatMap(({ runId, step, n, wakeAt }): DueRow[] =>
      wakeAt === null
        ? []
        : [{ ...unpolled, runId, partition, kind: "escalation", step, fence: n, wakeAt }],
    );
  return [...leases, ...ready, ...due, ...asked, ...runs, ...messages];
}

function ofStep({ runId, partition, step }: RunRef & { readonly step: number }) {
  return { runId, partition, step };
}

function isPolled(tables: Tables, now: Moment, lane: number): boolean {
  return tables.lanePoller.where("lane", lane).some((row) => row.seenAt > now - POLLED_MS);
}

export function runSigns(
  tables: Tables,
  now: Moment,
  runId: RunId,
  { pauseOf, queueOf }: LaneFacts,
): RunSigns {
  const steps = tables.step.where("run", runId).map(({ no }) => no);
  const leases = steps.flatMap((no) => {
    const row = tables.lease.get(stepKey(runId, no));
    if (!row) return [];
    const lastBeatAt = tables.agentSession.get(row.lease.session)?.lastBeatAt ?? null;
    return [[no, { lastBeatAt, progress: row.progress }] as const];
  });
  const polls = steps.flatMap((no) => {
    const row = tables.ready.get(stepKey(runId, no));
    if (!row) return [];
    const seen = tables.lanePoller.where("lane", Math.abs(row.lane)).map(({ seenAt }) => seenAt);
    return [[no, seen.length === 0 ? null : Math.max(...seen)] as const];
  });
  const pauses = polls.flatMap(([no]) => {
    const { lane } = tables.ready.expect(stepKey(runId, no));
    const pause = (lane < 0 ? workflowPauseOf(tables, runId) : null) ?? pauseOf(Math.abs(lane));
    return pause ? [[no, pause] as const] : [];
  });
  const queues = steps.flatMap((no) => {
    const key = stepKey(runId, no);
    const row = tables.lease.get(key) ?? tables.ready.get(key);
    return row ? [[no, queueOf(Math.abs(row.lane))] as const] : [];
  });
  return {
    ...{ now, leases: new Map(leases), polls: new Map(polls) },
    ...{ pauses: new Map(pauses), queues: new Map(queues) },
  };
}

function workflowPauseOf(tables: Tables, runId: RunId): LanePause | null {
  const paused = tables.pausedWorkflow.get(workflowKey(tables.run.expect(runId)));
  return paused ? { of: "workflow", ...paused.pause } : null;
}
