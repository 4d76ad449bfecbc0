// What servers record of agents, as the statements of agents.sql do.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { AgentSeen, SilentSession } from "../operators.ts";
import type { AgentRow } from "./process-tables.ts";
import type { Tables } from "./tables.ts";

export function markPolled(
  tables: Tables,
  seenAt: EpochMs,
  node: string,
  lanes: readonly number[],
): void {
  for (const lane of lanes) tables.lanePoller.put({ lane, node, seenAt });
}

export function markAgents(tables: Tables, now: EpochMs, seen: readonly AgentSeen[]): void {
  for (const one of seen) {
    const { session, namespaceId, agentId, agentVersion } = one;
    const before = tables.agent.get(session);
    if (before && before.namespaceId !== namespaceId) continue;
    const calledAt = now - one.calledAgoMs;
    const silentSince = before?.silentSince ?? null;
    tables.agent.put({
      session,
      namespaceId,
      agentId: before?.agentId ?? agentId,
      agentVersion,
      poll: one.poll ?? before?.poll ?? null,
      seenAt: Math.max(before?.seenAt ?? 0, now - one.agoMs),
      calledAt: Math.max(before?.calledAt ?? 0, calledAt),
      silentSince: silentSince !== null && calledAt < silentSince ? silentSince : null,
    });
  }
}

export function markSilent(tables: Tables, now: EpochMs, silent: readonly SilentSession[]): void {
  for (const one of silent) {
    const row = tables.agent.get(one.session);
    if (!row || row.silentSince !== null) continue;
    const since = one.kind === "lost" ? one.at : now - one.agoMs;
    if (row.calledAt <= since && isSilent(tables, row, one))
      tables.agent.put({ ...row, silentSince: since });
  }
}

function isSilent(tables: Tables, { session }: AgentRow, silent: SilentSession): boolean {
  if (silent.kind === "gone") return tables.lease.where("session", session).length === 0;
  const { lastHeartbeatAt = 0 } = tables.agentSession.get(session) ?? {};
  return lastHeartbeatAt <= silent.at - silent.heartbeatMs;
}
