// How long housekeeping retains data that no caller is expected to ask for again, in milliseconds.
import { AUDIT_RETENTION_MS } from "./audit.ts";

export interface Retention {
  readonly sessionMs: number;
  readonly pollerMs: number;
  /** Outcome counts of circuits: twice their window, as servers report up to a window late. */
  readonly circuitEndsMs: number;
  /** After the end of a run: the length of the chain of triggers that led to it. */
  readonly triggeredMs: number;
  /** A definition that no version of a workflow and no run uses. */
  readonly definitionMs: number;
  /**
   * Counts of runs and of failures. They are read for 24 hours from the start of an hour: for up to
   * 25 hours.
   */
  readonly runCountsMs: number;
  /** Entries of the audit. */
  readonly auditMs: number;
  /** How attempts of sessions ended, after the begin of their five minutes. */
  readonly attemptCountsMs: number;
  /** Lines that handlers have logged. */
  readonly logMs: number;
}

export const RETENTION_DEFAULT: Retention = Object.freeze({
  sessionMs: 600_000,
  pollerMs: 300_000,
  circuitEndsMs: 120_000,
  triggeredMs: 86_400_000,
  definitionMs: 86_400_000,
  runCountsMs: 26 * 3_600_000,
  auditMs: AUDIT_RETENTION_MS,
  attemptCountsMs: 3_600_000,
  logMs: 7 * 86_400_000,
});

/**
 * Parts of the housekeeping that have failed, by name, with the error. The parts are independent: a
 * part that is in this map is skipped, and a part that fails now is added.
 */
export type Failures = Map<string, unknown>;
