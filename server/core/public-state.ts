// What people see of a step: READY and LEASED, held and verifying are told apart by what moves, and
// a step that its run will never come to is CANCELLED, though no page says so.
import { type Forward, isEnded, isMoving, type RunState, type Step, type Undo } from "./model.ts";

export interface PublicStep {
  readonly state:
    | "BLOCKED"
    | "READY"
    | "LEASED"
    | "BACKOFF"
    | "WAITING"
    | "VERIFYING"
    | "ESCALATED"
    | "SUCCEEDED"
    | "FAILED"
    | "SKIPPED"
    | "CANCELLED";
  readonly undo: "NONE" | "PENDING" | "ACTIVE" | "DONE" | "FAILED";
}

/**
 * `step` undefined: it is in no page, so it is BLOCKED with all its needs. `always`: whether it is
 * a step that runs last, whatever the verdict.
 */
export function publicStep(step: Step | undefined, run: RunState, always: boolean): PublicStep {
  return { state: shownForward(step, run, always), undo: shownUndo(step?.undo) };
}

function shownForward(step: Step | undefined, run: RunState, always: boolean): PublicStep["state"] {
  const forward = step?.forward;
  if (forward === undefined || forward.kind === "BLOCKED") {
    const never = always ? isEnded(run) : hasVerdict(run);
    return never ? "CANCELLED" : "BLOCKED";
  }
  if ("task" in forward && forward.task === "verify") return "VERIFYING";
  if (forward.kind === "MAPPING" || forward.kind === "UNDOING") return "WAITING";
  // Resuming its run puts it there, and whether it is paused is seen with the run.
  return forward.kind === "HELD" ? "READY" : forward.kind;
}

/** Every forward state that may be shown as this one. */
export const PUBLIC_STATES: Readonly<Record<PublicStep["state"], readonly Forward["kind"][]>> =
  Object.freeze({
    BLOCKED: ["BLOCKED"],
    READY: ["READY", "HELD"],
    LEASED: ["LEASED"],
    BACKOFF: ["BACKOFF"],
    WAITING: ["WAITING", "MAPPING", "UNDOING"],
    VERIFYING: ["READY", "LEASED", "BACKOFF", "WAITING", "HELD"],
    ESCALATED: ["ESCALATED"],
    SUCCEEDED: ["SUCCEEDED"],
    FAILED: ["FAILED"],
    SKIPPED: ["SKIPPED"],
    CANCELLED: ["CANCELLED", "BLOCKED"],
  });

function shownUndo(undo: Undo | undefined): PublicStep["undo"] {
  if (undo === undefined) return "NONE";
  return isMoving(undo) || undo.kind === "MAPPING" ? "ACTIVE" : undo.kind;
}

/** From then on the run starts nothing forward but its `always` steps. */
function hasVerdict(run: RunState): boolean {
  switch (run.kind) {
    case "PENDING":
    case "RUNNING":
      return false;
    case "PAUSED":
      return run.verdict !== null;
    case "ESCALATED":
      return run.from.kind !== "RUNNING";
    default:
      return true;
  }
}
