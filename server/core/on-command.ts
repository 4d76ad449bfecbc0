// What a person, or an agent about its own polls, asks of a run.
import type { Answer, RunEvent } from "./event.ts";
import { isEnded, movingSide } from "./model.ts";
import { endTask } from "./on-task-end.ts";
import { emit, intervene, type Pass, stepOf, touchedSteps } from "./pass.ts";
import { stop } from "./saga.ts";

const DONE: Answer = { kind: "done" };

/** Cancel, undoing what was done or leaving it. Repeating it changes nothing. */
export function onCancel(pass: Pass, event: Extract<RunEvent, { kind: "cancel" }>): Answer {
  const { state } = pass.view.run;
  if (isEnded(state)) {
    if (state.reason === "CANCELLED_BY_USER") return DONE;
    return { kind: "refused", run: state.kind, why: "it has ended, and final is final" };
  }
  if (state.kind === "STOPPING" || state.kind === "COMPENSATING") return DONE;
  if (state.kind === "RUNNING" || state.verdict === null) {
    emit(pass, { kind: "cancel-noted", note: event.note });
    stop(pass, { reason: "CANCELLED_BY_USER", undo: event.undo });
    return DONE;
  }
  if (event.undo)
    return {
      kind: "refused",
      run: state.kind,
      why: "its undoing has failed and waits for a person: cancel with LEAVE ends it as it is",
    };
  emit(pass, { kind: "cancel-noted", note: event.note });
  for (const step of touchedSteps(pass))
    if (step.undo.kind === "FAILED")
      emit(pass, { kind: "escalation-closed", step: step.no, by: "cancel, leaving things" });
  emit(pass, {
    kind: "run-moved",
    state: { kind: "CANCELLED", reason: "CANCELLED_BY_USER" },
  });
  return DONE;
}

/** The poll that a task was granted to ended without an answer: it was never delivered. */
export function onUndelivered(
  pass: Pass,
  event: Extract<RunEvent, { kind: "undelivered" }>,
): Answer {
  const step = stepOf(pass, event.step);
  const lease = movingSide(step)?.state;
  if (lease?.kind !== "LEASED" || lease.secret !== event.secret) return DONE;
  const { agentId, session } = lease;
  endTask(pass, step, lease, { kind: "undelivered" }, { agentId, session, digest: null });
  intervene(pass, "delivery", {
    step,
    fence: lease.fence,
    dueAt: pass.occasion.now,
    saw: `poll ${lease.pollSeq} of ${agentId} ended without an answer: the task never arrived`,
    did: "gave it back; nothing counted",
  });
  return DONE;
}
