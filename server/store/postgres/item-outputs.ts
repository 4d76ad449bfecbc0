// What the items of maps have come to, for a pass that ends them.
import type { ItemOutputs } from "../../core/items.ts";
import { itemOutputs, OUTPUTS_BYTES_MAX } from "../item-outputs.ts";
import type { MapRef, RunId } from "../store.ts";
import { forwards } from "./codes.ts";
import { byRun, columns } from "./columns.ts";
import type { Query } from "./transaction.ts";

interface ItemOutputRow {
  run_id: RunId;
  map: number;
  no: number;
  output_json: string | null;
  bytes: number;
}

export async function loadItemOutputs(
  query: Query,
  maps: readonly MapRef[],
): Promise<ReadonlyMap<RunId, ReadonlyMap<number, ItemOutputs>>> {
  const rows = await query<ItemOutputRow>("item_outputs", [
    ...columns(
      maps,
      (one) => one.runId,
      (one) => one.map,
    ),
    forwards.code("SUCCEEDED"),
    OUTPUTS_BYTES_MAX,
  ]);
  return new Map(
    [...byRun(rows, (row) => row)].map(([runId, ofRun]) => {
      const ofMaps = Map.groupBy(ofRun, ({ map }) => map);
      return [runId, new Map([...ofMaps].map(([map, found]) => [map, outputsOf(found)]))];
    }),
  );
}

function outputsOf(rows: readonly ItemOutputRow[]): ItemOutputs {
  const found = rows.map(({ no, output_json: json }) => ({ place: no, json }));
  return itemOutputs(found, rows[0]?.bytes ?? 0);
}
