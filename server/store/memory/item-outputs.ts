// The outputs of the items of maps, for a pass that ends the maps.
import type { ItemOutputs } from "../../core/model/items.ts";
import { itemOf, numberOf } from "../../core/model/step-key.ts";
import { type ItemOutput, itemOutputs } from "../item-outputs.ts";
import type { MapRef, RunId } from "../store.ts";
import { outputOf } from "./facts.ts";
import { stepsOf, type Tables } from "./tables.ts";

export function itemOutputsOf(
  tables: Tables,
  maps: readonly MapRef[],
): ReadonlyMap<RunId, ReadonlyMap<number, ItemOutputs>> {
  const found = new Map<RunId, Map<number, ItemOutputs>>();
  for (const ref of maps) {
    const outputs = outputsOf(tables, ref);
    if (outputs.length === 0) continue;
    const bytes = outputs.reduce((sum, { json }) => sum + Buffer.byteLength(json ?? ""), 0);
    const ofRun = found.get(ref.runId) ?? new Map();
    found.set(ref.runId, ofRun.set(ref.map, itemOutputs(outputs, bytes)));
  }
  return found;
}

function outputsOf(tables: Tables, { runId, map }: MapRef): readonly ItemOutput[] {
  return stepsOf(tables, runId)
    .filter(({ step: { no, forward } }) => {
      return itemOf(no) > 0 && numberOf(no) === map && forward.kind === "SUCCEEDED";
    })
    .flatMap((of) => {
      const output = outputOf(tables, runId, of);
      return output?.kind === "json" ? [{ place: of.step.no, json: output.json }] : [];
    });
}
