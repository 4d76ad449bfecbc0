// Webhooks: the hooks of a namespace, the outbox with the events for them, and the deliveries with
// the result of their tries.
//
//   a pass writes an outbox row for each hook that subscribes to the event, in its own transaction
//   `due` makes deliveries of these rows: one for all rows of one cause, at most one a minute
//   `settle` stores the result of a try; a delivery ends as delivered or given up
//
// Delivery is at least once: a try whose answer is lost is repeated under the same id.
import type { EndedRun } from "../core/explain/end-sentence.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import type { EscalationReason } from "../core/model/history.ts";
import type { Audit } from "./audit.ts";
import type { RunId } from "./run-head.ts";

/**
 * Events that a hook may subscribe to. The stored code is the index in this list, which only grows
 * at its end.
 */
export const OUTBOX_KINDS = Object.freeze([
  "escalation-opened",
  "escalation-reminder",
  "escalation-closed",
  "run-ended",
  "approval-requested",
] as const);
export type OutboxKind = (typeof OUTBOX_KINDS)[number];

/**
 * Least time between two deliveries of one cause to one hook, in milliseconds; events that come
 * sooner are in the next one.
 */
export const CAUSE_APART_MS = 60_000;
/** How long a delivery is retained after its end, in milliseconds. */
export const DELIVERY_RETENTION_MS = 7 * 24 * 60 * 60 * 1_000;

/** The hook for the end of one run, whatever events it subscribes to. */
export interface Notify {
  readonly hook: string;
  /** Replaces the URL of the hook; the hook's secret signs all the same. null: it does not. */
  readonly url: string | null;
}

export interface NewHook {
  readonly namespaceId: number;
  readonly name: string;
  readonly url: string;
  readonly events: readonly OutboxKind[];
  /** null: the hook keeps its secret. */
  readonly secret: { readonly value: string; readonly digest: string } | null;
}

export interface HookRecord {
  readonly name: string;
  readonly url: string;
  readonly events: readonly OutboxKind[];
  /** SHA-256 of the secret, hex. */
  readonly secretDigest: string;
  readonly createdAt: EpochMs;
  readonly changedAt: EpochMs;
}

export type DeliveryState = "pending" | "delivered" | "given-up";

/** One webhook. */
export interface DeliveryRecord {
  readonly id: string;
  readonly hook: string;
  /** Replaces the URL of the hook; null: it does not. */
  readonly url: string | null;
  readonly kind: OutboxKind;
  /** How many events of one cause it reports. `runId` and `n` are those of the first. */
  readonly count: number;
  readonly runId: RunId;
  /** The number of the escalation, or of the approval step; of `run-ended` 0. */
  readonly n: number;
  readonly state: DeliveryState;
  readonly tries: number;
  /** Why the last try failed; null: no try has failed. */
  readonly error: string | null;
  readonly createdAt: EpochMs;
  /** null: it is pending. */
  readonly endedAt: EpochMs | null;
  /** null: it has ended. */
  readonly nextTryAt: EpochMs | null;
}

/** What a delivery reports of its run. */
export interface OutboxRun {
  readonly namespace: string;
  readonly namespaceId: number;
  readonly definitionId: number;
  readonly workflow: string;
  readonly version: number;
  readonly key: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: EpochMs;
  /** How the run ended; null: it was open when the delivery was read. */
  readonly end: (EndedRun & { readonly at: EpochMs }) | null;
}

/** What a delivery reports of an escalation. */
export interface OutboxEscalation {
  readonly step: number;
  readonly reason: EscalationReason;
  readonly code: string;
  readonly message: string;
  readonly openedAt: EpochMs;
  readonly closedBy: string | null;
}

/** What a delivery reports of an approval. */
export interface OutboxApproval {
  readonly step: number;
  readonly deadlineAt: EpochMs;
}

/** A delivery that is to be tried now, with its whole content. */
export interface DueDelivery extends DeliveryRecord {
  /** The database's time of the read. */
  readonly now: EpochMs;
  /** The hook as it is now; null: it was deleted. */
  readonly target: { readonly url: string; readonly secret: string } | null;
  readonly run: OutboxRun;
  readonly escalation: OutboxEscalation | null;
  readonly approval: OutboxApproval | null;
}

/** The result of a try. */
export interface Tried {
  readonly id: string;
  /** Tries before this one. If another sender was faster, this result is dropped. */
  readonly triesBefore: number;
  readonly state: DeliveryState;
  readonly error: string | null;
  /** Only while the delivery is pending. */
  readonly nextTryInMs: number;
}

export interface DeliveryPage {
  /** Empty: all. */
  readonly states: readonly DeliveryState[];
  readonly hook: string | null;
  readonly limit: number;
  /** The last delivery of the page before. */
  readonly after: Pick<DeliveryRecord, "createdAt" | "id"> | null;
}

export interface Outbox {
  /** Creates the hook or changes it. null: it is new and has no secret. */
  putHook(hook: NewHook, audit?: Audit): Promise<{ readonly created: boolean } | null>;
  /** By name. */
  hooks(namespaceId: number): Promise<readonly HookRecord[]>;
  /** false: there is none. Its events and deliveries that are pending are given up. */
  deleteHook(namespaceId: number, name: string, audit?: Audit): Promise<boolean>;
  /**
   * Makes deliveries of the outbox rows of these partitions. Returns the deliveries to try now: up
   * to `limit` of each hook, the earliest first.
   */
  due(partitions: readonly number[], limit: number): Promise<readonly DueDelivery[]>;
  settle(tried: readonly Tried[]): Promise<void>;
}
