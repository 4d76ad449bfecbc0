// One question for each lane that nobody polls, however many tasks wait there. Of passes that might
// ask, the one that has locked the lane sees whether a person has been asked already; the first of
// a flight may ask, and speaks for the others.
import type { RunEvent } from "../core/event.ts";
import { movingSide, type View } from "../core/model.ts";
import { plannedOf } from "../core/strategy.ts";
import type { PassRecord } from "../store/changes.ts";
import type { LanedPlan } from "../store/plans.ts";
import type { LaneQuestion } from "../store/queues.ts";
import type { RunHead, Tx } from "../store/store.ts";

interface Judging {
  readonly head: RunHead;
  readonly view: View;
  readonly laned: LanedPlan;
  readonly events: readonly { readonly event: RunEvent }[];
}

/** The events, with what is known of the lanes that they might ask about. */
export async function withQuestions<Judged extends Judging>(
  tx: Tx,
  loaded: readonly Judged[],
): Promise<readonly Judged[]> {
  const lanes = loaded.flatMap((one) =>
    one.events.flatMap(({ event }) => laneOf(one, event) ?? []),
  );
  if (lanes.length === 0) return loaded;
  const asked = new Set(await tx.lockLaneQuestions([...new Set(lanes)]));
  return loaded.map((one) => ({
    ...one,
    events: one.events.map((judged) => {
      const lane = laneOf(one, judged.event);
      if (lane === null || judged.event.kind !== "ready-moment") return judged;
      const event = { ...judged.event, asked: asked.has(lane) };
      asked.add(lane);
      return { ...judged, event };
    }),
  }));
}

/** The questions that these passes have asked. */
export function questionsOf(records: readonly PassRecord[]): readonly LaneQuestion[] {
  return records.flatMap(({ head: { runId }, before, effects, laneOf: of }) =>
    effects.flatMap((effect) => {
      if (effect.kind !== "escalated" || effect.reason !== "pickup") return [];
      const step = before.steps.get(effect.step);
      if (!step) return [];
      const { lane } = of(step.no, "perform", plannedOf(step));
      return [{ lane, runId, n: effect.n }];
    }),
  );
}

/** The lane that an event might ask about; null: it asks nothing. */
function laneOf({ view, laned: { plan, laneOf: of } }: Judging, event: RunEvent): number | null {
  if (event.kind !== "ready-moment" || event.polled) return null;
  const step = view.steps.get(event.step);
  const state = step && movingSide(step)?.state;
  if (!step || state?.kind !== "READY" || state.task !== "perform") return null;
  if (plan.steps[event.step]?.onPickup !== "escalate") return null;
  return of(event.step, "perform", plannedOf(step)).lane;
}
