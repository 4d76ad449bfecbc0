// What both stores look up for facts: which attempt holds the error of a step, which strategy a
// task is about, which strategy the output comes from, and whose details a task carries.
import type { AttemptKind, Outcome, TaskKind } from "../core/model/attempt.ts";
import type { Items } from "../core/model/items.ts";
import type { Forward } from "../core/model/model.ts";
import type { Payload } from "../core/model/payload.ts";
import { leavesEffect, type Strategy } from "../core/model/strategy.ts";
import type { RunId } from "./run-head.ts";
import type { Granted } from "./store.ts";
import type { TraceContext } from "./trace.ts";

/** What a granted task carries besides its lease. It is read after the claim has committed. */
export interface TaskFacts {
  readonly runId: RunId;
  readonly step: number;
  readonly definitionId: number;
  readonly version: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The input of the run. */
  readonly input: Payload | null;
  /** Details of the last heartbeat before this attempt. */
  readonly lastDetails: Payload | null;
  /** The items of a map step, whose own task is its gate; null: the step is no map. */
  readonly items: Items | null;
  /** Index of the task's strategy: the current one; for an undo, the next one to undo. */
  readonly strategy: number;
  /** Index of the strategy in the plan that it follows. */
  readonly planned: number;
  /** The whole input that a person gave for this strategy instead of the planned; null: none. */
  readonly changedInput: { readonly payload: Payload | null } | null;
  /** For an undo: the output of the step, if this strategy made it. */
  readonly output: Payload | null;
  /** For an undo: the run that made the effect, if it is another one. */
  readonly effectOf: RunId | null;
  /** The trace of the run; null: the run is not traced. */
  readonly trace: TraceContext | null;
}

/** Forward states in which the facts of a step change no more. Facts exist only in these. */
export const FINAL = [
  "SUCCEEDED",
  "FAILED",
  "SKIPPED",
  "CANCELLED",
] as const satisfies readonly Forward["kind"][];

/** The error of a FAILED step is that of the newest of these attempts, by fence and by end. */
export const ERROR_KINDS: readonly AttemptKind[] = ["perform", "engine"];
export const ERROR_OUTCOMES: readonly Outcome["kind"][] = ["failure", "unknown"];

/** Index of the task's strategy: the current one; for an undo, the next one to undo. */
export function strategyOfTask(task: TaskKind, strategies: readonly Strategy[]): number {
  const current = strategies.length - 1;
  if (task !== "compensate") return current;
  const next = strategies.findLastIndex(leavesEffect);
  return next === -1 ? current : next;
}

/**
 * Whether the output of a step comes from this strategy. It comes from the strategy that succeeded:
 * the current one, or an earlier one whose success was reported late, before the task of its
 * successor was handed out.
 */
export function madeOutput(
  forward: Forward["kind"],
  strategies: readonly Strategy[],
  place: number,
): boolean {
  return (
    forward === "SUCCEEDED" &&
    (place === strategies.length - 1 || strategies[place]?.effectStatus === "MADE")
  );
}

/** A task carries the last details of an attempt of this kind with a fence below this one. */
export function detailsWanted({ ready }: Granted): { kind: TaskKind; beforeFence: number } {
  // A verify has the fence of the attempt that it is about.
  return ready.task === "verify"
    ? { kind: "perform", beforeFence: ready.fence + 1 }
    : { kind: ready.task, beforeFence: ready.fence };
}
