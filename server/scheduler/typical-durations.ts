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

interface TypicalDurationsOptions {
  readonly durations: Durations;
  readonly limits: SlowLimits;
  readonly onError: (error: unknown) => void;
}

interface State extends TypicalDurationsOptions {
  /** By definition and step key. A definition that is being read has no entries yet. */
  readonly known: Map<number, ReadonlyMap<number, TypicalDuration>>;
  /** What was measured since the last save, by definition and step key. */
  gathered: Map<string, SeenDurations>;
  /** Definitions that were asked for since the last save. */
  inUse: Set<number>;
  /** Definitions to be read by the next query. */
  asked: Set<number>;
  isAsking: boolean;
}

export function createTypicalDurations(options: TypicalDurationsOptions): TypicalDurations {
  const state: State = {
    ...options,
    known: new Map(),
    gathered: new Map(),
    inUse: new Set(),
    asked: new Set(),
    isAsking: false,
  };
  return Object.freeze({
    of(definitionId: number, step: number) {
      use(state, definitionId);
      return state.known.get(definitionId)?.get(shared(step)) ?? null;
    },
    learned: (definitionId: number) => learned(state, definitionId),
    seen: (records: readonly PassRecord[]) => gather(state, records),
    save: () => save(state),
  } satisfies TypicalDurations);
}

/** Has a definition read that is not known yet. */
function use(state: State, definitionId: number): void {
  const { known, inUse, asked } = state;
  inUse.add(definitionId);
  if (known.has(definitionId)) return;
  remember(state, definitionId, new Map());
  asked.add(definitionId);
  if (!state.isAsking) void ask(state);
}

/** One query at a time, for all definitions that came into use meanwhile. */
async function ask(state: State): Promise<void> {
  state.isAsking = true;
  while (state.asked.size > 0) {
    const ids = state.asked;
    state.asked = new Set();
    // A definition that could not be read is read again by the next save.
    await load(state, ids).catch(state.onError);
  }
  state.isAsking = false;
}

async function load(state: State, ids: ReadonlySet<number>): Promise<void> {
  const { durations, limits } = state;
  const found = Map.groupBy(await durations.learned([...ids]), (one) => one.definitionId);
  for (const id of ids) {
    const steps = (found.get(id) ?? []).flatMap((learned) => {
      const typical = typicalDurationOf(learned, limits);
      return typical ? [[learned.step, typical] as const] : [];
    });
    remember(state, id, new Map(steps));
  }
}

function remember(
  { known }: State,
  definitionId: number,
  steps: ReadonlyMap<number, TypicalDuration>,
): void {
  known.delete(definitionId);
  known.set(definitionId, steps);
  const [oldest] = known.keys();
  if (known.size > DEFINITIONS_MAX && oldest !== undefined) known.delete(oldest);
}

async function learned({ durations, limits }: State, definitionId: number) {
  const found = await durations.learned([definitionId]);
  return found.map((one) => {
    return { ...one, slowAfterMs: typicalDurationOf(one, limits)?.slowAfterMs ?? null };
  });
}

function gather(state: State, records: readonly PassRecord[]): void {
  for (const { head, effects } of records)
    for (const effect of effects) {
      if (effect.kind !== "task-ended") continue;
      const { kind, outcome, step, startedAt, endedAt } = effect.attempt;
      if (kind !== "perform" || outcome.kind !== "success") continue;
      addSample(state, head.definitionId, shared(step), endedAt - startedAt);
    }
}

function addSample({ gathered }: State, definitionId: number, step: number, ms: number): void {
  const key = `${definitionId}/${step}`;
  const found = gathered.get(key);
  if (!found && gathered.size >= STEPS_MAX) return;
  const one = found ?? { definitionId, step, sketch: createSketch() };
  one.sketch.add(ms);
  gathered.set(key, one);
}

async function save(state: State): Promise<void> {
  const samples = [...state.gathered.values()];
  state.gathered = new Map();
  await state.durations.add(samples);
  const wanted = state.inUse.union(new Set(samples.map(({ definitionId }) => definitionId)));
  state.inUse = new Set();
  await load(state, wanted);
}

/** All items of a map are measured under the key of the first. */
function shared(step: number): number {
  return itemOf(step) === 0 ? step : stepKeyOf(numberOf(step), 1);
}
