// What a new run reuses of one in memory.

import { leavesEffect } from "../../server/core/model/strategy.ts";
import { type From, type ReusedStep, stepsToReuse } from "../../server/core/recovery/reuse.ts";
import type { World } from "./core-world.ts";

/** What a new run of this one reuses, and with it what the old one left to be undone. */
export function reusedOf(world: World, from: From, of = "old-run"): readonly ReusedStep[] {
  const { plan } = world;
  const steps = new Map(world.steps().map((step) => [step.no, step]));
  return [...stepsToReuse({ plan, steps }, plan, from)].flatMap(([no, was]): ReusedStep[] => {
    const step = steps.get(was);
    if (!step) return [];
    const { strategies, fence, forward } = step;
    const as = forward.kind === "SKIPPED" ? "SKIPPED" : "SUCCEEDED";
    const left = strategies.flatMap((one, index) => (leavesEffect(one) ? [index] : []));
    const inputs = new Map(left.map((index) => [index, null]));
    return [{ no, as, strategies, fence, output: null, inputs, of }];
  });
}
