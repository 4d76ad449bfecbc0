// How long circuits of a step's lanes have been open since it was first ready: its `total` stands
// still meanwhile. Of a step that has fallen back, also those of the lanes before.

import type { EpochMs } from "../core/attempt.ts";
import { isFinal, type Step, type View } from "../core/model.ts";
import { planStep } from "../core/pass.ts";
import { plannedOf } from "../core/strategy.ts";
import { hasExpression, type LanedPlan } from "../store/plans.ts";

export interface Suspensions {
  /** How long nothing of the lane went through since then, in milliseconds. */
  suspendedMs(lane: number, since: EpochMs): number;
  /** false: of no lane, so nobody needs to ask. */
  hasSuspended(): boolean;
  /** Where tasks of a definition stand that are sent to this lane, if a pin says another. */
  pinnedTo(lane: number, of: { readonly workflow: string; readonly definitionId: number }): number;
}

export function withSuspensions(view: View, laned: LanedPlan, of: Suspensions): View {
  if (!of.hasSuspended()) return view;
  const suspendedMs = new Map<number, number>();
  for (const step of view.steps.values()) {
    const { firstReadyAt } = step;
    if (firstReadyAt === null || isFinal(step.forward)) continue;
    const { definitionId, plan } = laned;
    const known = { workflow: plan.workflow, definitionId };
    const lanes = new Set(lanesOf(laned, step).map((lane) => of.pinnedTo(lane, known)));
    const ms = [...lanes].reduce((sum, lane) => sum + of.suspendedMs(lane, firstReadyAt), 0);
    if (ms > 0) suspendedMs.set(step.no, ms);
  }
  return suspendedMs.size === 0 ? view : { ...view, suspendedMs };
}

/** A queue that expressions name is not known here: circuits of it take time. */
function lanesOf({ plan, laneOf }: LanedPlan, step: Step): readonly number[] {
  const { work } = planStep({ plan }, step.no);
  if (work.kind !== "task") return [];
  return work.strategies
    .slice(0, plannedOf(step) + 1)
    .flatMap(({ queue }, planned) =>
      hasExpression(queue) ? [] : [laneOf(step.no, "perform", planned).lane],
    );
}
