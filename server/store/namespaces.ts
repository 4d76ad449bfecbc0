// What a namespace may take, and for how long its runs are kept after their end.
//
// Limits are evaluated in memory, by what `limited` said last and what has begun here since. Runs
// that have ended go in pages by their ids, with all that is of them: nobody can lock what has
// ended but whoever removes it, so two that remove at once only find less to do.
import type { Rate } from "../core/limits.ts";
import { type DroverError, failedOver } from "../errors.ts";
import type { RunId } from "./run-head.ts";

export interface NamespaceLimits {
  /** Runs that have not ended; null, as of the others: any number. */
  readonly openRunsMax: number | null;
  /** Runs that begin. */
  readonly rate: Rate | null;
  /** Of one payload; null: what the server allows. */
  readonly payloadBytesMax: number | null;
}

export const NO_LIMITS: NamespaceLimits = Object.freeze({
  openRunsMax: null,
  rate: null,
  payloadBytesMax: null,
});

export interface NamespaceSettings {
  /** How long a run is kept after its end, in milliseconds; null: for ever. */
  readonly retentionMs: number | null;
  readonly limits: NamespaceLimits;
}

/** A namespace with limits, and what it has now. */
export interface NamespaceUse {
  readonly namespaceId: number;
  readonly name: string;
  readonly limits: NamespaceLimits;
  /** Counted up to its limit, and only where it has one. */
  readonly openRuns: number;
}

/** A page of runs, by their ids. */
export interface OldRuns {
  readonly namespaceId: number;
  /** After their end. */
  readonly keptMs: number;
  /** The last one of the page before. */
  readonly after: RunId | null;
  readonly limit: number;
}

/** `more`: there is a page behind `after`, or something is left of this one. */
export interface ForgottenPage {
  readonly after: RunId | null;
  readonly more: boolean;
}

/** A page of definitions of all namespaces, by their ids. */
export interface UnusedDefinitions {
  /** The last one of the page before; 0: none. */
  readonly after: number;
  readonly limit: number;
  /** How long one stays that nothing uses: whoever has found it uses it within that time. */
  readonly keptMs: number;
}

/** Rows of one table that one call removes: a run with a large map goes in several. */
export const ROWS_FORGOTTEN_MAX = 5_000;

export interface Namespaces {
  setRetention(namespaceId: number, retentionMs: number | null): Promise<void>;
  setLimits(namespaceId: number, limits: NamespaceLimits): Promise<void>;
  /** Those with a limit. */
  limited(): Promise<readonly NamespaceUse[]>;
  /** Those whose runs go. */
  retained(): Promise<readonly { readonly namespaceId: number; readonly retentionMs: number }[]>;
  /**
   * Removes those of a page whose time is over, with all that is of them but their keys. Those
   * stay which somebody still asks about: an open escalation, an open parent, a trigger or a
   * webhook that is still to be told.
   */
  forgetRuns(of: OldRuns): Promise<ForgottenPage>;
  /**
   * Removes definitions of a page that no version of a workflow and no run has had for so long.
   * `internDefinition` never returns one that is about to go. Returns where the next page begins;
   * null: at the first definition.
   */
  forgetDefinitions(of: UnusedDefinitions): Promise<number | null>;
}

/** A call has found its namespace in a database that is no more: the new one does not know it. */
export function namespaceDeleted(): DroverError {
  return failedOver("its namespace is no more");
}
