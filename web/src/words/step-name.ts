// Names of steps and of items of maps, as the API writes them. Ids of steps contain no brackets.

interface StepPlace {
  readonly step: string;
  /** Of a map, from 0; null: the step itself. */
  readonly item: number | null;
}

/** `load[3]` is the item 3 of `load`. */
export function placeOf(name: string): StepPlace {
  const [, step, item] = /^(.+)\[(\d+)\]$/.exec(name) ?? [];
  return step === undefined ? { step: name, item: null } : { step, item: Number(item) };
}
