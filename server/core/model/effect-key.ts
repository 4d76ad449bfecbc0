// The key by which a remote service identifies an effect of a step. The agent that performs the
// step receives it, and people who check the remote service see it. It changes with the strategy,
// which is exactly when the input may change. A reused effect keeps the key of the run that made
// it.
import type { Items } from "./items.ts";

interface EffectRef {
  /** The run that made the effect, or will make it. */
  readonly run: string;
  /** Id of the step; for an item of a map such as `deploy[3]`. */
  readonly stepId: string;
  /** Index of the strategy in the step's list. */
  readonly strategy: number;
  /**
   * Set for a map that has begun: the key is that of its gate, which has a new key after each wave.
   */
  readonly items: Pick<Items, "begun"> | null;
}

export function effectKey({ run, stepId, strategy, items }: EffectRef): string {
  return `${run}/${stepId}/${items ? gateWay(items.begun, strategy) : strategy}`;
}

/** A person may have given the gate another input, which is another strategy. */
function gateWay(begun: number, strategy: number): string {
  return strategy === 0 ? `after-${begun}` : `after-${begun}.${strategy}`;
}
