// Histories that are changed by hand, and the promises that the checker finds broken in them.
import { checkHistory } from "./checker/check-history.ts";
import type { Mutable } from "./damage.ts";
import { goodHistory } from "./good-history.ts";
import type { History } from "./history.ts";

export function changed(
  change: (history: Mutable<History>) => void,
  good: () => History = goodHistory,
): History {
  const history = structuredClone(good()) as Mutable<History>;
  change(history);
  return history as History;
}

export function brokenPromises(history: History): readonly string[] {
  return [...new Set(checkHistory(history).map(({ promise }) => promise))].sort();
}
