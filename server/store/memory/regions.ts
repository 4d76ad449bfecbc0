// Regions: whether something of a region waits for its supervisor, and whether it has one.
import type { Unwatched } from "../../core/explain/explanation.ts";
import { partitionsOf, regionOf } from "../partition.ts";
import { scheduleTimers } from "./schedules.ts";
import { openRunsOf, type Tables } from "./tables.ts";

export interface RegionWorld {
  readonly tables: Tables;
  readonly regionNames: () => readonly string[];
  /** Nodes with a live session. */
  readonly live: () => readonly string[];
}

/** As the view region_use defines it; the inbox is always empty here. */
export function isUsed({ tables }: Pick<RegionWorld, "tables">, region: number): boolean {
  const isHere = ({ partition }: { readonly partition: number }) => regionOf(partition) === region;
  return (
    openRunsOf(tables).some(isHere) ||
    tables.outbox.all().some(isHere) ||
    tables.delivery.all().some((row) => isHere(row) && row.nextTryAt !== null) ||
    tables.triggerEnd.all().some(isHere) ||
    partitionsOf(region).some((partition) => scheduleTimers(tables, partition).length > 0)
  );
}

export function isOwned({ tables, live }: Omit<RegionWorld, "regionNames">, partition: number) {
  const node = tables.partitionLease.get(String(partition))?.node ?? null;
  return node !== null && live().includes(node);
}

/** null: the partition is watched. */
export function unwatchedOf(world: RegionWorld, partition: number): Unwatched | null {
  if (isOwned(world, partition)) return null;
  const region = regionOf(partition);
  const whole = !partitionsOf(region).some((one) => isOwned(world, one));
  return { region: world.regionNames()[region] ?? "", whole };
}
