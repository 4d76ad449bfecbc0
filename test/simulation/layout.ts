// Who watches what in a seed: every server everything, each region its own servers, or one server
// with a standby behind it.

import { partitionOf } from "../../server/store/partition.ts";
import type { Supervision } from "../../server/supervisor/ownership.ts";
import type { Chance } from "../../simulator/chance.ts";
import type { Watcher } from "./history.ts";

/** Of each region; ids end so that no others come about. */
export const PARTITIONS_PER_REGION = 8;
const SOUTH = "south";
const SPLIT_SHARE = 0.3;
const STANDBY_SHARE = 0.3;

export interface Layout {
  /** The region of the second namespace. */
  readonly region: string;
  readonly partitions: readonly number[];
  /** By the index of the server. */
  readonly supervision: readonly Supervision[];
}

const ALL: Supervision = { regions: null, standby: false };

export function drawLayout(chance: Chance): Layout {
  const draw = chance.fraction();
  if (draw < SPLIT_SHARE) {
    const north = { regions: [0], standby: false };
    const south = { regions: [1], standby: false };
    return of(2, SOUTH, [north, south, chance.pick([ALL, north, south])]);
  }
  if (draw < SPLIT_SHARE + STANDBY_SHARE) {
    const standby = { regions: null, standby: true };
    return of(1, "default", [ALL, standby, { regions: [], standby: false }]);
  }
  const isSplit = chance.happens(0.3);
  return of(isSplit ? 2 : 1, isSplit ? SOUTH : "default", [ALL, ALL, ALL]);
}

function of(regions: number, region: string, supervision: readonly Supervision[]): Layout {
  const partitions = Array.from({ length: regions }, (_, id) =>
    Array.from({ length: PARTITIONS_PER_REGION }, (__, permit) => partitionOf(id, "00") + permit),
  );
  return { region, partitions: partitions.flat(), supervision };
}

export function watcherOf(server: string, supervision: Supervision = ALL): Watcher {
  return { server, ...supervision };
}
