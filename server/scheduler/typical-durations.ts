// How long attempts at a step take. Successful attempts of this server are measured here, added to
// the store once a minute, and read back for the definitions that are in use. No call waits for
// that: a step whose duration is not known yet has no slow attempts.
import { itemOf, numberOf, stepKeyOf } from "../core/model/step-key.ts";
import {
  type SlowLimits,
  type TypicalDuration,
  typicalDurationOf,
} from "../core/model/typical-duration.ts";
import type { Durations, LearnedDurations, SeenDurations } from "../store/durations.ts";
import type { PassRecord } from "../store/pass-record.ts";
import { createSketch } from "../store/sketch.ts";

/** Steps that are measured between two saves. Further ones are not counted. */
const STEPS_MAX = 1_000;
/** Definitions that are known here. The one that was read longest ago is evicted first. */
const DEFINITIONS_MAX = 2_000;

export interface TypicalDurations {
  /** null: there are too few samples, or none were read here yet. */
  of(definitionId: number, step: number): TypicalDuration | null;
  /** What the store knows. null in `slowAfterMs`: there are too few samples. */
  learned(
    definitionId: number,
  ): Promise<readonly (LearnedDurations & { readonly slowAfterMs: number | null })[]>;
  /** Passes that were committed: their successful attempts are samples. */
  seen(records: readonly PassRecord[]): void;
  /** Adds what was measured to the store, and reads what is in use again. */
  save(): Promise<void>;
}

export function createTypicalDurations(options: {
  readonly durations: Durations;
  readonly limits: SlowLimits;
  readonly onError: (error: unknown) => void;
}): TypicalDurations {
  const { durations, limits } = options;
  let gathered = new Map<string, SeenDurations>();
  /** By definition and step key. A definition that is being read has no entries yet. */
  const known = new Map<number, ReadonlyMap<number, TypicalDuration>>();
  let inUse = new Set<number>();
  let asked = new Set<number>();
  let isAsking = false;

  async function load(ids: ReadonlySet<number>): Promise<void> {
    const found = Map.groupBy(await durations.learned([...ids]), (one) => one.definitionId);
    for (const id of ids) {
      const steps = (found.get(id) ?? []).flatMap((learned) => {
        const typical = typicalDurationOf(learned, limits);
        return typical ? [[learned.step, typical] as const] : [];
      });
      remember(id, new Map(steps));
    }
  }

  function remember(definitionId: number, steps: ReadonlyMap<number, TypicalDuration>): void {
    known.delete(definitionId);
    known.set(definitionId, steps);
    const [oldest] = known.keys();
    if (known.size > DEFINITIONS_MAX && oldest !== undefined) known.delete(oldest);
  }

  /** One query at a time, for all definitions that came into use meanwhile. */
  async function ask(): Promise<void> {
    isAsking = true;
    while (asked.size > 0) {
      const ids = asked;
      asked = new Set();
      // A definition that could not be read is read again by the next save.
      await load(ids).catch(options.onError);
    }
    isAsking = false;
  }

  function use(definitionId: number): void {
    inUse.add(definitionId);
    if (known.has(definitionId)) return;
    remember(definitionId, new Map());
    asked.add(definitionId);
    if (!isAsking) void ask();
  }

  function add(definitionId: number, step: number, ms: number): void {
    const key = `${definitionId}/${step}`;
    const found = gathered.get(key);
    if (!found && gathered.size >= STEPS_MAX) return;
    const one = found ?? { definitionId, step, sketch: createSketch() };
    one.sketch.add(ms);
    gathered.set(key, one);
  }

  return Object.freeze({
    of(definitionId: number, step: number) {
      use(definitionId);
      return known.get(definitionId)?.get(shared(step)) ?? null;
    },
    async learned(definitionId: number) {
      const learned = await durations.learned([definitionId]);
      return learned.map((one) => {
        return { ...one, slowAfterMs: typicalDurationOf(one, limits)?.slowAfterMs ?? null };
      });
    },
    seen(records: readonly PassRecord[]) {
      for (const { head, effects } of records)
        for (const effect of effects) {
          if (effect.kind !== "task-ended") continue;
          const { kind, outcome, step, startedAt, endedAt } = effect.attempt;
          if (kind !== "perform" || outcome.kind !== "success") continue;
          add(head.definitionId, shared(step), endedAt - startedAt);
        }
    },
    async save() {
      const samples = [...gathered.values()];
      gathered = new Map();
      await durations.add(samples);
      const wanted = inUse.union(new Set(samples.map(({ definitionId }) => definitionId)));
      inUse = new Set();
      await load(wanted);
    },
  } satisfies TypicalDurations);
}

/** All items of a map are measured under the key of the first. */
function shared(step: number): number {
  return itemOf(step) === 0 ? step : stepKeyOf(numberOf(step), 1);
}
