// For how long housekeeping leaves what nobody may ask for again, in milliseconds.
export interface KeptFor {
  readonly sessionKeptMs: number;
  readonly pollerKeptMs: number;
  /** What circuits are judged by, twice their window: servers tell theirs up to a window late. */
  readonly circuitEndsKeptMs: number;
  /** After the end of a run: how many triggers stand behind it. */
  readonly triggeredKeptMs: number;
  /** A definition that no version of a workflow and no run has. */
  readonly definitionKeptMs: number;
  /** How many runs were accepted and ended in a minute. */
  readonly runCountsKeptMs: number;
}

export const KEPT_FOR_DEFAULT: KeptFor = Object.freeze({
  sessionKeptMs: 600_000,
  pollerKeptMs: 300_000,
  circuitEndsKeptMs: 120_000,
  triggeredKeptMs: 86_400_000,
  definitionKeptMs: 86_400_000,
  runCountsKeptMs: 86_400_000,
});

/**
 * Parts of the housekeeping that have failed, by name, and why. Each part is done by itself: one
 * that is in here is left out, and one that fails now is added.
 */
export type Failures = Map<string, unknown>;
