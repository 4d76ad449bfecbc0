/** Nothing was learned of durations, and nothing is. */
import type { UsualDurations } from "../../server/scheduler/usual-durations.ts";

export const NOTHING_USUAL: UsualDurations = Object.freeze({
  of: () => null,
  learned: async () => [],
  seen: () => undefined,
  save: async () => undefined,
});
