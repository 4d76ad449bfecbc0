// Which partitions a node takes and which it hands back: a pure function of what it sees. There is
// no leader. Each node computes the same preference: rendezvous hashing over the live nodes that
// watch the region or, where only standbys do, the standby that joined first. If two nodes disagree
// for a moment, the lock decides.
import { regionOf } from "../store/partition.ts";
import type { LiveNode } from "../store/partition-session.ts";

/** A free partition that another node should have is taken after this time all the same. */
const FREE_MS = 500;
/**
 * A partition that this node has just handed back is left this long to the node that should have
 * it.
 */
const HANDED_BACK_MS = 2_000;

export interface Seen {
  readonly me: LiveNode;
  /** In the order in which they joined. */
  readonly liveNodes: readonly LiveNode[];
  /** Those of the regions that this node watches. */
  readonly partitions: readonly number[];
  readonly owned: ReadonlySet<number>;
  /** Free partitions, and for how long each has been free without a break, in milliseconds. */
  readonly freeForMs: ReadonlyMap<number, number>;
  readonly handedBack: ReadonlySet<number>;
  /** Most partitions to be handed back by this scan (`movesNow`). Taking is not limited. */
  readonly movesMax: number;
}

interface Assignment {
  readonly take: readonly number[];
  readonly handBack: readonly number[];
}

export function assign(seen: Seen): Assignment {
  const isSeen = seen.liveNodes.some(({ node }) => node === seen.me.node);
  const nodes = isSeen ? seen.liveNodes : [...seen.liveNodes, seen.me];
  const byRegion = new Map<number, readonly string[]>();
  const isMine = (partition: number): boolean => {
    const region = regionOf(partition);
    const entitled = byRegion.get(region) ?? entitledTo(nodes, region);
    byRegion.set(region, entitled);
    return preferred(entitled, partition) === seen.me.node;
  };
  const take = seen.partitions.filter((partition) => {
    const freeForMs = seen.freeForMs.get(partition);
    if (freeForMs === undefined || seen.owned.has(partition)) return false;
    if (isMine(partition)) return true;
    return freeForMs >= (seen.handedBack.has(partition) ? HANDED_BACK_MS : FREE_MS);
  });
  const handBack = [...seen.owned].filter((partition) => !isMine(partition));
  return { take, handBack: handBack.slice(0, seen.movesMax) };
}

/**
 * How many partitions a node may hand back, by the time since it last did. Nodes do not take turns
 * by an agreement: each leaves the others as much time as they might need.
 */
export function movesNow(
  liveNodes: readonly LiveNode[],
  sinceMs: number,
  perSecond: number,
): number {
  const watching = liveNodes.filter(({ regions }) => regions === null || regions.length > 0);
  const givers = Math.max(1, watching.length - 1);
  const due = Math.floor((sinceMs * perSecond) / (1_000 * givers));
  // At most half a second's worth at once: what is handed back has no owner for about as long.
  return Math.min(Math.ceil(perSecond / 2 / givers), due);
}

/** The nodes that share the partitions of a region. `nodes`: in the order in which they joined. */
function entitledTo(nodes: readonly LiveNode[], region: number): readonly string[] {
  const watching = nodes.filter(({ regions }) => regions === null || regions.includes(region));
  const active = watching.filter(({ standby }) => !standby);
  const sharing = active.length > 0 ? active : watching.slice(0, 1);
  return sharing.map(({ node }) => node).sort();
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

/** FNV-1a with a final mix: spreads short texts evenly. Only the balance depends on it. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  return (value ^ (value >>> 16)) >>> 0;
}
