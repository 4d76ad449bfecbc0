// What was learned of durations, as the .sql statements keep it.
import type { Durations, DurationsKey, SeenDurations } from "../durations.ts";
import { type Quantiles, quantilesOfSamples, type Samples, withMore } from "../sketch.ts";

interface Kept extends DurationsKey {
  readonly samples: Samples;
  readonly quantiles: Quantiles;
}

/** `isVersion`: the definition is a version of a workflow. */
export function createDurations(isVersion: (definitionId: number) => boolean): Durations {
  const rows = new Map<string, Kept>();
  return Object.freeze({
    async add(seen: readonly SeenDurations[]) {
      for (const one of seen.filter(({ definitionId }) => isVersion(definitionId))) {
        const { definitionId, step, sketch } = one;
        const key = `${definitionId}/${step}`;
        const samples = withMore(rows.get(key)?.samples ?? null, sketch);
        rows.set(key, { definitionId, step, samples, quantiles: quantilesOfSamples(samples) });
      }
    },
    async learned(definitionIds: readonly number[]) {
      return [...rows.values()]
        .filter(({ definitionId }) => definitionIds.includes(definitionId))
        .sort((a, b) => a.definitionId - b.definitionId || a.step - b.step)
        .map(({ definitionId, step, quantiles }) => ({ definitionId, step, ...quantiles }));
    },
  } satisfies Durations);
}
