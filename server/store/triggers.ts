// Triggers, what ended runs have set off, and what was refused.
//
//   the transaction that ends a run writes a row for each trigger that waits for its workflow
//   `ended` finds such rows; the run that each sets off has a key of its own, so it is one
//   `settle` takes the row away, with the reason where nothing could be set off
import type { EpochMs } from "../core/attempt.ts";
import type { EndKind, Reason } from "../core/model.ts";
import type { TriggerDefinition } from "../core/trigger.ts";
import type { RunId } from "./run-head.ts";
import type { Namespace } from "./store.ts";

/** Refusals of one trigger that are kept. */
export const REFUSALS_MAX = 100;
/** An ended run that could not be taken up is looked at again so much later. */
export const END_AGAIN_MS = 5_000;

export interface NewTrigger {
  readonly namespaceId: number;
  readonly definition: TriggerDefinition;
  /** Of a bearer the digest alone is kept. null: what it has for this kind of auth stays. */
  readonly secret: { readonly value: string; readonly digest: string } | null;
}

export interface TriggerRecord {
  readonly definition: TriggerDefinition;
  /** SHA-256 of the secret, hex; null: it has none. */
  readonly secretDigest: string | null;
  readonly createdAt: EpochMs;
  readonly changedAt: EpochMs;
}

/** With what its callers are known by. */
export interface KnownTrigger extends TriggerRecord {
  /** null: only its digest is kept, or it has none. */
  readonly secret: string | null;
}

/** What is refused for one reason, gathered. */
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

/** By whose end a run was begun, and how many triggers stand behind it. */
export interface TriggeredBy {
  readonly trigger: string;
  readonly ofRun: RunId;
  readonly depth: number;
}

/** A run that has ended, and a trigger that waits for it. */
export interface EndedFor {
  readonly id: number;
  readonly trigger: string;
  /** As it is now; null: it was deleted. */
  readonly definition: TriggerDefinition | null;
  readonly namespace: Namespace;
  readonly runId: RunId;
  readonly definitionId: number;
  readonly state: EndKind;
  readonly reason: Reason;
  /** Triggers behind the run, or behind the runs whose child it is; 0: none. */
  readonly depth: number;
}

export interface SettledEnd {
  readonly id: number;
  /** Nobody knows: it is looked at again later. */
  readonly again: boolean;
  /**
   * The run that it has set off; null: none. The end stays where that run is not there: the store
   * has lost it with its tail.
   */
  readonly began: RunId | null;
}

export interface Triggers {
  /** Makes the trigger or changes it. null: it needs a secret, and has none. */
  put(trigger: NewTrigger): Promise<{ readonly created: boolean } | null>;
  find(namespaceId: number, name: string): Promise<KnownTrigger | null>;
  /** false: there is none. Its refusals go with it. */
  delete(namespaceId: number, name: string): Promise<boolean>;
  /** Those of triggers that are not there are dropped. */
  refuse(refused: readonly Refused[]): Promise<void>;
  /** What is to be set off in these partitions now, the oldest first. */
  ended(partitions: readonly number[], limit: number): Promise<readonly EndedFor[]>;
  settle(settled: readonly SettledEnd[]): Promise<void>;
}
