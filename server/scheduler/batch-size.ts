// How much one batch may change. Its transaction is open while its passes are decided, and
// PostgreSQL ends a transaction that is idle for 2 s. A hundred maps of a thousand items that one
// call begins would always reach that limit. What does not fit waits for the next batch.

/** Effects after which a batch takes no further run. A map of 1,000 items makes a few thousand. */
const EFFECTS_MAX = 5_000;

export interface BatchSize {
  isFull(): boolean;
  add(effects: readonly unknown[]): void;
}

/** The first run is always taken, however large it is. */
export function batchSize(): BatchSize {
  let effects = 0;
  return {
    isFull: () => effects >= EFFECTS_MAX,
    add: (more) => {
      effects += more.length;
    },
  };
}

/** For batches that take all of their items. */
export const ANY_SIZE: BatchSize = Object.freeze({
  isFull: () => false,
  add: () => undefined,
});
