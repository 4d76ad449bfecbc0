// A store of which a test sees what its transactions do.
import type { Store, Tx } from "../../server/store/store.ts";

/** The store, with `watch` in place of what it names of each transaction. */
export function watchedStore(store: Store, watch: (tx: Tx) => Partial<Tx>): Store {
  return {
    ...store,
    // A copy of a transaction is made when its time is known: after the first answer.
    transact: (options, work) =>
      store.transact({ ...options, leadsWithLock: false, optimistic: false }, (tx) =>
        work({ ...tx, ...watch(tx) }),
      ),
  };
}
