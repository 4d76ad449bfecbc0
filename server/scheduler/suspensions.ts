// When the lanes of a step could pass no task since it was first ready: its `total` timeout does
// not run meanwhile. For a step that has fallen back, the lanes of its earlier strategies count
// too.

import { mergedOutages, type Outage, outageMs } from "../core/model/circuit.ts";
import { isFinal, type Step, type View } from "../core/model/model.ts";
import { plannedOf } from "../core/model/strategy.ts";
import { planStep } from "../core/pass.ts";
import { hasExpression, type LanedPlan } from "../store/plans.ts";

export interface Suspensions {
  /** Outages of the lane that could still matter, in whole milliseconds. */
  outages(lane: number): readonly Outage[];
  /** false: no lane has had an outage, so there is nothing to compute. */
  hasSuspended(): boolean;
  /**
   * The lane in which a task of the definition waits that is sent to `lane`, a lane for all agents:
   * that of its pin, or `lane` itself.
   */
  pinnedTo(lane: number, of: { readonly workflow: string; readonly definitionId: number }): number;
}

export function withSuspensions(view: View, laned: LanedPlan, of: Suspensions): View {
  const found = new Map<number, readonly Outage[]>();
  for (const step of view.steps.values()) {
    const { firstReadyAt } = step;
    if (firstReadyAt === null || isFinal(step.forward)) continue;
    const { definitionId, plan } = laned;
    const known = { workflow: plan.workflow, definitionId };
    const lanes = new Set(lanesOf(laned, step).map((lane) => of.pinnedTo(lane, known)));
    const outages = [...lanes].flatMap((lane) => of.outages(lane));
    if (outageMs(outages, firstReadyAt, Number.POSITIVE_INFINITY) > 0)
      found.set(step.no, mergedOutages(outages));
  }
  return found.size === 0 ? view : { ...view, outages: found };
}

/** A queue that an expression names is not known here: the timeout runs during its outages. */
function lanesOf({ plan, laneOf }: LanedPlan, step: Step): readonly number[] {
  const { work } = planStep({ plan }, step.no);
  if (work.kind !== "task") return [];
  return work.strategies
    .slice(0, plannedOf(step) + 1)
    .flatMap(({ queue }, planned) =>
      hasExpression(queue) ? [] : [laneOf(step.no, "perform", planned).lane],
    );
}
