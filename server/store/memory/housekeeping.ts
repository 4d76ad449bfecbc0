// Forgets what nobody will ask for again, as the .sql statements of the same names do.
import type { Moment } from "../../core/attempt.ts";
import { DELIVERY_KEPT_MS } from "../outbox.ts";
import type { Tables } from "./tables.ts";

const SILENT_MS = 10 * 60_000;
const UNSEEN_MS = 5 * 60_000;

export function forgetOld(tables: Tables, now: Moment, rowsMax: number): void {
  const sessions = tables.agentSession
    .all()
    .filter(
      ({ session, lastBeatAt }) =>
        lastBeatAt < now - SILENT_MS && tables.lease.where("session", session).length === 0,
    );
  for (const { session } of sessions.slice(0, rowsMax)) tables.agentSession.remove(session);
  const agents = tables.agent
    .all()
    .filter(
      ({ session, seenAt }) =>
        seenAt < now - SILENT_MS && tables.lease.where("session", session).length === 0,
    );
  for (const row of agents.slice(0, rowsMax)) tables.agent.removeRow(row);
  const pollers = tables.lanePoller.all().filter(({ seenAt }) => seenAt < now - UNSEEN_MS);
  for (const row of pollers.slice(0, rowsMax)) tables.lanePoller.removeRow(row);
  const keys = tables.idempotency
    .all()
    .filter(({ expiresAt, runId }) => expiresAt < now && !tables.runOpen.get(runId));
  for (const row of keys.slice(0, rowsMax)) tables.idempotency.removeRow(row);
  const deliveries = tables.delivery
    .all()
    .filter(({ endedAt }) => endedAt !== null && endedAt < now - DELIVERY_KEPT_MS);
  for (const row of deliveries.slice(0, rowsMax)) tables.delivery.removeRow(row);
}
