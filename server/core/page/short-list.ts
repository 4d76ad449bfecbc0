// Lists of numbers within a page that have a standard value at each index.

type Values = readonly (number | null)[];

/** Values at the end that equal the standard are left out. */
export function encodeShort(values: Values, standard: Values): string {
  let end = values.length;
  while (end > 0 && values[end - 1] === standard[end - 1]) end--;
  let text = "";
  for (let at = 0; at < end; at++) text += at === 0 ? values[at] : `,${values[at]}`;
  return `[${text}]`;
}
