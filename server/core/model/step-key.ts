// The key of a step in its run: its number in the plan, and for an item of a map also the number of
// the item. Both are one number, so that data by step is also data by item.

/** More than the steps of a definition (500 at most). The view `step_view` has the same number. */
const NUMBERS = 512;

/** Most items of a map. */
export const ITEMS_MAX = 10_000;

/** `item`: from 1; 0 is the step itself. */
export function stepKeyOf(no: number, item: number): number {
  return no + NUMBERS * item;
}

/** The number of the step in its plan. */
export function numberOf(stepKey: number): number {
  return stepKey % NUMBERS;
}

/** The number of an item of a map, from 1; 0: the step itself. */
export function itemOf(stepKey: number): number {
  return Math.floor(stepKey / NUMBERS);
}
