// Handles the end of a child run, and a child that is late. The end of the child is the end of an
// attempt of the step:
//
//   COMPLETED            success, with the child's output
//   FAILED, COMPENSATED  drover.child-failed: tried again only if a policy names the code
//   cancelled            drover.child-cancelled: the same
//   it never began       drover.child-refused, or drover.depth: for good
//
// The parent does not undo what a FAILED or CANCELLED child has left: the child has undone what it
// could. A child that is cancelled because `total` is over gives drover.total, unless it succeeds
// after all.

import { CHILD_DEPTH_MAX, CHILD_OUTPUT_CHARS_MAX, endChild, isChildWait } from "../child.ts";
import type { EpochMs, Outcome } from "../model/attempt.ts";
import { SCHEMA_BROKEN } from "../model/evaluator.ts";
import type { ChildEnded, EndedChild } from "../model/message.ts";
import { isEnded, type Step } from "../model/model.ts";
import { succeed } from "../open.ts";
import {
  emit,
  inShort,
  intervene,
  inWords,
  type Pass,
  planStep,
  retryOf,
  setEffectStatus,
  stepOf,
  totalEndsAt,
} from "../pass.ts";
import { TOTAL_OVER } from "../recovery/fail-step.ts";
import { policyFor, recover } from "../recovery/recovery.ts";
import { stopped } from "../recovery/saga.ts";
import { evaluated, setbackOf } from "./on-task-end.ts";

/** Applying the message twice is harmless: the step then waits for this child no more. */
export function childEnded(pass: Pass, { step: no, fence, child }: ChildEnded): void {
  const step = stepOf(pass, no);
  const { forward } = step;
  if (isEnded(pass.view.run.state) || forward.kind !== "WAITING") return;
  if (!isChildWait(forward.on) || step.fence !== fence) return;
  if (!child) throw new Error(`the end of the child of step ${no} was not read`);
  const stopping = pass.view.run.state.kind === "STOPPING";
  const late = forward.on === "child-end" && !stopping;
  const outcome = evaluated(pass, no, outcomeOf(pass, step, child, late));
  endAttempt(pass, step, child, outcome);
  if (outcome.kind === "success") {
    succeed(pass, no, { fence, kind: "answer", n: 0 }, outcome.output);
  } else if (stopping) {
    stopped(pass, stepOf(pass, no), wasCancelled(child) ? null : outcome);
  } else {
    const setback = setbackOf(outcome, null);
    if (setback) recover(pass, no, "perform", setback);
  }
}

function endAttempt(pass: Pass, step: Step, child: EndedChild, outcome: Outcome): void {
  const { now } = pass.time;
  const { no, fence } = step;
  const plan = planStep(pass, no);
  const failure = outcome.kind === "failure" ? outcome : null;
  const policy = failure ? policyFor(retryOf(plan, step, "perform"), failure.code) : null;
  emit(pass, {
    kind: "task-ended",
    id: plan.id,
    attempt: {
      step: no,
      kind: failure ? "engine" : "answer",
      fence,
      n: 0,
      attempt: step.attempt + 1,
      agentId: `run ${child.runId}`,
      session: null,
      secret: null,
      startedAt: child.createdAt ?? now,
      endedAt: now,
      outcome,
      digest: null,
    },
    counted: { policy },
    lost: false,
  });
  const made = failure === null || failure.code === SCHEMA_BROKEN;
  const left = plan.compensate?.when === "attempted" ? "ATTEMPTED" : "NONE";
  setEffectStatus(pass, no, made ? "MADE" : left);
}

function outcomeOf(pass: Pass, step: Step, child: EndedChild, late: boolean): Outcome {
  if (child.end?.kind === "COMPLETED") return successOf(child);
  const { code, message, forGood } = failureOf(pass, step, child);
  const { totalMs } = planStep(pass, step.no).timeouts;
  const over = `all tries together may take ${inWords(totalMs)}, which is over`;
  return {
    kind: "failure",
    class: late || forGood ? "permanent" : "transient",
    code: late ? TOTAL_OVER : code,
    message: late ? `${over}, and the child was asked to stop: ${message}` : message,
    retryAfterMs: null,
    noEffect: false,
  };
}

function successOf({ runId, output }: EndedChild): Outcome {
  const length = output?.kind === "json" ? output.json.length : 0;
  if (length <= CHILD_OUTPUT_CHARS_MAX) return { kind: "success", output };
  return {
    kind: "failure",
    class: "permanent",
    code: SCHEMA_BROKEN,
    message: `the output of child run ${runId} has ${length} characters, and may have ${CHILD_OUTPUT_CHARS_MAX}: let its last steps answer less`,
    retryAfterMs: null,
    noEffect: false,
  };
}

function failureOf(
  pass: Pass,
  step: Step,
  child: EndedChild,
): { readonly code: string; readonly message: string; readonly forGood: boolean } {
  const { runId, end, why } = child;
  const { depth } = pass.view.run.parent ?? { depth: 0 };
  const more = why === "" ? "" : `: ${why}`;
  if (end === null) {
    const message = `${workflowOf(pass, step)} is not registered`;
    return { code: "drover.child-refused", message, forGood: true };
  }
  if (end.reason === "REFUSED" && depth >= CHILD_DEPTH_MAX) {
    const message = `child runs are nested ${CHILD_DEPTH_MAX} deep, and no deeper: does a workflow start itself without an end?`;
    return { code: "drover.depth", message, forGood: true };
  }
  if (end.reason === "REFUSED") {
    const message = `${workflowOf(pass, step)} does not take the input${more}`;
    return { code: "drover.child-refused", message, forGood: true };
  }
  const code = wasCancelled(child) ? "drover.child-cancelled" : "drover.child-failed";
  const message = `child run ${runId} ended ${end.kind} (${end.reason})${more}`;
  return { code, message, forGood: false };
}

function workflowOf(pass: Pass, step: Step): string {
  const { work } = planStep(pass, step.no);
  const child = work.kind === "run" ? work.strategies[step.strategies.at(-1)?.planned ?? 0] : null;
  const version = child && child.version > 0 ? ` version ${child.version}` : "";
  return `the workflow "${child?.workflow ?? ""}"${version}`;
}

/** Cancelled by its parent or by a person, whether it had effects to undo or not. */
function wasCancelled({ end }: EndedChild): boolean {
  return end?.reason === "CANCELLED_BY_USER" || end?.reason === "NEVER_STARTED";
}

/** `total` is over; or the child was sent a cancel and has not ended, and is sent it again. */
export function childLate(pass: Pass, step: Step, on: "child" | "child-end", dueAt: EpochMs): void {
  const { no, fence } = step;
  const { state } = pass.view.run;
  if (on === "child-end") {
    endChild(pass, step, state.kind === "STOPPING" ? state.stopReason.undo : true);
    return;
  }
  const wakeAt = totalEndsAt(pass, step);
  if (pass.time.now < wakeAt) {
    emit(pass, { kind: "wake-moved", step: no, wakeAt });
    return;
  }
  endChild(pass, step, true);
  const { totalMs } = planStep(pass, no).timeouts;
  const saw = `the child of "${planStep(pass, no).id}" has not ended within ${inWords(totalMs)}`;
  intervene(pass, "total", { step, fence, dueAt, saw, did: inShort(pass, no) });
}
