// The key by which a remote service knows an effect of a step: it is handed to whoever performs the
// step, and shown to people who go and look there. It changes exactly when the input may: with the
// strategy. An effect that a run before this one made keeps that run's key.
import type { Items } from "./items.ts";

export interface EffectRef {
  /** The run that made the effect, or is to make it. */
  readonly run: string;
  /** Id of the step; of an item of a map as `deploy[3]`. */
  readonly stepId: string;
  /** The place of the strategy in the step's list. */
  readonly strategy: number;
  /** Of a map that has begun: the key is that of its gate, which is another one after each wave. */
  readonly items: Pick<Items, "begun"> | null;
}

export function effectKey({ run, stepId, strategy, items }: EffectRef): string {
  return `${run}/${stepId}/${items ? gateWay(items.begun, strategy) : strategy}`;
}

/** A person may have given it another input, which is another strategy. */
function gateWay(begun: number, strategy: number): string {
  return strategy === 0 ? `after-${begun}` : `after-${begun}.${strategy}`;
}
