// A lane that no agent polls leads to one escalation, however many tasks wait there. A pass that
// may open it locks the lane, and sees whether a person was asked already. The first pass of a
// batch that may ask does so for all others.
import type { RunEvent } from "../core/model/event.ts";
import { movingSide, type View } from "../core/model/model.ts";
import { plannedOf } from "../core/model/strategy.ts";
import { plannedTask, planStepAt } from "../core/plan/plan.ts";
import type { PassRecord } from "../store/pass-record.ts";
import { hasExpression, type LanedPlan } from "../store/plans.ts";
import type { LaneQuestion } from "../store/queues.ts";
import type { RunHead, Tx } from "../store/store.ts";

interface Evaluating {
  readonly head: RunHead;
  readonly view: View;
  readonly laned: LanedPlan;
  readonly events: readonly { readonly event: RunEvent }[];
}

/** The events, with whether a person was already asked about their lanes. */
export async function withQuestions<Run extends Evaluating>(
  tx: Tx,
  loaded: readonly Run[],
): Promise<readonly Run[]> {
  const lanes = loaded.flatMap((one) =>
    one.events.flatMap(({ event }) => laneOf(one, event) ?? []),
  );
  if (lanes.length === 0) return loaded;
  const asked = new Set(await tx.lockLaneQuestions([...new Set(lanes)]));
  return loaded.map((one) => ({
    ...one,
    events: one.events.map((evaluated) => {
      const lane = laneOf(one, evaluated.event);
      if (lane === null || evaluated.event.kind !== "ready-timer") return evaluated;
      const event = { ...evaluated.event, asked: asked.has(lane) };
      asked.add(lane);
      return { ...evaluated, event };
    }),
  }));
}

/** The escalations that these passes have opened about the lanes of their events. */
export function questionsOf(
  evaluated: readonly Evaluating[],
  records: readonly PassRecord[],
): readonly LaneQuestion[] {
  return records.flatMap(({ head: { runId }, effects }) => {
    return effects.flatMap((effect) => {
      if (effect.kind !== "escalated" || effect.reason !== "pickup") return [];
      const of = evaluated.find(({ head }) => head.runId === runId);
      const event = of?.events.find((one) => "step" in one.event && one.event.step === effect.step);
      const lane = of && event ? laneOf(of, event.event) : null;
      return lane === null ? [] : [{ lane, runId, n: effect.n }];
    });
  });
}

/**
 * The lane that an event may ask about; null: it asks nothing, or the queue is named by an
 * expression.
 */
function laneOf({ view, laned: { plan, laneOf: of } }: Evaluating, event: RunEvent): number | null {
  if (event.kind !== "ready-timer" || event.polled) return null;
  const step = view.steps.get(event.step);
  const state = step && movingSide(step)?.state;
  if (!step || state?.kind !== "READY" || state.task !== "perform") return null;
  const planned = planStepAt(plan, event.step);
  if (planned?.onPickup !== "escalate") return null;
  if (hasExpression(plannedTask(planned, "perform", plannedOf(step)).queue)) return null;
  return event.lane ?? of(event.step, "perform", plannedOf(step)).lane;
}
