// How much one batch may change. Its transaction is open while its passes are decided, and
// PostgreSQL ends one that is idle for 2 s: a hundred maps of a thousand items, begun by one call,
// would never get past it. What is over waits for the next batch.

/** Effects after which a batch takes no further run. A map of 1,000 items makes some thousands. */
const EFFECTS_MAX = 5_000;

export interface BatchSize {
  isFull(): boolean;
  add(effects: readonly unknown[]): void;
}

/** A first run is always taken, however large it is. */
export function batchSize(): BatchSize {
  let effects = 0;
  return {
    isFull: () => effects >= EFFECTS_MAX,
    add: (more) => {
      effects += more.length;
    },
  };
}

/** For batches that take all they have. */
export const ANY_SIZE: BatchSize = Object.freeze({
  isFull: () => false,
  add: () => undefined,
});
