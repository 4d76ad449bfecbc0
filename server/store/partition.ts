// Partitions are shares of the runs of a region. The pair (region, 0..255) is stored as one small
// integer.

export const PARTITIONS_PER_REGION = 256;
/** Most regions: the numbers of their partitions have to fit into a smallint. */
export const REGIONS_MAX = 128;

/** The partition of a run: within its region by the last byte of its id, which is random. */
export function partitionOf(region: number, runId: string): number {
  return region * PARTITIONS_PER_REGION + Number.parseInt(runId.slice(-2), 16);
}

export function regionOf(partition: number): number {
  return Math.floor(partition / PARTITIONS_PER_REGION);
}

export function partitionsOf(region: number): readonly number[] {
  return Array.from(
    { length: PARTITIONS_PER_REGION },
    (_, place) => partitionOf(region, "00") + place,
  );
}
