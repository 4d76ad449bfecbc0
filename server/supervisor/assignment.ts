// Which partitions a node takes and which it hands back: a pure choice over what it sees. No
// leader: each node computes the same preference (rendezvous hashing over the live nodes), and
// where two disagree for a moment the lock arbitrates.

/** A free partition that another node should have is taken after so long all the same. */
const FREE_MS = 500;
/** One that we have just handed back is left to the node that we handed it back for. */
const HANDED_BACK_MS = 2_000;

export interface Seen {
  readonly me: string;
  readonly liveNodes: readonly string[];
  readonly partitions: readonly number[];
  readonly owned: ReadonlySet<number>;
  /** Free partitions, with how long they have been seen free in a row. */
  readonly freeForMs: ReadonlyMap<number, number>;
  readonly handedBack: ReadonlySet<number>;
  /** Partitions handed back in one look at most, so that a join moves a few each second. */
  readonly movesMax: number;
}

export interface Assignment {
  readonly take: readonly number[];
  readonly handBack: readonly number[];
}

export function assign(seen: Seen): Assignment {
  const nodes = [...new Set([...seen.liveNodes, seen.me])].sort();
  const take = seen.partitions.filter((partition) => {
    const freeForMs = seen.freeForMs.get(partition);
    if (freeForMs === undefined || seen.owned.has(partition)) return false;
    if (preferred(nodes, partition) === seen.me) return true;
    return freeForMs >= (seen.handedBack.has(partition) ? HANDED_BACK_MS : FREE_MS);
  });
  const handBack = [...seen.owned].filter((partition) => preferred(nodes, partition) !== seen.me);
  return { take, handBack: handBack.slice(0, seen.movesMax) };
}

/** The node with the highest hash for this partition. */
export function preferred(nodes: readonly string[], partition: number): string | null {
  let best: { node: string; score: number } | null = null;
  for (const node of nodes) {
    const score = hash(`${node}/${partition}`);
    if (!best || score > best.score) best = { node, score };
  }
  return best?.node ?? null;
}

/** FNV-1a with a final mix: spreads short texts evenly; nothing depends on it but balance. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  return (value ^ (value >>> 16)) >>> 0;
}
