// Fencing: the events of a supervisor that no longer owns their partition are refused. A batch
// locks the writer row of each supervisor that it acts for, and the same statement reads what its
// node still owns (docs/ARCHITECTURE.md, "Partition ownership").

import type { TakenPartition } from "../store/partition-session.ts";
import type { Actor } from "../store/pass-record.ts";
import type { Tx } from "../store/store.ts";

interface Acting {
  readonly actor: Actor | null;
}

/**
 * Items whose supervisor does not own their partition in the epoch in which it acts. Items without
 * an actor are never among them. `number`: the writer number; batches that are in flight at the
 * same time have different ones.
 */
export async function fencedOf<Item extends Acting>(
  tx: Pick<Tx, "holdWriter">,
  items: readonly Item[],
  number: number,
  partitionOf: (item: Item) => number,
): Promise<ReadonlySet<Item>> {
  const acting = items.flatMap((item) =>
    item.actor ? [{ item, ...item.actor, partition: partitionOf(item) }] : [],
  );
  const fenced = new Set<Item>();
  const byNode = [...Map.groupBy(acting, ({ node }) => node)];
  for (const [node, of] of byNode.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const taken = [...new Map(of.map((one) => [keyOf(one), one])).values()];
    const owned = await tx.holdWriter({ node, number }, taken);
    const isOwned = new Set(owned.map(keyOf));
    for (const one of of) if (!isOwned.has(keyOf(one))) fenced.add(one.item);
  }
  return fenced;
}

const keyOf = ({ partition, epoch }: TakenPartition): string => `${partition}/${epoch}`;
