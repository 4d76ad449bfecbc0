// For how long housekeeping leaves what nobody may ask for again, in milliseconds.
export interface Retention {
  readonly sessionMs: number;
  readonly pollerMs: number;
  /**
   * What circuits are evaluated by, twice their window: servers tell theirs up to a window late.
   */
  readonly circuitEndsMs: number;
  /** After the end of a run: how many triggers stand behind it. */
  readonly triggeredMs: number;
  /** A definition that no version of a workflow and no run has. */
  readonly definitionMs: number;
  /** How many runs were accepted and ended in a minute. */
  readonly runCountsMs: number;
}

export const RETENTION_DEFAULT: Retention = Object.freeze({
  sessionMs: 600_000,
  pollerMs: 300_000,
  circuitEndsMs: 120_000,
  triggeredMs: 86_400_000,
  definitionMs: 86_400_000,
  runCountsMs: 86_400_000,
});

/**
 * Parts of the housekeeping that have failed, by name, and why. Each part is done by itself: one
 * that is in here is left out, and one that fails now is added.
 */
export type Failures = Map<string, unknown>;
