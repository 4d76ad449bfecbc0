// Learned durations in memory, as the .sql statements store them.
import type { Durations, DurationsKey, SeenDurations } from "../durations.ts";
import { type Quantiles, quantilesOfSamples, type Samples, withMore } from "../sketch.ts";
import { createTable, type Table } from "./table.ts";
import type { Journal, Transactions } from "./transactions.ts";

interface DurationRow extends DurationsKey {
  readonly samples: Samples;
  readonly quantiles: Quantiles;
}

export interface DurationTables {
  readonly duration: Table<DurationRow, "definition">;
}

export function createTablesOfDurations(journal: Journal): DurationTables {
  return {
    duration: createTable<DurationRow, "definition">(journal, {
      name: "duration",
      key: durationKey,
      indexes: { definition: (row) => row.definitionId },
    }),
  };
}

function durationKey({ definitionId, step }: DurationsKey): string {
  return `${definitionId}/${step}`;
}

/** `isVersion`: the definition is a version of a workflow. */
export function createDurations(
  { duration }: DurationTables,
  isVersion: (definitionId: number) => boolean,
  { run }: Transactions,
): Durations {
  return Object.freeze({
    add: (seen: readonly SeenDurations[]) =>
      run(() => {
        for (const { definitionId, step, sketch } of seen) {
          if (!isVersion(definitionId)) continue;
          const known = duration.get(durationKey({ definitionId, step }));
          const samples = withMore(known?.samples ?? null, sketch);
          duration.put({ definitionId, step, samples, quantiles: quantilesOfSamples(samples) });
        }
      }),
    learned: (definitionIds: readonly number[]) =>
      run(() =>
        [...new Set(definitionIds)]
          .flatMap((definitionId) => duration.where("definition", definitionId))
          .sort((a, b) => a.definitionId - b.definitionId || a.step - b.step)
          .map(({ definitionId, step, quantiles }) => ({ definitionId, step, ...quantiles })),
      ),
  } satisfies Durations);
}
