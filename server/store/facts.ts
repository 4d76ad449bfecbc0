// What a store looks for when it is asked for facts: which attempt holds the error of a step, which
// strategy a task is about, whose output it is, and whose details go with it. Both stores ask here.
import type { AttemptKind, Outcome, TaskKind } from "../core/attempt.ts";
import type { Items } from "../core/items.ts";
import type { Forward } from "../core/model.ts";
import type { Payload } from "../core/payload.ts";
import { leavesEffect, type Strategy } from "../core/strategy.ts";
import type { RunId } from "./run-head.ts";
import type { Granted } from "./store.ts";
import type { TraceContext } from "./trace.ts";

/** What a granted task carries besides its lease, read after the claim's commit. */
export interface TaskFacts {
  readonly runId: RunId;
  readonly step: number;
  readonly definitionId: number;
  readonly version: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The run's. */
  readonly input: Payload | null;
  /** Details of the last heartbeat before this attempt. */
  readonly lastDetails: Payload | null;
  /** Of a map, whose own task is its gate. */
  readonly items: Items | null;
  /** The place of the strategy that the task is about: the current one; for an undo, the next. */
  readonly strategy: number;
  /** The strategy of the plan that it follows. */
  readonly planned: number;
  /** The whole input that a person gave for this strategy instead; null: none. */
  readonly changedInput: { readonly payload: Payload | null } | null;
  /** For an undo: the output of the step, where this strategy made it. */
  readonly output: Payload | null;
  /** For an undo: the run that made the effect, where that is another one. */
  readonly effectOf: RunId | null;
  /** The run's; null: nobody traces it. */
  readonly trace: TraceContext | null;
}

/** States of which the facts of a step are told: they change no more. */
export const FINAL = [
  "SUCCEEDED",
  "FAILED",
  "SKIPPED",
  "CANCELLED",
] as const satisfies readonly Forward["kind"][];

/** The error of a FAILED step is the newest of these attempts, by fence and by end. */
export const ERROR_KINDS: readonly AttemptKind[] = ["perform", "engine"];
export const ERROR_OUTCOMES: readonly Outcome["kind"][] = ["failure", "unknown"];

/** The place of the strategy that a task is about: the current one; for an undo, the next. */
export function strategyOfTask(task: TaskKind, strategies: readonly Strategy[]): number {
  const current = strategies.length - 1;
  if (task !== "compensate") return current;
  const next = strategies.findLastIndex(leavesEffect);
  return next === -1 ? current : next;
}

/**
 * Whether the output of a step is that of a strategy. It is the one that succeeded: the current
 * one, or one before whose success came late, when its successor had not been handed out.
 */
export function madeOutput(
  forward: Forward["kind"],
  strategies: readonly Strategy[],
  place: number,
): boolean {
  return (
    forward === "SUCCEEDED" &&
    (place === strategies.length - 1 || strategies[place]?.mark === "MADE")
  );
}

/** Whose last details a task carries: those of an attempt of this kind, before this fence. */
export function detailsWanted({ ready }: Granted): { kind: TaskKind; beforeFence: number } {
  // A verify has the fence of the attempt that it is about.
  return ready.task === "verify"
    ? { kind: "perform", beforeFence: ready.fence + 1 }
    : { kind: ready.task, beforeFence: ready.fence };
}
