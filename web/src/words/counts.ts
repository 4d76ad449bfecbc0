// Numbers as text.

const grouped = new Intl.NumberFormat("en");

/** `12,345` */
export function numberWords(value: number | bigint): string {
  return grouped.format(value);
}

/** `1 run`, `12,345 runs` */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${numberWords(count)} ${Number(count) === 1 ? one : many}`;
}
