// The ways in which a step was tried, and what each may have left at the remote service.

/** What of a step says how far its strategies have come. */
export interface Tried {
  readonly strategies: readonly Strategy[];
  readonly attempt: number;
  readonly lost: number;
}

/** What a strategy of a step may have left behind at the remote service. */
export type EffectStatus =
  | "NONE"
  /** An attempt failed half-way, and the step is undone `when: attempted`. */
  | "ATTEMPTED"
  /** Nobody knows what the current attempt did (unknown, cancelled, deferred); it may still say. */
  | "UNSETTLED"
  /** An earlier attempt may have left one, or the agent asked to be asked again. */
  | "LINGERING"
  | "MADE"
  | "UNDONE"
  /** There may have been one, and it is known that there is none. */
  | "CLEARED";

/** One way in which the step was tried. Its place in the list names the effect that it leaves. */
export interface Strategy {
  /** The strategy of the plan that it follows: 0 as defined, then each fallback. */
  readonly planned: number;
  /** A person changed its input (a row in `step_override`). */
  readonly changed: boolean;
  readonly mark: EffectStatus;
}

/** The place of the current strategy in the step's list. */
export function currentStrategy(step: Tried): number {
  return step.strategies.length - 1;
}

/** The strategy of the plan that the step is tried in. */
export function plannedOf(step: Tried): number {
  return step.strategies[currentStrategy(step)]?.planned ?? 0;
}

/**
 * Nothing was done yet in the current strategy: the current attempt, if one can still report,
 * belongs to the one before.
 */
export function isFresh({ strategies, attempt, lost }: Tried): boolean {
  return strategies.length > 1 && attempt === 0 && lost === 0 && strategies.at(-1)?.mark === "NONE";
}

/** Whether nobody knows if there is an effect. */
export function isUnsettled(mark: EffectStatus): boolean {
  return mark === "UNSETTLED" || mark === "LINGERING";
}

/** The place of the next strategy: one in which nothing was done leaves its own. */
export function nextStrategyPlace(step: Tried): number {
  return step.strategies.length - Number(isFresh(step));
}

const LEFT_NOTHING: readonly EffectStatus[] = ["NONE", "CLEARED", "UNDONE"];

/** Whether a strategy may have left something that an undo would have to take away. */
export function leavesEffect({ mark }: Pick<Strategy, "mark">): boolean {
  return !LEFT_NOTHING.includes(mark);
}

/** The strategy whose effect is undone next: the last first; null when none is left. */
export function strategyToUndo(step: Tried): number | null {
  const place = step.strategies.findLastIndex(leavesEffect);
  return place === -1 ? null : place;
}
