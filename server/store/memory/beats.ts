// Heartbeats: the session has beaten, its leases keep what their agents said, a cancel is heard.
//
//   cancel none     carry on for another `heartbeat`
//   cancel asked    heard now: the lease ends `cancel` later, whatever the agent does
//   cancel heard    what is left of that; nothing is extended
//
// Only progress that is another than before counts as progress: beats by themselves move nothing.
import type { Moment } from "../../core/attempt.ts";
import type { Lease } from "../../core/model.ts";
import type { BeatAnswer, BeatReport, BeatsHeard, SessionBeat, SessionLease } from "../beats.ts";
import { type LeaseRow, stepKey, type Tables } from "./tables.ts";

export function beatSessions(
  tables: Tables,
  now: Moment,
  beats: readonly SessionBeat[],
): BeatsHeard {
  const foreign = new Set(beats.filter((beat) => !beatSession(tables, now, beat)));
  const own = beats.filter((beat) => !foreign.has(beat));
  return {
    answers: beats.map((beat) =>
      beat.reports.map((report) =>
        foreign.has(beat) ? { kind: "lease-lost" } : beatLease(tables, now, beat.session, report),
      ),
    ),
    forgotten: forgottenLeases(tables, own),
    foreign,
  };
}

/** False: the session belongs to another namespace, and nothing is stored. */
function beatSession(tables: Tables, now: Moment, beat: SessionBeat): boolean {
  const { session, namespaceId, agentId, agentVersion } = beat;
  const stored = tables.agentSession.get(session);
  if (stored && stored.namespaceId !== namespaceId) return false;
  tables.agentSession.put({ session, namespaceId, agentId, agentVersion, lastBeatAt: now });
  return true;
}

/** What sessions have left out of lists that they call whole: those of a session are one. */
function forgottenLeases(tables: Tables, beats: readonly SessionBeat[]): readonly SessionLease[] {
  const listed = new Set(beats.flatMap(({ reports }) => reports.map(({ secret }) => secret)));
  return [...Map.groupBy(beats, ({ session }) => session)].flatMap(([session, of]) => {
    const upTo = Math.max(...of.map(({ listsAllTo = 0 }) => listsAllTo));
    return tables.lease.where("session", session).flatMap(({ runId, partition, step, lease }) => {
      const { fence, secret, pollSeq } = lease;
      const isForgotten = pollSeq <= upTo && !listed.has(secret);
      return isForgotten ? [{ runId, partition, step, fence, secret }] : [];
    });
  });
}

function beatLease(tables: Tables, now: Moment, session: string, report: BeatReport): BeatAnswer {
  const row = tables.lease.get(stepKey(report.runId, report.step));
  if (!row || !isOf(row.lease, session, report)) return { kind: "lease-lost" };
  const { progress, details } = said(row, report);
  const progressAt = progress === row.progress ? row.lease.progressAt : now;
  const lease = { ...heard(row.lease, now), progressAt };
  tables.lease.put({ ...row, progress, details, lease });
  return lease.cancel.kind === "heard"
    ? { kind: "cancel", withinMs: Math.max(0, lease.cancel.by - now) }
    : { kind: "carry-on", leaseMs: lease.heartbeatMs };
}

function isOf(lease: Lease, session: string, { fence, secret }: BeatReport): boolean {
  return lease.session === session && lease.secret === secret && lease.fence === fence;
}

function heard(lease: Lease, now: Moment): Lease {
  if (lease.cancel.kind !== "asked") return lease;
  const by = now + lease.cancelMs;
  return { ...lease, cancel: { kind: "heard", cause: lease.cancel.cause, by }, wakeAt: by };
}

/** null leaves what is stored. */
function said(row: LeaseRow, report: BeatReport): Pick<LeaseRow, "progress" | "details"> {
  return {
    progress: report.progress ?? row.progress,
    details: report.details ?? row.details,
  };
}
