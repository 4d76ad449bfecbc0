// What was learned of durations, as the .sql statements keep it.
import type { Durations, DurationsKey, SeenDurations } from "../durations.ts";
import { type KeptSketch, keepMore, quantilesOf } from "../sketch.ts";

/** `isVersion`: the definition is a version of a workflow. */
export function createDurations(isVersion: (definitionId: number) => boolean): Durations {
  const rows = new Map<string, DurationsKey & { readonly kept: KeptSketch }>();
  return Object.freeze({
    async add(seen: readonly SeenDurations[]) {
      for (const one of seen.filter(({ definitionId }) => isVersion(definitionId))) {
        const { definitionId, step, sketch } = one;
        const key = `${definitionId}/${step}`;
        const kept = keepMore(rows.get(key)?.kept ?? null, sketch);
        rows.set(key, { definitionId, step, kept });
      }
    },
    async learned(definitionIds: readonly number[]) {
      return [...rows.values()]
        .filter(({ definitionId }) => definitionIds.includes(definitionId))
        .sort((a, b) => a.definitionId - b.definitionId || a.step - b.step)
        .map(({ definitionId, step, kept }) => ({ definitionId, step, ...quantilesOf(kept) }));
    },
  } satisfies Durations);
}
