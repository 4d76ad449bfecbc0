// Deletes what no caller will ask for again, as the .sql statements of the same names do.
import type { EpochMs } from "../../core/model/attempt.ts";
import { DELIVERY_RETENTION_MS } from "../outbox.ts";
import type { Retention } from "../retention.ts";
import { cordonKey } from "./circuit-tables.ts";
import { forgetSchedules } from "./schedules.ts";
import { isOpen, type Tables } from "./tables.ts";
import { forgetTriggered } from "./triggers.ts";

const DAY_MS = 24 * 3_600_000;

export function forgetOld(
  tables: Tables,
  now: EpochMs,
  rowsMax: number,
  retention: Retention,
): boolean {
  const { sessionMs, pollerMs, triggeredMs, circuitEndsMs } = retention;
  const isHome = tables.shard.number === 0;
  const isFree = ({ session }: { readonly session: string }) =>
    tables.lease.where("session", session).length === 0;
  const sessions = tables.agentSession
    .all()
    .filter((row) => row.lastHeartbeatAt < now - sessionMs && isFree(row));
  const agents = tables.agent.all().filter((row) => row.seenAt < now - sessionMs && isFree(row));
  const pollers = tables.lanePoller.all().filter(({ seenAt }) => seenAt < now - pollerMs);
  const keys = tables.idempotency
    .all()
    .filter(({ expiresAt, runId }) => expiresAt < now && !isOpen(tables, runId));
  const deliveries = tables.delivery
    .all()
    .filter(({ endedAt }) => endedAt !== null && endedAt < now - DELIVERY_RETENTION_MS);
  for (const row of sessions.slice(0, rowsMax)) tables.agentSession.removeRow(row);
  for (const row of agents.slice(0, rowsMax)) {
    tables.agent.removeRow(row);
    // The first shard has the same agents.
    if (!isHome) continue;
    const { namespaceId, session: name } = row;
    const cordon = tables.cordon.get(cordonKey({ namespaceId, kind: "session", name }));
    if (cordon) tables.cordon.removeRow(cordon);
  }
  for (const row of pollers.slice(0, rowsMax)) tables.lanePoller.removeRow(row);
  for (const row of keys.slice(0, rowsMax)) tables.idempotency.removeRow(row);
  for (const row of deliveries.slice(0, rowsMax)) tables.delivery.removeRow(row);
  const triggered = forgetTriggered(tables, now - triggeredMs, rowsMax);
  const schedules = forgetSchedules(tables, rowsMax);
  if (isHome) forgetCircuits(tables, now, circuitEndsMs);
  const bounded = [sessions, agents, pollers, keys, deliveries, triggered];
  return schedules || bounded.some(({ length }) => length >= rowsMax);
}

function forgetCircuits(tables: Tables, now: EpochMs, endsKeptMs: number): void {
  for (const row of tables.circuitEnd.all())
    if (row.at < now - endsKeptMs) tables.circuitEnd.removeRow(row);
  for (const row of tables.circuit.all()) {
    const { state, override, agentId, changedAt } = row;
    const isOld = state.kind === "closed" && changedAt < now - 7 * DAY_MS;
    const isLeft = state.kind === "open" && agentId !== "" && state.until < now - DAY_MS;
    if (override === null && (isOld || isLeft)) tables.circuit.removeRow(row);
  }
  for (const row of tables.circuitOutage.all())
    if (row.to !== null && row.to < now - 7 * DAY_MS) tables.circuitOutage.removeRow(row);
}
