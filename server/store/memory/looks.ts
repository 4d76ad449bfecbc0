// What processes ask without locks: facts of granted tasks, leases that never arrived, what is
// ready, and what is due.
import type { Moment } from "../../core/model.ts";
import type {
  DueLook,
  DueRow,
  Granted,
  Pulse,
  RunRef,
  TaskFacts,
  UndeliveredLease,
} from "../store.ts";
import { attemptKey, stepKey, type Tables } from "./tables.ts";

/** A lane counts as polled for so long after a poll. */
const POLLED_MS = 60_000;

export function taskFacts(tables: Tables, granted: Granted): TaskFacts {
  const { runId, step, task, fence } = granted.ready;
  const { definitionId, version, labels, input } = tables.run.expect(runId);
  const earlier = tables.attempt
    .where("step", stepKey(runId, step))
    .filter((row) => row.attempt.kind === task && row.attempt.fence < fence && row.details)
    .sort((a, b) => b.attempt.fence - a.attempt.fence);
  return {
    ...{ runId, step, definitionId, version, labels, input },
    lastDetails: earlier[0]?.details ?? null,
    output: task === "compensate" ? outputOf(tables, granted) : null,
  };
}

function outputOf(tables: Tables, { ready: { runId, step } }: Granted) {
  const fence = tables.step.get(stepKey(runId, step))?.resultFence;
  if (fence == null) return null;
  const row = tables.attempt.get(attemptKey(runId, { step, fence, kind: "perform" }));
  return row?.attempt.outcome.kind === "success" ? row.attempt.outcome.output : null;
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
): Pulse {
  return {
    lanes: lanes.filter((lane) =>
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
): DueLook {
  const rows = partitions
    .flatMap((partition) => momentsOf(tables, now, partition))
    .sort((a, b) => a.wakeAt - b.wakeAt);
  return {
    now,
    due: rows.filter((row) => row.wakeAt <= now).slice(0, limit),
    nextAt: rows.find((row) => row.wakeAt > now)?.wakeAt ?? null,
  };
}

function momentsOf(tables: Tables, now: Moment, partition: number): readonly DueRow[] {
  const unpolled = { polled: false };
  const leases = tables.lease.where("partition", partition).map((row): DueRow => {
    const { fence, wakeAt } = row.lease;
    return { ...unpolled, ...ofStep(row), kind: "lease", fence, wakeAt };
  });
  const ready = tables.ready.where("partition", partition).map((row): DueRow => {
    const { fence, wakeAt } = row.ready;
    const polled = isPolled(tables, now, row.lane);
    return { ...ofStep(row), kind: "ready", fence, wakeAt, polled };
  });
  const due = tables.due.where("partition", partition).map((row): DueRow => {
    return { ...unpolled, ...ofStep(row), kind: "backoff", fence: 0, wakeAt: row.due.wakeAt };
  });
  const runs = tables.runOpen
    .where("partition", partition)
    .flatMap(({ runId, wakeAt }): DueRow[] =>
      wakeAt === null
        ? []
        : [{ ...unpolled, runId, partition, kind: "run", step: -1, fence: 0, wakeAt }],
    );
  return [...leases, ...ready, ...due, ...runs];
}

function ofStep({ runId, partition, step }: RunRef & { readonly step: number }) {
  return { runId, partition, step };
}

function isPolled(tables: Tables, now: Moment, lane: number): boolean {
  return tables.lanePoller.where("lane", lane).some((row) => row.seenAt > now - POLLED_MS);
}
