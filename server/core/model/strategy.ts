// The strategies by which a step was tried, and the effect that each may have left at the remote
// service.

import type { Items } from "./items.ts";

/** The fields of a step that describe the progress of its strategies. */
export interface Tried {
  readonly strategies: readonly Strategy[];
  readonly attempt: number;
  readonly lost: number;
}

/** The effect that a strategy of a step may have left at the remote service. */
export type EffectStatus =
  | "NONE"
  /** An attempt failed half-way, and the step is undone `when: attempted`. */
  | "ATTEMPTED"
  /**
   * The effect of the current attempt is not known (unknown, cancelled, deferred). Its agent may
   * still report.
   */
  | "UNSETTLED"
  /** An earlier attempt may have left an effect, or the agent asked to get the task again later. */
  | "LINGERING"
  | "MADE"
  | "UNDONE"
  /** There may have been an effect, and it is known that there is none. */
  | "CLEARED";

/** A way in which the step was tried. Its index in the list is part of the key of its effect. */
export interface Strategy {
  /** The strategy of the plan that it follows: 0 as defined, then each fallback. */
  readonly planned: number;
  /** A person changed its input (a row in `step_override`). */
  readonly changed: boolean;
  readonly effectStatus: EffectStatus;
}

/** The index of the current strategy in the step's list. */
export function currentStrategy(step: Tried): number {
  return step.strategies.length - 1;
}

/** The strategy of the plan that the current strategy follows. */
export function plannedOf(step: Tried): number {
  return step.strategies[currentStrategy(step)]?.planned ?? 0;
}

/**
 * Nothing was done yet in the current strategy: the current attempt, if it can still report,
 * belongs to the previous strategy.
 */
export function isFresh({ strategies, attempt, lost }: Tried): boolean {
  return (
    strategies.length > 1 &&
    attempt === 0 &&
    lost === 0 &&
    strategies.at(-1)?.effectStatus === "NONE"
  );
}

/** Whether it is unknown if there is an effect. */
export function isUnsettled(mark: EffectStatus): boolean {
  return mark === "UNSETTLED" || mark === "LINGERING";
}

/** The index of the next strategy, which replaces one in which nothing was done. */
export function nextStrategyIndex(step: Tried): number {
  return step.strategies.length - Number(isFresh(step));
}

const LEFT_NOTHING: readonly EffectStatus[] = ["NONE", "CLEARED", "UNDONE"];

/** Whether a strategy may have left an effect that an undo would have to remove. */
export function leavesEffect({ effectStatus }: Pick<Strategy, "effectStatus">): boolean {
  return !LEFT_NOTHING.includes(effectStatus);
}

/** The strategy whose effect is undone next, the last one first; null: none is left. */
export function strategyToUndo(step: Tried): number | null {
  const place = step.strategies.findLastIndex(leavesEffect);
  return place === -1 ? null : place;
}

interface EffectRef {
  /** The run that made the effect, or will make it. */
  readonly run: string;
  /** Id of the step; for an item of a map such as `deploy[3]`. */
  readonly stepId: string;
  /** Index of the strategy in the step's list. */
  readonly strategy: number;
  /**
   * Set for a started map: the key is that of its gate, which has a new key after each wave.
   */
  readonly items: Pick<Items, "started"> | null;
}

/**
 * The key by which a remote service identifies an effect of a step. The agent that performs the
 * step receives it, and people who check the remote service see it. It changes with the strategy,
 * which is exactly when the input may change. A reused effect keeps the key of the run that made
 * it.
 */
export function effectKey({ run, stepId, strategy, items }: EffectRef): string {
  return `${run}/${stepId}/${items ? gateWay(items.started, strategy) : strategy}`;
}

/** A person may have given the gate another input, which is another strategy. */
function gateWay(started: number, strategy: number): string {
  return strategy === 0 ? `after-${started}` : `after-${started}.${strategy}`;
}
