// Child runs, and what a run tells them: they pause, go on and stop with it. A child begins where a
// task would be made ready (pass.ts); how it ended is told in on-child.ts.
//
//   child       the child runs, or waits to begin
//   child-end   it was told to stop, by a verdict or since `total` is over, and has not ended. It
//               may end well all the same
import type { EpochMs } from "./attempt.ts";
import type { ParentWord } from "./message.ts";
import { isEnded, type Step, type WaitingFor } from "./model.ts";
import { emit, type Pass, touchedSteps } from "./pass.ts";

/** So deep may child runs be nested: what runs itself without an end fails there. */
export const CHILD_DEPTH_MAX = 16;

/** Characters of a child's output, which is one payload. */
export const CHILD_OUTPUT_MAX = 262_144;

/** Codes of a child's failures that a retry policy may name. */
export const CHILD_CODES: readonly string[] = Object.freeze([
  "drover.child-failed",
  "drover.child-cancelled",
]);

/** A child that was told to stop is told again after so long. */
const CHILD_LOOK_MS = 3_600_000;

export function isChildWait(on: WaitingFor): on is "child" | "child-end" {
  return on === "child" || on === "child-end";
}

/** Tells all that run; those that were told to stop do so, whatever else they hear. */
export function messageChildren(pass: Pass, message: ParentWord): void {
  for (const step of touchedSteps(pass))
    if (step.forward.kind === "WAITING" && step.forward.on === "child")
      messageChild(pass, step, message);
}

/** The one place where a cancel passes to a child; the step waits for its end, and then settles. */
export function endChild(pass: Pass, step: Step, undo: boolean): void {
  messageChild(pass, step, { kind: "cancel", undo });
  const at = pass.occasion.now;
  emit(pass, { kind: "began-waiting", step: step.no, on: "child-end", at, wakeAt: lookAt(at) });
}

function messageChild(pass: Pass, { no, fence }: Step, message: ParentWord): void {
  emit(pass, { kind: "child-messaged", step: no, fence, message });
}

function lookAt(now: EpochMs): EpochMs {
  return now + CHILD_LOOK_MS;
}

/** A child that ends tells its parent, by a message of the same change. */
export function messageParent(pass: Pass): void {
  const { state, parent } = pass.view.run;
  if (!isEnded(state) || parent === null) return;
  const { runId: to, step, fence } = parent;
  const message = { kind: "child-ended", step, fence, child: null } as const;
  emit(pass, { kind: "message-sent", to, message });
}
