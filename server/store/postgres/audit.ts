// The audit on PostgreSQL: entries are written with the change that they are about, and listed.
import type pg from "pg";
import {
  AUDIT_READ_MAX,
  type AuditAction,
  type AuditDetails,
  type AuditEntry,
  type AuditList,
  type AuditPage,
  type AuditRecord,
  type AuditSubjectKind,
} from "../audit.ts";
import type { Role } from "../tokens.ts";
import { columns, writeRows } from "./columns.ts";
import type { Values } from "./sql.ts";
import type { Query, Send, Transact } from "./transaction.ts";

/**
 * Runs a statement and records in the same transaction what it has changed. `entry` null: the
 * change is not recorded. `seen` completes the entry by the rows of the statement, or returns null
 * if nothing has changed; left out: the statement returns a row if it has changed something.
 */
export type Audited = <Row extends pg.QueryResultRow>(
  entry: AuditEntry | null,
  name: string,
  values: Values,
  seen?: (entry: AuditEntry, rows: readonly Row[]) => AuditEntry | null,
) => Promise<readonly Row[]>;

const ifAny = (entry: AuditEntry, rows: readonly unknown[]): AuditEntry | null =>
  rows.length > 0 ? entry : null;

export function createAudited(query: Query, transact: Transact): Audited {
  return <Row extends pg.QueryResultRow>(
    entry: AuditEntry | null,
    name: string,
    values: Values,
    seen: (entry: AuditEntry, rows: readonly Row[]) => AuditEntry | null = ifAny,
  ) => {
    if (entry === null) return query<Row>(name, values);
    return transact({}, async ({ query: within }) => {
      const rows = await within<Row>(name, values);
      await recordAudit(within, seen(entry, rows));
      return rows;
    });
  };
}

/** Records a change that this transaction has made; null: nothing. */
export async function recordAudit(query: Query, entry: AuditEntry | null): Promise<void> {
  if (entry !== null) await query("insert_audit", columns([entry], COLUMNS));
}

/** As `recordAudit`, for many and without waiting. */
export function writeAudit(send: Send, entries: readonly AuditEntry[]): void {
  writeRows(send, "insert_audit", entries, COLUMNS);
}

const COLUMNS: Parameters<typeof columns<AuditEntry>>[1] = {
  namespace_id: ({ namespaceId }) => namespaceId,
  action: ({ action }) => action,
  subject_kind: ({ subject }) => subject.kind,
  subject: ({ subject }) => subject.name,
  claimed_by: ({ by }) => by,
  by_verified: ({ byVerified }) => byVerified,
  token_id: ({ token }) => token?.id ?? null,
  token_name: ({ token }) => token?.name ?? null,
  token_role: ({ token }) => token?.role ?? null,
  peer: ({ peer }) => peer,
  reason: ({ reason }) => reason,
  details: ({ details }) => JSON.stringify(details),
};

export async function listAudit(
  query: Query,
  namespaceId: number,
  { subject, actions, by, token, from, until, after, limit }: AuditPage,
): Promise<AuditList> {
  const rows = await query<AuditRow>("list_audit", {
    namespace_id: namespaceId,
    subject_kind: subject?.kind ?? null,
    subject: subject?.name ?? null,
    actions,
    by,
    token,
    from,
    until,
    at: after?.at ?? null,
    id: after?.id ?? null,
    limit: limit + 1,
    read_max: AUDIT_READ_MAX,
  });
  const found = rows.filter(({ passes }) => passes).map(recordOf);
  const entries = found.slice(0, limit);
  const end = rows.find(({ passes }) => !passes);
  const next = found.length > limit ? entries.at(-1) : end;
  return { entries, next: next ? { at: next.at, id: next.id } : null };
}

interface AuditRow {
  passes: boolean;
  id: string;
  namespace_id: number;
  at: number;
  action: AuditAction;
  subject_kind: AuditSubjectKind;
  subject: string;
  claimed_by: string;
  by_verified: boolean;
  token_id: string | null;
  token_name: string | null;
  token_role: Role | null;
  peer: string;
  reason: string;
  details: AuditDetails;
}

function recordOf(row: AuditRow): AuditRecord {
  const { token_id: id, token_name: name, token_role: role } = row;
  return {
    id: row.id,
    at: row.at,
    namespaceId: row.namespace_id,
    action: row.action,
    subject: { kind: row.subject_kind, name: row.subject },
    by: row.claimed_by,
    byVerified: row.by_verified,
    token: id === null || name === null || role === null ? null : { id, name, role },
    peer: row.peer,
    reason: row.reason,
    details: row.details,
  };
}
