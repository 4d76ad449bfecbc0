// Partitions are (region, 0..255): one of the shares of all runs, as one small integer.

export const PARTITIONS_PER_REGION = 256;
/** What a smallint holds. */
export const REGIONS_MAX = 128;

/** The partition of a run: its region's share by the last byte of its id, which is random. */
export function partitionOf(region: number, runId: string): number {
  return region * PARTITIONS_PER_REGION + Number.parseInt(runId.slice(-2), 16);
}

export function regionOf(partition: number): number {
  return Math.floor(partition / PARTITIONS_PER_REGION);
}

/** Every partition of a region. */
export function partitionsOf(region: number): readonly number[] {
  return Array.from(
    { length: PARTITIONS_PER_REGION },
    (_, slot) => partitionOf(region, "00") + slot,
  );
}
