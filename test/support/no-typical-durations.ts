/** Nothing was learned of durations, and nothing is. */
import type { TypicalDurations } from "../../server/scheduler/typical-durations.ts";

export const NO_TYPICAL_DURATIONS: TypicalDurations = Object.freeze({
  of: () => null,
  learned: async () => [],
  seen: () => undefined,
  save: async () => undefined,
});
