// Who changed what: one entry for each change that a person or a token made. It is written in the
// transaction of the change, so a change without its entry, or an entry without its change, cannot
// be stored. A call that changes nothing writes none. Only PostgreSQL stores entries.
import type { EpochMs } from "../core/model/attempt.ts";
import type { Role } from "./tokens.ts";

/** How long entries are retained, in milliseconds: 400 days. */
export const AUDIT_RETENTION_MS = 400 * 86_400_000;

/** What a change was made to. An entry about an escalation or a task is about its run. */
export const AUDIT_SUBJECTS = Object.freeze([
  "agent",
  "bulk",
  "circuit",
  "hook",
  "namespace",
  "queue",
  "run",
  "schedule",
  "token",
  "trigger",
  "workflow",
] as const);
export type AuditSubjectKind = (typeof AUDIT_SUBJECTS)[number];

export const AUDIT_ACTIONS = Object.freeze([
  "agent.cordon",
  "agent.uncordon",
  "bulk.start",
  "circuit.release",
  "circuit.set",
  "escalation.answer",
  "escalation.claim",
  "escalation.release",
  "hook.delete",
  "hook.put",
  "namespace.create",
  "namespace.limits",
  "namespace.logs",
  "namespace.pause",
  "namespace.resume",
  "namespace.retention",
  "queue.limits",
  "queue.pause",
  "queue.pin",
  "queue.resume",
  "queue.unpin",
  "run.cancel",
  "run.complete",
  "run.decide",
  "run.erase",
  "run.pause",
  "run.rerun",
  "run.resume",
  "run.retry",
  "schedule.backfill",
  "schedule.create",
  "schedule.delete",
  "schedule.pause",
  "schedule.resume",
  "schedule.trigger",
  "schedule.update",
  "token.create",
  "token.revoke",
  "trigger.delete",
  "trigger.put",
  "workflow.default",
  "workflow.pause",
  "workflow.register",
  "workflow.resume",
] as const);
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Entries that concern all namespaces, as those about a token for every namespace. */
export const EVERY_NAMESPACE = 0;

export interface AuditSubject {
  readonly kind: AuditSubjectKind;
  readonly name: string;
}

/** What was changed. Never a payload, a secret or a token. */
export type AuditDetails = Readonly<
  Record<string, string | number | boolean | null | readonly string[]>
>;

export interface AuditEntry {
  /** EVERY_NAMESPACE: it concerns all of them. */
  readonly namespaceId: number;
  readonly action: AuditAction;
  readonly subject: AuditSubject;
  /** The name that the caller gave. "": none. */
  readonly by: string;
  /** The caller proved the name, by a JWT or a client certificate. */
  readonly byVerified: boolean;
  /**
   * The API token of the call; of a JWT its subject, of a certificate what is mapped of it. null:
   * the server requires no tokens.
   */
  readonly token: { readonly id: string; readonly name: string; readonly role: Role } | null;
  /** The address from which the call came. */
  readonly peer: string;
  readonly reason: string;
  readonly details: AuditDetails;
}

/** The entry with further details. */
export function withDetails(entry: AuditEntry, details: AuditDetails): AuditEntry {
  return { ...entry, details: { ...entry.details, ...details } };
}

/** null, or left out: nothing is recorded, because the server itself makes the change. */
export type Audit = AuditEntry | null;

export interface AuditRecord extends AuditEntry {
  readonly id: string;
  readonly at: EpochMs;
}

/** A place in the order of the list. */
export type AuditPlace = Pick<AuditRecord, "at" | "id">;

export interface AuditPage {
  /** null, here and below: any. */
  readonly subject: AuditSubject | null;
  /** Empty: any. */
  readonly actions: readonly AuditAction[];
  readonly by: string | null;
  /** The id or the name of the token. */
  readonly token: string | null;
  /** At this time or later. */
  readonly from: EpochMs | null;
  /** Before this time. */
  readonly until: EpochMs | null;
  readonly after: AuditPlace | null;
  readonly limit: number;
}

/** Most entries that one page reads to find those that pass its filter. */
export const AUDIT_READ_MAX = 5_000;

export interface AuditList {
  /** Newest first. Up to AUDIT_READ_MAX entries are read, so there may be more than are found. */
  readonly entries: readonly AuditRecord[];
  /** Where the next page continues; null: there are no more. */
  readonly next: AuditPlace | null;
}
