// Names of the items of a map: `load[3]` is the fourth item of the map `load`. Ids of steps contain
// no brackets.

/** `at`: from 0. */
export function itemName(map: string, at: number): string {
  return `${map}[${at}]`;
}

export function isItemName(name: string): boolean {
  return name.endsWith("]");
}

/** `load[3]` as `load`; the id of a step as it is. */
export function withoutItem(name: string): string {
  return isItemName(name) ? name.slice(0, name.indexOf("[")) : name;
}
