// A step as rows, and back: its own row, and the ready, lease or due row that says how it moves.
import type { Forward, Moving, Step, Undo } from "../../core/model.ts";
import { stored, waitingFor } from "../changes.ts";
import type { RunId } from "../store.ts";
import { type StepRow, stepKey, type Tables } from "./tables.ts";

export function stepRow(runId: RunId, step: Step): StepRow {
  const { forward, undo, ...rest } = step;
  return {
    ...rest,
    runId,
    forward: stored(forward.kind),
    waitingFor: waitingFor(step),
    undo: stored(undo.kind),
  };
}

export function stepOfRow(tables: Tables, row: StepRow): Step {
  const { runId: _, waitingFor: __, ...rest } = row;
  return { ...rest, forward: forwardOf(tables, row), undo: undoOf(tables, row) };
}

function forwardOf(tables: Tables, row: StepRow): Forward {
  if (row.forward === "BLOCKED") return { kind: "BLOCKED", waitingFor: row.waitingFor };
  if (row.forward === "OPEN" || row.forward === "BACKOFF") return movingOf(tables, row, "forward");
  return { kind: row.forward };
}

function undoOf(tables: Tables, row: StepRow): Undo {
  if (row.undo === "OPEN" || row.undo === "BACKOFF") return movingOf(tables, row, "undo");
  return { kind: row.undo };
}

function movingOf(tables: Tables, row: StepRow, side: "forward" | "undo"): Moving {
  const key = stepKey(row.runId, row.no);
  if (row[side] === "BACKOFF") return tables.due.expect(key).due;
  const found = tables.lease.get(key)?.lease ?? tables.ready.get(key)?.ready;
  if (found?.task !== (side === "forward" ? "perform" : "compensate"))
    throw new Error(`step ${key} is OPEN ${side}, and no ready or lease row says how`);
  return found;
}
