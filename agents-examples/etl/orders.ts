/** The orders of the story, partition by partition, and what goes wrong with some. */
import { type Fault, type Faults, scripted, shuffled } from "../stage/faults.ts";
import { createSeededRandom } from "../stage/seeded-random.ts";

export const run = "january-31";
const rowsPerPartition = 80;
/** Rows that are read and loaded at a time. */
export const pageSize = 5;

export const partitions: readonly string[] = Array.from(
  { length: 6 },
  (_, index) => `orders-${index + 1}`,
);

export interface Row {
  /** `orders-3/17` */
  readonly id: string;
  readonly cents: number;
}

export function rowsOf(seed: number, partition: string): readonly Row[] {
  const chance = createSeededRandom(`rows:${seed}:${partition}`);
  return Array.from({ length: rowsPerPartition }, (_, index) => {
    return { id: `${partition}/${index}`, cents: 100 + Math.floor(chance() * 50_000) };
  });
}

/** The partition whose file ends in the middle; no loader can read it. */
export function cutOff(seed: number): string {
  return shuffled(seed, partitions)[0] ?? "";
}

export function readable(seed: number): readonly string[] {
  return partitions.filter((partition) => partition !== cutOff(seed));
}

/** The line breaks after a page was loaded; or before, and the source is busy at the next try. */
export function faultsOf(seed: number): Faults {
  const fine = (pages: number): readonly Fault[] => Array(pages).fill("none");
  const [, one, other] = shuffled(seed, partitions);
  return scripted({
    [`warehouse/load ${one}`]: [...fine(4), "drop-after"],
    [`warehouse/load ${other}`]: [...fine(7), "drop-before"],
    [`source/read ${other}`]: [...fine(9), "busy"],
  });
}

export function centsOf(rows: readonly Row[]): number {
  return rows.reduce((sum, { cents }) => sum + cents, 0);
}
