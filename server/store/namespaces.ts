// The limits of a namespace, whether it stores what handlers log, and how long it retains its runs
// after their end.
//
// Servers evaluate limits in memory, by the last answer of `limited` and by the runs that they have
// started since. Runs that have ended are removed in pages by their ids, with all their rows. A
// removal locks its runs and skips those that are locked, so of two removals at once each only
// finds less to do.
import type { Rate } from "../core/model/limits.ts";
import type { RunState } from "../core/model/model.ts";
import { type DroverError, failedOver } from "../errors.ts";
import type { Audit } from "./audit.ts";
import type { RunId } from "./run-head.ts";

export interface NamespaceLimits {
  /** Most open runs; null, here and below: no limit. */
  readonly openRunsMax: number | null;
  /** Rate of runs that begin. */
  readonly rate: Rate | null;
  /** Size of one payload; null: the limit of the server. */
  readonly payloadBytesMax: number | null;
  /** Rate of calls that read, register or start. */
  readonly callRate: Rate | null;
  /** What its runs may take; no run starts beyond. */
  readonly storageBytesMax: number | null;
  /** Its part where namespaces compete for a server; null: WEIGHT_DEFAULT. */
  readonly weight: number | null;
}

/** Of a namespace without a weight of its own. */
export const WEIGHT_DEFAULT = 100;

export const NO_LIMITS: NamespaceLimits = Object.freeze({
  openRunsMax: null,
  rate: null,
  payloadBytesMax: null,
  callRate: null,
  storageBytesMax: null,
  weight: null,
});

export interface NamespaceSettings {
  /** How long a run is retained after its end, in milliseconds; null: forever. */
  readonly retentionMs: number | null;
  readonly limits: NamespaceLimits;
  /** Whether the lines that handlers log are stored. */
  readonly storesLogs: boolean;
}

/** A namespace with limits or without logs, and what it uses now. */
export interface NamespaceUse {
  readonly namespaceId: number;
  readonly name: string;
  readonly limits: NamespaceLimits;
  readonly storesLogs: boolean;
  /** Counted up to the limit, and only if there is one. */
  readonly openRuns: number;
  /** What its runs take, as estimated within the last minutes. */
  readonly storageBytes: number;
}

/** A page of runs, by their ids. */
export interface OldRuns {
  readonly namespaceId: number;
  /** How long a run is retained after its end, in milliseconds. */
  readonly keptMs: number;
  /** The last run of the page before. */
  readonly after: RunId | null;
  readonly limit: number;
}

/** `more`: there is a page behind `after`, or rows of this page are left. */
export interface ForgottenPage {
  readonly after: RunId | null;
  readonly more: boolean;
}

/** `relative` open: the run itself, its parent, or a child of it, with its state. */
export type Erased =
  | { readonly kind: "erased"; readonly workflow: string; readonly key: string | null }
  | { readonly kind: "unknown" }
  | {
      readonly kind: "open";
      readonly relative: "run" | "parent" | "child";
      readonly runId: RunId;
      readonly state: RunState["kind"];
    };

/** A page of definitions of all namespaces, by their ids. */
export interface UnusedDefinitions {
  /** The last definition of the page before; 0: none. */
  readonly after: number;
  readonly limit: number;
  /**
   * How long an unused definition is retained, in milliseconds: a caller that has found it uses it
   * within that time.
   */
  readonly keptMs: number;
}

/** Most rows of one table that one call removes: a run with a large map takes several calls. */
export const ROWS_FORGOTTEN_MAX = 5_000;

export interface Namespaces {
  setRetention(namespaceId: number, retentionMs: number | null, audit?: Audit): Promise<void>;
  setLimits(namespaceId: number, limits: NamespaceLimits, audit?: Audit): Promise<void>;
  setLogs(namespaceId: number, stored: boolean, audit?: Audit): Promise<void>;
  /** Namespaces with a limit, and those that do not store the lines of handlers. */
  limited(): Promise<readonly NamespaceUse[]>;
  /**
   * Estimates what the runs of each namespace take, unless it was done within the last `everyMs`.
   * Bounded: it reads a share of the blocks of large tables.
   */
  countStorage(everyMs: number): Promise<void>;
  /** Namespaces that do not retain their runs forever. */
  retained(): Promise<readonly { readonly namespaceId: number; readonly retentionMs: number }[]>;
  /**
   * Removes the runs of a page whose retention is over, with all their rows except their keys. Runs
   * that something still refers to stay: an open escalation, an open parent, or a trigger or a
   * webhook that has not been handled yet.
   */
  forgetRuns(of: OldRuns): Promise<ForgottenPage>;
  /**
   * Removes a run that has ended, with all that is stored of it, its key too. Of the audit, reasons
   * and details of entries about it are removed; the entry of the erasure names its workflow. A
   * large run takes several transactions: a call that failed may have removed a part, and is
   * repeated.
   */
  eraseRun(namespaceId: number, runId: RunId, audit: Audit): Promise<Erased>;
  /**
   * Removes an idempotency key that this shard has reserved for a run of another shard, and what
   * its inbox has under it.
   */
  forgetKey(namespaceId: number, key: string): Promise<void>;
  /**
   * Removes the definitions of a page that no version of a workflow and no run has used for so
   * long. `internDefinition` never returns a definition that is about to be removed. Returns where
   * the next page begins; null: at the first definition.
   */
  forgetDefinitions(of: UnusedDefinitions): Promise<number | null>;
}

/**
 * The call has found its namespace in a database that a fail-over has replaced: the new one does
 * not have it.
 */
export function namespaceDeleted(): DroverError {
  return failedOver("its namespace is no more");
}

/** The same of a definition that the call has stored, and is about to register. */
export function definitionDeleted(): DroverError {
  return failedOver("its definition is no more");
}
