// The public state of a step. A HELD task is shown as READY, a step that verifies as VERIFYING; and
// a step that its run will never begin is CANCELLED, though no page says so.
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
 * an `always` step.
 */
export function publicStep(step: Step | undefined, run: RunState, always: boolean): PublicStep {
  return { state: publicForward(step, run, always), undo: publicUndo(step?.undo) };
}

function publicForward(
  step: Step | undefined,
  run: RunState,
  always: boolean,
): PublicStep["state"] {
  const forward = step?.forward;
  if (forward === undefined || forward.kind === "BLOCKED") {
    const never = always ? isEnded(run) : hasStopReason(run);
    return never ? "CANCELLED" : "BLOCKED";
  }
  if ("task" in forward && forward.task === "verify") return "VERIFYING";
  if (forward.kind === "MAPPING" || forward.kind === "UNDOING") return "WAITING";
  // Resuming the run puts the task into its queue. The pause is shown with the run.
  return forward.kind === "HELD" ? "READY" : forward.kind;
}

/** The forward states that may be shown as each public state. */
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

function publicUndo(undo: Undo | undefined): PublicStep["undo"] {
  if (undo === undefined) return "NONE";
  return isMoving(undo) || undo.kind === "MAPPING" ? "ACTIVE" : undo.kind;
}

/** Whether the run begins no forward steps any more, except its `always` steps. */
function hasStopReason(run: RunState): boolean {
  switch (run.kind) {
    case "PENDING":
    case "RUNNING":
      return false;
    case "PAUSED":
      return run.stopReason !== null;
    case "ESCALATED":
      return run.from.kind !== "RUNNING";
    default:
      return true;
  }
}
