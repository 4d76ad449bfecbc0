// Lists of numbers within a page, each of which has a usual value at each place.

type Values = readonly (number | null)[];

/** Values at the end that are as usual are left out. */
export function encodeShort(values: Values, usual: Values): string {
  const last = values.findLastIndex((value, at) => value !== usual[at]);
  return `[${values
    .slice(0, last + 1)
    .map(String)
    .join(",")}]`;
}
