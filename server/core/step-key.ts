// Where a step stands in its run: its number in the plan, and for an item of a map also the item's.
// Both are one number, so whatever is kept by step is kept by item just the same.

/** More than a definition has steps (500 at most). `step_view` says the same. */
const NUMBERS = 512;

/** The items of a map that one definition may ask for. */
export const ITEMS_MAX = 10_000;

/** `item`: from 1; 0 is the step itself. */
export function stepKeyOf(no: number, item: number): number {
  return no + NUMBERS * item;
}

/** The number of the step in its plan. */
export function numberOf(place: number): number {
  return place % NUMBERS;
}

/** Which item of a map it is, from 1; 0: none, the step itself. */
export function itemOf(place: number): number {
  return Math.floor(place / NUMBERS);
}
