// What a step's own row says, and whether it has changed: READY and LEASED are rows beside it.
import type { TaskKind } from "../core/attempt.ts";
import { movingSide, type Step } from "../core/model.ts";

export interface StepColumns extends Omit<Step, "forward" | "undo"> {
  readonly forward: StoredState<"forward">;
  readonly needs: ReturnType<typeof needsOf>;
  readonly undo: StoredState<"undo">;
  /** The task of a HELD step, which has no row beside it. */
  readonly held: TaskKind | null;
}

/** Whether the step's own row can stay as it is: only a row beside it moved. */
export function sameStepRow(was: Step | undefined, is: Step): boolean {
  if (!was) return false;
  const [before, after] = [needsOf(was), needsOf(is)];
  return (
    stored(was.forward.kind) === stored(is.forward.kind) &&
    before.waitingFor === after.waitingFor &&
    before.ok === after.ok &&
    before.skipped === after.skipped &&
    stored(was.undo.kind) === stored(is.undo.kind) &&
    heldTask(was) === heldTask(is) &&
    was.strategies === is.strategies &&
    was.fence === is.fence &&
    was.attempt === is.attempt &&
    was.lost === is.lost &&
    was.tries === is.tries &&
    was.doubt === is.doubt &&
    was.verifies === is.verifies &&
    was.firstReadyAt === is.firstReadyAt &&
    was.settleUntil === is.settleUntil &&
    was.result === is.result &&
    was.items === is.items
  );
}

/** How the needs of a BLOCKED step have ended so far; nobody asks once it is open. */
export function needsOf({ forward }: Step): {
  readonly waitingFor: number;
  readonly ok: number;
  readonly skipped: number;
} {
  return forward.kind === "BLOCKED" ? forward : { waitingFor: 0, ok: 0, skipped: 0 };
}

/** What a HELD step will do: no row beside it says so. */
export function heldTask(step: Step): TaskKind | null {
  const state = movingSide(step)?.state;
  return state?.kind === "HELD" ? state.task : null;
}

type Stored<Kind extends string> = Exclude<Kind, "READY" | "LEASED"> | "OPEN";
export type StoredState<Side extends "forward" | "undo"> = Stored<Step[Side]["kind"]>;

/** READY and LEASED are told apart by rows; in the step row both are OPEN. */
export function stored<Kind extends string>(kind: Kind): Stored<Kind> {
  return kind === "READY" || kind === "LEASED" ? "OPEN" : (kind as Stored<Kind>);
}
