// Child runs, and the messages of a run to its children: they pause, resume and stop with it. A
// child begins where another step would make its task READY (pass.ts). on-child.ts handles its end.
//
//   child       the child runs, or waits to begin
//   child-end   the child was sent a cancel, because the parent stops or `total` is over, and has
//               not ended yet. It may still succeed
import type { EpochMs } from "./model/attempt.ts";
import type { ParentCommand } from "./model/message.ts";
import { isEnded, type Step, type WaitingFor } from "./model/model.ts";
import { emit, type Pass, touchedSteps } from "./pass.ts";

/** Maximum nesting depth of child runs. A workflow that runs itself without an end fails there. */
export const CHILD_DEPTH_MAX = 16;

/** Most characters of a child's output, which is stored as one payload. */
export const CHILD_OUTPUT_CHARS_MAX = 262_144;

/** Error codes of failed children that a retry policy may name. */
export const CHILD_CODES: readonly string[] = Object.freeze([
  "drover.child-failed",
  "drover.child-cancelled",
]);

/** A child that has not ended this long after a cancel is sent the cancel again. */
const CANCEL_AGAIN_MS = 3_600_000;

export function isChildWait(on: WaitingFor): on is "child" | "child-end" {
  return on === "child" || on === "child-end";
}

/** Sends a message to all running children. A cancelled child gets no other message. */
export function messageChildren(pass: Pass, message: ParentCommand): void {
  for (const step of touchedSteps(pass))
    if (step.forward.kind === "WAITING" && step.forward.on === "child")
      messageChild(pass, step, message);
}

/** The only place that cancels a child. The step waits for the end of the child, then settles. */
export function endChild(pass: Pass, step: Step, undo: boolean): void {
  messageChild(pass, step, { kind: "cancel", undo });
  const at = pass.time.now;
  emit(pass, {
    kind: "began-waiting",
    step: step.no,
    on: "child-end",
    at,
    wakeAt: cancelAgainAt(at),
  });
}

function messageChild(pass: Pass, { no, fence }: Step, message: ParentCommand): void {
  emit(pass, { kind: "child-messaged", step: no, fence, message });
}

function cancelAgainAt(now: EpochMs): EpochMs {
  return now + CANCEL_AGAIN_MS;
}

/** A child that has ended sends its parent a message, in the same pass. */
export function messageParent(pass: Pass): void {
  const { state, parent } = pass.view.run;
  if (!isEnded(state) || parent === null) return;
  const { runId: to, step, fence } = parent;
  const message = { kind: "child-ended", step, fence, child: null } as const;
  emit(pass, { kind: "message-sent", to, message });
}
