// A step as rows, and back: its own row, and the ready, lease or due row that says how it moves.
import type { Forward, Moving, Step, Undo } from "../../core/model.ts";
import { heldTask, needsOf, stored } from "../step-row.ts";
import type { RunId } from "../store.ts";
import { type StepRow, stepKey, type Tables } from "./tables.ts";

export function stepRow(runId: RunId, step: Step): StepRow {
  const { forward, undo, ...rest } = step;
  return {
    ...rest,
    runId,
    forward: stored(forward.kind),
    needs: needsOf(step),
    undo: stored(undo.kind),
    held: heldTask(step),
  };
}

export function stepOfRow(tables: Tables, row: StepRow): Step {
  const { runId: _, needs: __, held: ___, ...rest } = row;
  return { ...rest, forward: forwardOf(tables, row), undo: undoOf(tables, row) };
}

function forwardOf(tables: Tables, row: StepRow): Forward {
  switch (row.forward) {
    case "BLOCKED": {
      const { waitingFor, ok, skipped } = row.needs;
      return { kind: "BLOCKED", waitingFor, ok, skipped };
    }
    case "OPEN":
    case "BACKOFF":
    case "WAITING":
    case "HELD":
      return movingOf(tables, row, "forward");
    default:
      return { kind: row.forward };
  }
}

function undoOf(tables: Tables, row: StepRow): Undo {
  switch (row.undo) {
    case "OPEN":
    case "BACKOFF":
    case "WAITING":
    case "HELD":
      return movingOf(tables, row, "undo");
    default:
      return { kind: row.undo };
  }
}

function movingOf(tables: Tables, row: StepRow, side: "forward" | "undo"): Moving {
  const key = stepKey(row.runId, row.no);
  const found = foundBeside(tables, row, side);
  if (!found || stored(found.kind) !== row[side])
    throw new Error(`step ${key} is ${row[side]} ${side}, and no row says how it moves`);
  const task = "task" in found ? found.task : null;
  if (task === (side === "forward" ? "compensate" : "perform"))
    throw new Error(`step ${key} is ${row[side]} ${side}, and the row beside it says ${task}`);
  return found;
}

function foundBeside(tables: Tables, row: StepRow, side: "forward" | "undo"): Moving | undefined {
  const key = stepKey(row.runId, row.no);
  if (row[side] === "HELD") return row.held === null ? undefined : { kind: "HELD", task: row.held };
  if (row[side] === "OPEN") return tables.lease.get(key)?.lease ?? tables.ready.get(key)?.ready;
  return tables.due.get(key)?.due;
}
