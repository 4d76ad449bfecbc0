// A store of which a test sees what its transactions do.
import type { Store, Tx } from "../../server/store/store.ts";

/** The store, with `watch` in place of what it names of each transaction. */
export function watchedStore(store: Store, watch: (tx: Tx) => Partial<Tx>): Store {
  return {
    ...store,
    // Not leading: a copy of a transaction is made when its time is known.
    transact: (options, work) =>
      store.transact({ ...options, leadsWithLock: false }, (tx) => work({ ...tx, ...watch(tx) })),
  };
}
