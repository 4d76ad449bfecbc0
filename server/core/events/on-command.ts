// Handles the commands of a person to a run: cancel, pause, resume.
import { messageChildren } from "../child.ts";
import type { Answer, RunEvent } from "../model/event.ts";
import { isEnded, movingSide, type RunState } from "../model/model.ts";
import { emit, makeReady, type Pass, touchedSteps } from "../pass.ts";
import { finishAsIs, leftOf, resumeRunning, resumeStopped, stop } from "../recovery/saga.ts";

const DONE: Answer = { kind: "done" };

/**
 * Cancels the run, and undoes its effects or leaves them. Repeating it changes nothing. A run that
 * has not started ends at once.
 */
export function onCancel(pass: Pass, event: Extract<RunEvent, { kind: "cancel" }>): Answer {
  const { state, pivoted } = pass.view.run;
  const refused = (why: string): Answer => ({ kind: "refused", run: state.kind, why });
  const note = { kind: "command-noted", command: "cancel", note: event.note } as const;
  if (isEnded(state))
    return state.reason === "CANCELLED_BY_USER" || state.reason === "NEVER_STARTED"
      ? DONE
      : refused("it has ended, and a final state does not change");
  if (state.kind === "STOPPING" || state.kind === "COMPENSATING") return DONE;
  if (state.kind === "PENDING") {
    emit(pass, note);
    const end = { kind: "CANCELLED", reason: "NEVER_STARTED" } as const;
    emit(pass, { kind: "run-moved", by: "cancel", state: end });
    return DONE;
  }
  if (state.kind === "FINISHING")
    return state.end.reason === "CANCELLED_BY_USER"
      ? DONE
      : refused("how it ends is certain; only its always steps run");
  const stage = state.kind === "ESCALATED" ? state.from.kind : "RUNNING";
  if (stage !== "RUNNING") {
    if (event.undo && isBeingUndone(state)) return DONE;
    if (event.undo)
      return refused("its end waits for a person: answer, or cancel with LEAVE to end it as it is");
    emit(pass, note);
    resumeStopped(pass);
    finishAsIs(pass, "cancel, leaving things", "CANCELLED");
    return DONE;
  }
  if (event.undo && pivoted)
    return refused("its pivot has succeeded, and nothing is undone from there on: use LEAVE");
  emit(pass, note);
  resumeStopped(pass);
  stop(pass, { reason: "CANCELLED_BY_USER", undo: event.undo });
  return DONE;
}

/** Whether an earlier cancel has started to undo the effects, which now waits for a person. */
function isBeingUndone(state: RunState): boolean {
  if (state.kind !== "ESCALATED" || state.from.kind === "RUNNING") return false;
  const { from } = state;
  if (from.kind === "FINISHING") return from.end.reason === "CANCELLED_BY_USER";
  return from.stopReason.reason === "CANCELLED_BY_USER" && from.stopReason.undo;
}

/**
 * Pauses the run: no task of it is claimed any more; leased tasks may finish. The deadline and each
 * `total` are suspended. Reports, callbacks and signals still count; tasks that they make ready are
 * held.
 */
export function onPause(pass: Pass, event: Extract<RunEvent, { kind: "pause" }>): Answer {
  const { state } = pass.view.run;
  const { now } = pass.time;
  if (state.kind === "PAUSED") return DONE;
  const escalated = state.kind === "ESCALATED" && state.from.kind === "RUNNING" ? state.from : null;
  if (state.kind !== "RUNNING" && !escalated) {
    return { kind: "refused", run: state.kind, why: whyNotPaused(state) };
  }
  const since = escalated?.since ?? now;
  const leftMs =
    state.kind === "RUNNING" ? leftOf(state.deadline, now) : (escalated?.leftMs ?? null);
  emit(pass, { kind: "command-noted", command: "pause", note: event.note });
  emit(pass, {
    kind: "run-moved",
    by: "pause",
    state: { kind: "PAUSED", leftMs, since, stopReason: null },
  });
  for (const step of touchedSteps(pass)) {
    const moving = movingSide(step)?.state;
    if (moving?.kind === "READY") emit(pass, { kind: "held", step: step.no, task: moving.task });
  }
  messageChildren(pass, { kind: "pause" });
  return DONE;
}

function whyNotPaused(state: RunState): string {
  if (isEnded(state)) return "it has ended, and a final state does not change";
  return state.kind === "PENDING"
    ? "it has not started: cancel it, or pause it once it has"
    : "it is already ending, which cannot be paused";
}

export function onResume(pass: Pass, event: Extract<RunEvent, { kind: "resume" }>): Answer {
  const { state } = pass.view.run;
  if (isEnded(state))
    return {
      kind: "refused",
      run: state.kind,
      why: "it has ended, and a final state does not change",
    };
  if (state.kind !== "PAUSED") return DONE;
  emit(pass, { kind: "command-noted", command: "resume", note: event.note });
  resumeRunning(pass, "resume", state);
  if (state.stopReason) {
    stop(pass, state.stopReason);
    return DONE;
  }
  messageChildren(pass, { kind: "resume" });
  for (const step of touchedSteps(pass)) {
    const moving = movingSide(step)?.state;
    if (moving?.kind === "HELD") makeReady(pass, step.no, moving.task);
  }
  return DONE;
}
