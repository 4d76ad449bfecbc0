// Applies the messages of other runs. No sender waits for an answer, so a message that the run
// cannot follow any more has no effect: a run that has ended takes its messages and stays as it is.

import { advanceByCounters } from "../map.ts";
import type { RunMoveCause } from "../model/effect.ts";
import type { Answer } from "../model/event.ts";
import type { Message } from "../model/message.ts";
import { type End, isEnded, stageOf } from "../model/model.ts";
import { begin } from "../open.ts";
import { emit, type Pass } from "../pass.ts";
import { resumeStopped, stop } from "../recovery/saga.ts";
import { childEnded } from "./on-child.ts";
import { onCancel, onPause, onResume } from "./on-command.ts";
import { onRunTimer } from "./on-due.ts";

/**
 * Applies the messages in their order. The pass removes each message that it applies, so a repeated
 * event is harmless. A child run begins in its first pass that applies messages.
 */
export function onMessages(pass: Pass): Answer {
  for (const { no, from, message } of pass.view.messages) {
    apply(pass, message, `requested by run ${from}`);
    emit(pass, { kind: "message-applied", no });
    advanceByCounters(pass);
  }
  beginAsChild(pass);
  return { kind: "done" };
}

function beginAsChild(pass: Pass): void {
  const { state, parent } = pass.view.run;
  if (parent === null || state.kind !== "PENDING" || pass.time.now < state.until) return;
  begin(pass);
  advanceByCounters(pass);
}

function apply(pass: Pass, message: Message, note: string): void {
  switch (message.kind) {
    case "cancel":
      onCancel(pass, { kind: "cancel", undo: message.undo, note });
      return;
    case "pause":
      // A PENDING child would refuse the pause and begin later in spite of it, so it begins first.
      beginAsChild(pass);
      onPause(pass, { kind: "pause", note });
      return;
    case "resume":
      onResume(pass, { kind: "resume", note });
      return;
    case "child-ended":
      // A child has no more time than its parent, so the parent's own deadline comes first.
      if (pass.view.run.state.kind === "RUNNING") onRunTimer(pass);
      childEnded(pass, message);
      return;
    case "permit":
      if (waitsForPermit(pass)) begin(pass);
      return;
    case "no-permit":
      if (waitsForPermit(pass)) end(pass, "refuse", { kind: "FAILED", reason: "REFUSED" });
      return;
    case "make-room":
      makeRoom(pass);
  }
}

function waitsForPermit(pass: Pass): boolean {
  const { state } = pass.view.run;
  return state.kind === "PENDING" && state.on === "permit";
}

/**
 * Cancels the run for a newer run of its key. The newer run has to wait if this one has passed its
 * pivot or is ending.
 */
function makeRoom(pass: Pass): void {
  const { state, pivoted } = pass.view.run;
  if (isEnded(state) || pivoted || stageOf(state) !== "RUNNING") return;
  if (state.kind === "PENDING") {
    end(pass, "cancel", { kind: "CANCELLED", reason: "CANCELLED_BY_NEWER" });
    return;
  }
  resumeStopped(pass);
  stop(pass, { reason: "CANCELLED_BY_NEWER", undo: true });
}

function end(pass: Pass, by: RunMoveCause, state: End): void {
  emit(pass, { kind: "run-moved", by, state });
}
