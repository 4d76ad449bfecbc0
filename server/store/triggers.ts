// Triggers, the ended runs that they wait for, and refusals.
//
//   the transaction that ends a run writes a row for each trigger that waits for its workflow
//   `ended` finds such rows; the run that a row begins has a key of its own, so it begins once
//   `settle` deletes the row; `refuse` stores the reason if no run could begin

import type { TriggerDefinition } from "../core/definition/trigger.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import type { EndKind, Reason } from "../core/model/model.ts";
import type { Audit } from "./audit.ts";
import type { RunId } from "./run-head.ts";
import type { Namespace } from "./store.ts";

/** Refusals of one trigger that are retained. */
export const REFUSALS_MAX = 100;
/** An ended run that could not be handled is tried again after this time, in milliseconds. */
export const END_AGAIN_MS = 5_000;

export interface NewTrigger {
  readonly namespaceId: number;
  readonly definition: TriggerDefinition;
  /**
   * Of a bearer secret only the digest is stored. null: the secret that it has for this kind of
   * auth stays.
   */
  readonly secret: { readonly value: string; readonly digest: string } | null;
}

export interface TriggerRecord {
  readonly definition: TriggerDefinition;
  /** SHA-256 of the secret, hex; null: it has none. */
  readonly secretDigest: string | null;
  readonly createdAt: EpochMs;
  readonly changedAt: EpochMs;
}

/** A trigger with the secret that authenticates its callers. */
export interface KnownTrigger extends TriggerRecord {
  /** null: only its digest is stored, or it has none. */
  readonly secret: string | null;
}

/** Refusals for one reason, added up. */
export interface Refused {
  readonly namespaceId: number;
  readonly trigger: string;
  readonly reason: string;
  readonly message: string;
  /** The ended run that it concerns, the last of them; null: a call over HTTP. */
  readonly runId: RunId | null;
  readonly count: number;
}

export interface RefusalRecord extends Omit<Refused, "namespaceId"> {
  readonly firstAt: EpochMs;
  readonly lastAt: EpochMs;
}

/** The trigger and the ended run that began a run, and the length of the trigger chain. */
export interface TriggeredBy {
  readonly trigger: string;
  readonly ofRun: RunId;
  readonly depth: number;
}

/** A run that has ended, and a trigger that waits for it. */
export interface EndedFor {
  /** Never given out again, also not after a fail-over. */
  readonly id: string;
  readonly trigger: string;
  /** As it is now; null: it was deleted. */
  readonly definition: TriggerDefinition | null;
  readonly namespace: Namespace;
  readonly runId: RunId;
  readonly definitionId: number;
  readonly state: EndKind;
  readonly reason: Reason;
  /** Length of the trigger chain before the run, or before the runs whose child it is. */
  readonly depth: number;
}

interface SettledEnd {
  readonly id: string;
  /** The result is not known: the row is handled again later. */
  readonly again: boolean;
  /**
   * The run that was started; null: none. If the database does not have this run, the row stays: a
   * fail-over has lost the run together with the last transactions.
   */
  readonly began: RunId | null;
}

export interface Triggers {
  /** Creates the trigger or changes it. null: it needs a secret, and has none. */
  put(trigger: NewTrigger, audit?: Audit): Promise<{ readonly created: boolean } | null>;
  find(namespaceId: number, name: string): Promise<KnownTrigger | null>;
  /** false: there is none. Its refusals are deleted with it. */
  delete(namespaceId: number, name: string, audit?: Audit): Promise<boolean>;
  /** Refusals of triggers that do not exist are dropped. */
  refuse(refused: readonly Refused[]): Promise<void>;
  /** Rows of these partitions that are to be handled now, the oldest first. */
  ended(partitions: readonly number[], limit: number): Promise<readonly EndedFor[]>;
  settle(settled: readonly SettledEnd[]): Promise<void>;
}
