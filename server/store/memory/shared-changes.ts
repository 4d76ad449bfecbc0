// Changes of the rows that all shards share. The first shard makes them, in a transaction of the
// shared tables; then each shard makes what follows for its own rows, in a transaction of its own.
// So once a change is over, each transaction that had begun before it is over too. A store that is
// one shard does both in one transaction.
//
// What follows depends on the shared rows as they are then, never on what this change wanted: two
// changes at once end alike in every shard.
import type { Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

/** A shard as a change of shared rows sees it. */
export interface ShardRows {
  readonly number: number;
  readonly tables: Tables;
  readonly transactions: Transactions;
}

type Follow<F> = (rows: ShardRows, transaction: number) => F;

export interface SharedChanges {
  /** Only shared rows. */
  run<T>(change: () => T): Promise<T>;
  /** What follows is in the order of the shards. */
  runEverywhere<T, F>(
    change: () => T,
    follow: Follow<F>,
  ): Promise<{ readonly changed: T; readonly followed: readonly F[] }>;
  /** Beside the open transaction (transactions.ts). */
  runConcurrently: Transactions["runConcurrently"];
}

/** `shared`: the transactions of the shared tables; those of the shard, if there is only one. */
export function createSharedChanges(
  shared: Transactions,
  shards: readonly ShardRows[],
): SharedChanges {
  const [only] = shards;
  const isOne = shards.length === 1;
  return Object.freeze({
    run: (change) => shared.run(change),
    async runEverywhere<T, F>(change: () => T, follow: Follow<F>) {
      if (isOne && only)
        return shared.run((number) => ({ changed: change(), followed: [follow(only, number)] }));
      const changed = await shared.run(change);
      const followed = shards.map((rows) =>
        rows.transactions.run((number) => follow(rows, number)),
      );
      return { changed, followed: await Promise.all(followed) };
    },
    runConcurrently: shared.runConcurrently,
  } satisfies SharedChanges);
}

/** Of a shard that is not the first: it finds out what was sent to it by mistake. */
export function noSharedChanges(number: number): SharedChanges {
  const refuse = async (): Promise<never> => {
    throw new Error(`shard ${number} was to change what all shards share: only the first one does`);
  };
  return Object.freeze({ run: refuse, runEverywhere: refuse, runConcurrently: refuse });
}
