// The outputs of a map's items, collected once, when the map ends. Each store finds the rows; this
// module decides what the map gets from them.
import type { ItemOutputs } from "../core/model/items.ts";
import { itemOf } from "../core/model/step-key.ts";

/** Most bytes of all outputs together: the default limit of one payload. */
export const OUTPUTS_BYTES_MAX = 256 * 1024;

export interface ItemOutput {
  readonly stepKey: number;
  /** null: the output is not JSON. */
  readonly json: string | null;
}

/** `bytes`: the size of all outputs together. */
export function itemOutputs(found: readonly ItemOutput[], bytes: number): ItemOutputs {
  if (bytes > OUTPUTS_BYTES_MAX) return { kind: "too-large" };
  const json = found.flatMap((one): [number, string][] =>
    one.json !== null && isJson(one.json) ? [[itemOf(one.stepKey), one.json]] : [],
  );
  return { kind: "all", json: new Map(json) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
