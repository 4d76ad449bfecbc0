// Heartbeats: the session row gets the time, and pages get what was reported of tasks.
import type { EpochMs } from "../../core/model/attempt.ts";
import { applyHeartbeat } from "../../core/page/hand-out.ts";
import { pageNoOf } from "../../core/page/page.ts";
import type {
  HeartbeatAnswer,
  HeartbeatReport,
  HeartbeatsStored,
  SessionHeartbeat,
  SessionLease,
} from "../heartbeats.ts";
import { putPage, putPayloads, type Writing } from "./pages.ts";
import { pageKey, type Tables } from "./tables.ts";

export function storeHeartbeats(
  writing: Writing,
  heartbeats: readonly SessionHeartbeat[],
): HeartbeatsStored {
  const { tables, now } = writing;
  const foreign = new Set(heartbeats.filter((heartbeat) => !storeSession(tables, now, heartbeat)));
  const own = heartbeats.filter((heartbeat) => !foreign.has(heartbeat));
  return {
    answers: heartbeats.map((heartbeat) =>
      heartbeat.reports.map((report) =>
        foreign.has(heartbeat)
          ? { kind: "lease-lost" }
          : storeTask(writing, heartbeat.session, report),
      ),
    ),
    forgotten: forgottenLeases(tables, own),
    foreign,
  };
}

/** False: the session belongs to another namespace, and nothing is stored. */
function storeSession(tables: Tables, now: EpochMs, heartbeat: SessionHeartbeat): boolean {
  const { session, namespaceId, agentId, agentVersion } = heartbeat;
  const stored = tables.agentSession.get(session);
  if (stored && stored.namespaceId !== namespaceId) return false;
  tables.agentSession.put({ session, namespaceId, agentId, agentVersion, lastHeartbeatAt: now });
  return true;
}

/**
 * Leases that are missing in complete lists of their sessions. All heartbeats of a session in one
 * batch are one list.
 */
function forgottenLeases(
  tables: Tables,
  heartbeats: readonly SessionHeartbeat[],
): readonly SessionLease[] {
  const listed = new Set(heartbeats.flatMap(({ reports }) => reports.map(({ secret }) => secret)));
  return [...Map.groupBy(heartbeats, ({ session }) => session)].flatMap(([session, of]) => {
    const upTo = Math.max(...of.map(({ listsAllTo = 0 }) => listsAllTo));
    return tables.lease.where("session", session).flatMap((lease) => {
      const { runId, partition, step, fence, secret, pollSeq } = lease;
      const isForgotten = pollSeq <= upTo && !listed.has(secret);
      return isForgotten ? [{ runId, partition, step, fence, secret }] : [];
    });
  });
}

function storeTask(writing: Writing, session: string, report: HeartbeatReport): HeartbeatAnswer {
  const { tables, now } = writing;
  const { runId, step: stepKey } = report;
  const row = tables.page.get(pageKey(runId, pageNoOf(stepKey)));
  const was = row?.page.steps.get(stepKey);
  const applied = was ? applyHeartbeat(was, session, report, now) : null;
  if (!row || !applied) return { kind: "lease-lost" };
  putPayloads(tables, runId, applied.payloads);
  if (applied.step !== was) {
    const { page } = row;
    putPage(writing, row, { ...page, steps: new Map(page.steps).set(stepKey, applied.step) });
  }
  return applied.answer;
}
