// What processes read without locks: leases that never arrived, what is ready, what is due, and the
// liveness of a run.

import type { LaneCircuit, LanePause } from "../../core/explain/explanation.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import { isEnded } from "../../core/model/model.ts";
import { timersOf } from "../../core/page/derived-rows.ts";
import { type DueRange, type DueRef, dueRefOf, dueScan, type Outside } from "../due.ts";
import type { LostPolls, SessionLease } from "../heartbeats.ts";
import {
  type PollQuery,
  type PollQueryResult,
  SILENT_MAX,
  SILENT_REPORTED_MS,
} from "../poll-query.ts";
import type { RunLiveness } from "../reads.ts";
import type { RunId } from "../run-head.ts";
import type { DueRow, DueScan } from "../store.ts";
import type { LaneRow } from "./catalogue-tables.ts";
import { cordonKey } from "./circuit-tables.ts";
import { circuitSign } from "./circuits.ts";
import type { AgentRow } from "./process-tables.ts";
import { workflowKey } from "./queue-tables.ts";
import { mayBeTaken, rowsInLane, seeWatermarks } from "./ready-rows.ts";
import { type RegionWorld, unwatchedOf } from "./regions.ts";
import { scheduleTimers } from "./schedules.ts";
import { pageOf, pageStepOf, stepKey, stepsOf, type Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

/** The pause of a lane; null: it is not paused. */
type PauseOf = (lane: number) => LanePause | null;

/** The circuit of a lane, if it lets nothing through. */
type CircuitOf = (lane: number) => LaneCircuit | null;

/** What is known of a lane, by its number. */
export interface LaneFacts {
  readonly pauseOf: PauseOf;
  readonly circuitOf: CircuitOf;
  readonly laneOf: (lane: number) => LaneRow;
  readonly polledMs: number;
  readonly regions: RegionWorld;
}

/** What decides whether the tasks of a lane are claimed, and by agents of which version. */
type LaneHold = Omit<LaneFacts, "laneOf" | "regions"> & {
  readonly laneOf: (lane: number) => Omit<LaneRow, "lane" | "base">;
};

export function undelivered(
  tables: Tables,
  lost: readonly LostPolls[],
  laneOf: LaneFacts["laneOf"],
): readonly SessionLease[] {
  return [...Map.groupBy(lost, ({ session }) => session)].flatMap(([session, of]) =>
    tables.lease.where("session", session).flatMap((lease) => {
      const { runId, partition, step, fence, secret, pollSeq, lane } = lease;
      const { namespaceId } = laneOf(lane);
      const isLost = of.some(
        (one) => one.namespaceId === namespaceId && one.polls.includes(pollSeq),
      );
      return isLost ? [{ runId, partition, step, fence, secret }] : [];
    }),
  );
}

export function pollQuery(
  tables: Tables,
  now: EpochMs,
  { lanes, runs, watermarks, circuitsMs = null }: PollQuery,
  world: { readonly pauseOf: PauseOf; readonly transactions: Transactions },
): PollQueryResult {
  return {
    lanes: lanes.filter(
      (lane) =>
        rowsInLane(tables, lane).some((row) => mayBeTaken(row, now, watermarks)) &&
        !world.pauseOf(lane),
    ),
    runs: runs.flatMap(({ runId, partition }) => {
      const head = pageOf(tables, runId, 0)?.head;
      const isThere =
        head && !isEnded(head.run.state) && tables.run.get(runId)?.partition === partition;
      return isThere ? [{ runId, version: head.run.version }] : [];
    }),
    watermarks:
      watermarks.length === 0 ? null : seeWatermarks(tables, watermarks, world.transactions),
    circuits: circuitsMs === null ? null : circuitSign(tables, now, circuitsMs),
    silent: tables.agent
      .all()
      .filter(
        ({ silentSince }) => (silentSince ?? Number.NEGATIVE_INFINITY) > now - SILENT_REPORTED_MS,
      )
      .slice(0, SILENT_MAX)
      .map(({ session }) => session),
  };
}

interface DueAsked extends DueRange {
  readonly partitions: readonly number[];
  readonly limit: number;
}

export function dueRows(
  tables: Tables,
  now: EpochMs,
  {
    partitions,
    limit,
    since,
    aheadMs,
    without = [],
    silenceCountsSince = NEVER_LISTENED,
  }: DueAsked,
  held: LaneHold,
): DueScan {
  const suspended = new Set(without.map(({ kind, id, place }) => `${kind}/${id}/${place}`));
  const isSuspended = ({ kind, id, place }: DueRef): boolean =>
    suspended.size > 0 && suspended.has(`${kind}/${id}/${place}`);
  const isSoon = ({ wakeAt }: { readonly wakeAt: EpochMs }): boolean =>
    wakeAt <= now + (aheadMs ?? Number.POSITIVE_INFINITY);
  const isInRange = (row: { readonly wakeAt: EpochMs }): boolean =>
    row.wakeAt >= (since ?? row.wakeAt) && isSoon(row);
  const dueTimes = partitions.flatMap((partition) => [
    ...timersOfRun(tables, partition, now).filter(isInRange),
    ...silentLeases(tables, partition, silenceCountsSince.get(partition) ?? null).filter(isSoon),
  ]);
  const due = dueTimes
    .filter((row) => row.wakeAt <= now && !isSuspended(dueRefOf(row)))
    .flatMap((row) => withTakers(tables, now, row, held))
    .sort((a, b) => a.wakeAt - b.wakeAt)
    .slice(0, limit);
  const schedules = partitions
    .flatMap((partition) => scheduleTimers(tables, partition).filter(isInRange))
    .sort((a, b) => a.wakeAt - b.wakeAt);
  const wakeUps = partitions.flatMap((partition) => wakeUpsOf(tables, partition).filter(isInRange));
  const toCome = [...dueTimes, ...wakeUps, ...schedules].flatMap(({ wakeAt }) =>
    wakeAt > now ? wakeAt : [],
  );
  const dueSchedules = schedules
    .filter(({ id, wakeAt }) => wakeAt <= now && !isSuspended({ kind: "schedule", id, place: -1 }))
    .slice(0, limit);
  return dueScan({
    now,
    due,
    schedules: dueSchedules,
    outside: outsideOf(tables, now, partitions),
    isMore: due.length + dueSchedules.length >= limit,
    foundTo: [due, dueSchedules].reduce(
      (least, all) => (all.length < limit ? least : Math.min(least, all.at(-1)?.wakeAt ?? least)),
      now,
    ),
    nextAt: toCome.length === 0 ? null : toCome.reduce((a, b) => Math.min(a, b)),
  });
}

/** Users fill the inbox by SQL, so here it is always empty. */
export function outsideOf(
  tables: Tables,
  now: EpochMs,
  partitions: readonly number[],
): readonly Outside[] {
  const toSend = partitions.some(
    (partition) =>
      tables.outbox.where("partition", partition).length > 0 ||
      tables.delivery
        .where("partition", partition)
        .some(({ nextTryAt }) => nextTryAt !== null && nextTryAt <= now),
  );
  const toSetOff = partitions.some((partition) =>
    tables.triggerEnd.where("partition", partition).some(({ nextAt }) => nextAt <= now),
  );
  return [
    ...(toSend ? (["deliveries"] as const) : []),
    ...(toSetOff ? (["triggers"] as const) : []),
  ];
}

const NEVER_LISTENED: ReadonlyMap<number, EpochMs> = new Map();

/**
 * When each session with leases in a partition has been silent for longer than they allow, counted
 * from `since` at the earliest; null: no process could have received its heartbeats. Leases whose
 * agent has received the request to stop are left out: the time that it has for that ends them.
 */
export function silentLeases(
  tables: Tables,
  partition: number,
  since: EpochMs | null,
): readonly DueRow[] {
  if (since === null) return [];
  return tables.lease.where("partition", partition).flatMap((row): readonly DueRow[] => {
    const { runId, step, fence, session, grantedAt, heartbeatMs, cancel } = row;
    if (cancel === "received") return [];
    const lastHeartbeatAt = tables.agentSession.get(session)?.lastHeartbeatAt ?? grantedAt;
    const wakeAt = Math.max(grantedAt, lastHeartbeatAt, since) + heartbeatMs;
    return [{ ...UNTAKEN, runId, partition, step, fence, kind: "lease", wakeAt }];
  });
}

/** Timers of pages with a wake-up later than `until` are left out. */
export function timersOfRun(tables: Tables, partition: number, until: EpochMs): readonly DueRow[] {
  const ofPages = tables.page.where("waking", partition).flatMap(({ runId, page, wakeAt }) =>
    wakeAt !== null && wakeAt <= until
      ? timersOf(page).map(({ lane: _, ...timer }): DueRow => {
          return { ...UNTAKEN, runId, partition, ...timer };
        })
      : [],
  );
  const messages = tables.message.where("partition", partition).map(({ runId, wakeAt }): DueRow => {
    return { ...UNTAKEN, runId, partition, kind: "message", step: -1, fence: 0, wakeAt };
  });
  const asked = tables.escalation
    .where("partition", partition)
    .flatMap(({ runId, step, n, wakeAt }): DueRow[] =>
      wakeAt === null
        ? []
        : [{ ...UNTAKEN, runId, partition, kind: "escalation", step, fence: n, wakeAt }],
    );
  return [...ofPages, ...asked, ...messages];
}

const UNTAKEN = { polled: false, lane: null, agentVersion: null };

/** The wake-up times of pages, which may be too early. */
function wakeUpsOf(tables: Tables, partition: number): readonly { readonly wakeAt: EpochMs }[] {
  return tables.page
    .where("waking", partition)
    .flatMap(({ wakeAt }) => (wakeAt === null ? [] : { wakeAt }));
}

/** Adds to a ready task its lane, whether agents may be expected to claim it, and their version. */
function withTakers(
  tables: Tables,
  now: EpochMs,
  due: DueRow,
  { pauseOf, circuitOf, laneOf, polledMs }: LaneHold,
): readonly DueRow[] {
  if (due.kind !== "ready") return [due];
  const row = tables.ready.get(stepKey(due.runId, due.step));
  if (!row) return [];
  const isHeld = row.paused || pauseOf(row.lane) !== null || circuitOf(row.lane) !== null;
  const { lane } = row;
  const { agentVersion } = laneOf(lane);
  const polled =
    isHeld ||
    (isPolled(tables, now - polledMs, lane) && !isSilent(tables, now, laneOf(lane), polledMs));
  return [{ ...due, polled, lane, agentVersion }];
}

function isPolled(tables: Tables, since: EpochMs, lane: number): boolean {
  return tables.lanePoller.where("lane", lane).some((row) => row.seenAt > since);
}

export function runLiveness(
  tables: Tables,
  now: EpochMs,
  runId: RunId,
  { pauseOf, laneOf, circuitOf, polledMs, regions }: LaneFacts,
): RunLiveness {
  const steps = stepsOf(tables, runId).map(({ step: { no } }) => no);
  const leases = steps.flatMap((no) => {
    const row = tables.lease.get(stepKey(runId, no));
    if (!row) return [];
    const lastHeartbeatAt = tables.agentSession.get(row.session)?.lastHeartbeatAt ?? null;
    const progress = pageStepOf(tables, runId, no)?.progress ?? null;
    return [[no, { lastHeartbeatAt, progress }] as const];
  });
  const polls = steps.flatMap((no) => {
    const row = tables.ready.get(stepKey(runId, no));
    if (!row) return [];
    const seen = tables.lanePoller.where("lane", row.lane).map(({ seenAt }) => seenAt);
    return [[no, seen.length === 0 ? null : Math.max(...seen)] as const];
  });
  const pauses = polls.flatMap(([no]) => {
    const { lane, paused } = tables.ready.expect(stepKey(runId, no));
    const pause = (paused ? workflowPauseOf(tables, runId) : null) ?? pauseOf(lane);
    return pause ? [[no, pause] as const] : [];
  });
  const circuits = polls.flatMap(([no]) => {
    const circuit = circuitOf(tables.ready.expect(stepKey(runId, no)).lane);
    return circuit ? [[no, circuit] as const] : [];
  });
  const cordoned = polls.flatMap(([no]) => {
    const { lane } = tables.ready.expect(stepKey(runId, no));
    const asking = agentsAsking(tables, now, laneOf(lane));
    return asking.length > 0 && asking.every((agent) => isCordoned(tables, agent))
      ? [[no, asking.length] as const]
      : [];
  });
  const row = tables.run.get(runId);
  const silent = polls.flatMap(([no]) => {
    const { lane } = tables.ready.expect(stepKey(runId, no));
    return isSilent(tables, now, laneOf(lane), polledMs) ? [no] : [];
  });
  const agentVersions = polls.flatMap(([no]) => {
    const { lane } = tables.ready.expect(stepKey(runId, no));
    const { agentVersion } = laneOf(lane);
    return agentVersion === null ? [] : [[no, agentVersion] as const];
  });
  const queues = steps.flatMap((no) => {
    const key = stepKey(runId, no);
    const row = tables.lease.get(key) ?? tables.ready.get(key);
    return row ? [[no, laneOf(row.lane).queue] as const] : [];
  });
  return {
    now,
    polledMs,
    leases: new Map(leases),
    polls: new Map(polls),
    pauses: new Map(pauses),
    queues: new Map(queues),
    circuits: new Map(circuits),
    cordoned: new Map(cordoned),
    agentVersions: new Map(agentVersions),
    silent: new Set(silent),
    unwatched: row ? unwatchedOf(regions, row.partition) : null,
  };
}

function workflowPauseOf(tables: Tables, runId: RunId): LanePause | null {
  const paused = tables.pausedWorkflow.get(workflowKey(tables.run.expect(runId)));
  return paused ? { scope: "workflow", ...paused.pause } : null;
}

/** The same as in operators.sql and reads.sql. */
const AGENT_SHOWN_MS = 60_000;

interface Asked {
  readonly namespaceId: number;
  readonly queue: string;
  readonly task?: string;
  /** Only agents of this version; null or left out: all. */
  readonly agentVersion?: string | null;
}

/**
 * Which agents poll for the tasks of a queue, by what servers have recorded of them.
 *
 * Sessions seen in the last minute that are not silent and asked for it with their last poll.
 */
function agentsAsking(tables: Tables, now: EpochMs, of: Asked): readonly AgentRow[] {
  return allAsking(tables, of).filter(
    ({ silentSince, seenAt }) => silentSince === null && seenAt > now - AGENT_SHOWN_MS,
  );
}

/** All agents that polled the lane have fallen silent, as the view silent_lane defines it. */
export function isSilent(tables: Tables, now: EpochMs, of: Asked, polledMs: number): boolean {
  const asking = allAsking(tables, of);
  const since = now - Math.max(polledMs, AGENT_SHOWN_MS);
  return (
    asking.some(({ silentSince }) => silentSince !== null) &&
    !asking.some(({ silentSince, seenAt }) => silentSince === null && seenAt > since)
  );
}

function allAsking(tables: Tables, of: Asked): readonly AgentRow[] {
  const { namespaceId, queue, task, agentVersion = null } = of;
  return tables.agent
    .all()
    .filter((row) => row.namespaceId === namespaceId)
    .filter((row) => agentVersion === null || row.agentVersion === agentVersion)
    .filter(({ poll }) => {
      if (!poll?.queues.includes(queue)) return false;
      return task === undefined || poll.tasks.length === 0 || poll.tasks.includes(task);
    });
}

export function isCordoned({ cordon }: Tables, agent: AgentRow): boolean {
  const { namespaceId, agentId, agentVersion, session } = agent;
  return (
    cordon.get(cordonKey({ namespaceId, kind: "agent", name: agentId })) !== undefined ||
    cordon.get(cordonKey({ namespaceId, kind: "version", name: agentVersion })) !== undefined ||
    cordon.get(cordonKey({ namespaceId, kind: "session", name: session })) !== undefined
  );
}
