/**
 * A fixed set of seeds: under all their faults every promise holds, and after the faults every run
 * ends or waits for a person. More: `npm run simulate`.
 */
import { expect, test } from "vitest";
import { FAULT_KINDS } from "./faults.ts";
import { historyText } from "./history.ts";
import { simulate } from "./simulate.ts";

/** A seed that has found something becomes a scenario (scenarios/): its world changes with ours. */
const SEEDS = Array.from({ length: 40 }, (_, index) => 1 + index);

/** A bound for busy machines: 40 seeds take some 15 s on two idle cores. */
const TIMEOUT_MS = 300_000;

test(
  "every promise holds in each of the fixed seeds, and every kind of fault happens",
  async () => {
    const happened = new Set<string>();
    for (const seed of SEEDS) {
      const { violations, runs, faults } = await simulate(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
      expect(runs).toBeGreaterThanOrEqual(20);
      for (const kind of faults.keys()) happened.add(kind);
    }
    expect(FAULT_KINDS.filter((kind) => !happened.has(kind))).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "one seed gives one history, to the byte",
  async () => {
    for (const seed of [3, 5, 8]) {
      const first = await simulate(seed);
      const second = await simulate(seed);
      expect(historyText(second.history) === historyText(first.history)).toBe(true);
    }
  },
  TIMEOUT_MS,
);

test("another seed gives another history", async () => {
  const first = await simulate(3);
  const second = await simulate(4);
  expect(historyText(second.history) === historyText(first.history)).toBe(false);
});
