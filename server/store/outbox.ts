// What the outside is told: the hooks of a namespace, what there is to tell, and each webhook with
// how its tries went.
//
//   a pass writes an outbox row for each hook that wants to hear of it, in its own transaction
//   `due` makes deliveries of them: one for all of one cause, and at most one a minute
//   `settle` says how a try went; a delivery ends as delivered or given up
//
// At least once: a try whose answer is lost is made again, under the same id.
import type { EpochMs } from "../core/attempt.ts";
import type { EscalationReason } from "../core/history.ts";
import type { Reason, RunState } from "../core/model.ts";
import type { RunId } from "./run-head.ts";

/** What a hook may hear of. A code is a place in this list: it only grows at its end. */
export const OUTBOX_KINDS = Object.freeze([
  "escalation-opened",
  "escalation-reminder",
  "escalation-closed",
  "run-ended",
] as const);
export type OutboxKind = (typeof OUTBOX_KINDS)[number];

/** Of one cause a hook is told so often at most; what comes sooner is counted. */
export const CAUSE_APART_MS = 60_000;
/** How long a delivery that has ended is shown. */
export const DELIVERY_RETENTION_MS = 7 * 24 * 60 * 60 * 1_000;

/** Who is told of one run's end, whatever the hook wants to hear otherwise. */
export interface Notify {
  readonly hook: string;
  /** Instead of the hook's own; signed with the hook's secret all the same. */
  readonly url: string | null;
}

export interface NewHook {
  readonly namespaceId: number;
  readonly name: string;
  readonly url: string;
  readonly events: readonly OutboxKind[];
  /** null: it keeps the one that it has. */
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
  /** Instead of the hook's own; null: none. */
  readonly url: string | null;
  readonly kind: OutboxKind;
  /** How many things of one cause it tells; the first is the run, and the escalation of it. */
  readonly count: number;
  readonly runId: RunId;
  /** The number of the escalation; 0: it is about the run. */
  readonly n: number;
  readonly state: DeliveryState;
  readonly tries: number;
  /** Why the last try failed; null: none did. */
  readonly error: string | null;
  readonly createdAt: EpochMs;
  /** null: it is pending. */
  readonly endedAt: EpochMs | null;
  /** null: it has ended. */
  readonly nextTryAt: EpochMs | null;
}

/** What is told of a run. */
export interface OutboxRun {
  readonly namespace: string;
  readonly namespaceId: number;
  readonly definitionId: number;
  readonly workflow: string;
  readonly version: number;
  readonly key: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: EpochMs;
  /** How it ended; null: it had not when the delivery was looked up. */
  readonly end: {
    readonly state: RunState["kind"];
    readonly reason: Reason;
    readonly at: EpochMs;
  } | null;
}

/** What is told of an escalation. */
export interface OutboxEscalation {
  readonly step: number;
  readonly reason: EscalationReason;
  readonly code: string;
  readonly message: string;
  readonly openedAt: EpochMs;
  readonly closedBy: string | null;
}

/** A delivery that is to be tried now, with all that it says. */
export interface DueDelivery extends DeliveryRecord {
  /** The time of the look. */
  readonly now: EpochMs;
  /** The hook as it is now; null: it was deleted. */
  readonly target: { readonly url: string; readonly secret: string } | null;
  readonly run: OutboxRun;
  readonly escalation: OutboxEscalation | null;
}

/** How a try went. */
export interface Tried {
  readonly id: string;
  /** Tries before this one: another sender may have been quicker. */
  readonly triesBefore: number;
  readonly state: DeliveryState;
  readonly error: string | null;
  /** While it is pending. */
  readonly nextTryInMs: number;
}

export interface DeliveryPage {
  /** Empty: all. */
  readonly states: readonly DeliveryState[];
  readonly hook: string | null;
  readonly limit: number;
  /** Id of the last one of the page before. */
  readonly after: string | null;
}

export interface Outbox {
  /** Makes the hook or changes it. null: it is new and has no secret. */
  putHook(hook: NewHook): Promise<{ readonly created: boolean } | null>;
  /** By name. */
  hooks(namespaceId: number): Promise<readonly HookRecord[]>;
  /** false: there is none. What is still to be told to it is given up. */
  deleteHook(namespaceId: number, name: string): Promise<boolean>;
  /**
   * Makes deliveries of what there is to tell in these partitions, and returns those to be tried
   * now: up to `limit` of each hook, the earliest first.
   */
  due(partitions: readonly number[], limit: number): Promise<readonly DueDelivery[]>;
  settle(tried: readonly Tried[]): Promise<void>;
}
