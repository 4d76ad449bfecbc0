/** What of a run's steps a test loads. */
import type { StepsToLoad } from "../../server/core/model/event.ts";
import { stepKeyOf } from "../../server/core/model/step-key.ts";
import type { Plan } from "../../server/core/plan/plan.ts";

/** More than the maps of the tests have. */
const ITEMS = 20;

/** Every step, and the items that are not done for good. */
export const WHOLE_RUN: StepsToLoad = { whole: true, places: [], undoing: [] };

/** Every step, and every item of every map. */
export function everyRow({ steps }: Plan): StepsToLoad {
  const maps = steps.filter(({ work }) => work.kind === "map");
  const items = Array.from({ length: ITEMS }, (_, index) => index + 1);
  const places = maps.flatMap(({ no }) => items.map((item) => stepKeyOf(no, item)));
  return { whole: true, places, undoing: [] };
}

export function named(...places: readonly number[]): StepsToLoad {
  return { whole: false, places, undoing: [] };
}
