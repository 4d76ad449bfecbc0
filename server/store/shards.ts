// A store may be divided into shards, each with the partitions of one remainder (shardOf). A
// transaction is within one shard. A shard is a schema with all tables that runs need, on a node of
// its own; a store on plain PostgreSQL is one shard.
import { partitionOf, SHARDS_MAX, shardOf } from "./partition.ts";
import type { RunId } from "./run-head.ts";

/** What exists once for each shard, in the order of their numbers. */
export interface Shards<T> {
  readonly all: readonly T[];
  /** The first shard. It also has what a cluster has once, such as the state of circuits. */
  readonly home: T;
  /** The shard of this partition. */
  of(partition: number): T;
  /** The shard of this run, which follows from its id alone, whatever its region. */
  ofRun(runId: RunId): T;
  map<U>(make: (one: T, number: number) => U): Shards<U>;
}

/** Throws RangeError unless their number is a power of 2 up to SHARDS_MAX. */
export function shardsOf<T>(all: readonly T[]): Shards<T> {
  const [home] = all;
  if (home === undefined || SHARDS_MAX % all.length !== 0)
    throw new RangeError(`${all.length} shards: their number is a power of 2 up to ${SHARDS_MAX}`);
  return Object.freeze({
    all,
    home,
    of: (partition: number) => all[shardOf(partition, all.length)] ?? home,
    ofRun: (runId: RunId) => all[shardOf(partitionOf(0, runId), all.length)] ?? home,
    map: <U>(make: (one: T, number: number) => U) => shardsOf(all.map(make)),
  });
}
