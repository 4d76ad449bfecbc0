// The outputs of a map's items, gathered once, when it ends. Both stores find the rows; what they
// come to is said here.
import type { ItemOutputs } from "../core/items.ts";
import { itemOf } from "../core/step-key.ts";

/** All of them together, in bytes: as much as a payload may have unless it is told otherwise. */
export const OUTPUTS_BYTES_MAX = 256 * 1024;

export interface ItemOutput {
  readonly place: number;
  /** null: not JSON. */
  readonly json: string | null;
}

/** `bytes`: of all outputs together. */
export function itemOutputs(found: readonly ItemOutput[], bytes: number): ItemOutputs {
  if (bytes > OUTPUTS_BYTES_MAX) return { kind: "too-large" };
  const json = found.flatMap((one): [number, string][] =>
    one.json !== null && isJson(one.json) ? [[itemOf(one.place), one.json]] : [],
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
