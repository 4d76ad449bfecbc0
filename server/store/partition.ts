// Partitions are shares of the runs of a region. The pair (region, 0..255) is stored as one small
// integer.

export const PARTITIONS_PER_REGION = 256;
/** Most regions: the numbers of their partitions have to fit into a smallint. */
export const REGIONS_MAX = 128;

/** Most shards of a store; a power of 2, as their number is, so each has as many partitions. */
export const SHARDS_MAX = 64;

/** The partition of a run: within its region by the last byte of its id, which is random. */
export function partitionOf(region: number, runId: string): number {
  return region * PARTITIONS_PER_REGION + Number.parseInt(runId.slice(-2), 16);
}

export function regionOf(partition: number): number {
  return Math.floor(partition / PARTITIONS_PER_REGION);
}

/** Its number within its region. */
export function placeOf(partition: number): number {
  return partition % PARTITIONS_PER_REGION;
}

export function partitionsOf(region: number): readonly number[] {
  return Array.from(
    { length: PARTITIONS_PER_REGION },
    (_, place) => partitionOf(region, "00") + place,
  );
}

/** A shard of a store with so many. */
export interface ShardNumber {
  readonly number: number;
  readonly count: number;
}

export const ONLY_SHARD: ShardNumber = Object.freeze({ number: 0, count: 1 });

/** Whether the run is one of this shard. */
export function isInShard({ number, count }: ShardNumber = ONLY_SHARD, runId: string): boolean {
  return shardOf(partitionOf(0, runId), count) === number;
}

/** The shard that stores a partition. That of a run needs no look-up of its region. */
export function shardOf(partition: number, shards: number): number {
  return partition % shards;
}
