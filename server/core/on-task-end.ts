// What the end of a task means: a report of its agent, or what the supervisor found in its place.
import { climb, type Setback } from "./ladder.ts";
import type { Attempt, EffectMark, Lease, Outcome, Step } from "./model.ts";
import { emit, makeReady, type Pass, planTaskOf, stepOf } from "./pass.ts";
import { policyFor } from "./retry.ts";
import { startUndos } from "./saga.ts";

export interface Teller {
  /** Who says so; null when the supervisor does. */
  readonly agentId: string;
  readonly session: string;
  readonly digest: string | null;
}

/** Ends the lease of a step with an outcome, and decides what follows. */
export function endTask(pass: Pass, step: Step, lease: Lease, outcome: Outcome, by: Teller): void {
  const side = lease.task === "perform" ? "forward" : "undo";
  const setback = setbackOf(outcome, lease);
  const lost = setback?.lostBy != null;
  const counts = outcome.kind === "success" || (setback !== null && !lost);
  const { retry, timeouts } = planTaskOf(pass, step.no, side);
  emit(pass, {
    kind: "task-ended",
    attempt: attemptOf(pass, step, lease, outcome, by),
    counted: counts ? { policy: setback ? policyFor(retry, setback.code) : null } : null,
    lost,
  });
  if (by.digest === null && outcome.kind === "unknown")
    emit(pass, { kind: "settling", step: step.no, until: pass.occasion.now + timeouts.settleMs });
  const ended: TaskEnd = { fence: lease.fence, session: lease.session, outcome, setback };
  if (side === "forward") forwardEnded(pass, step.no, ended);
  else undoEnded(pass, step.no, ended);
}

export interface TaskEnd {
  readonly fence: number;
  /** The session that held the task. */
  readonly session: string;
  readonly outcome: Outcome;
  /** What stands in the way now; null where nothing failed. */
  readonly setback: Setback | null;
}

function setbackOf(outcome: Outcome, lease: Lease): Setback | null {
  if (outcome.kind === "failure")
    return {
      code: outcome.code,
      message: outcome.message,
      permanent: outcome.class === "permanent",
      retryAfterMs: outcome.retryAfterMs,
      lostBy: null,
    };
  if (outcome.kind === "unknown") {
    const lostBy = outcome.code === "drover.lost" ? lease.session : null;
    return { ...unknownSetback, code: outcome.code, message: outcome.message, lostBy };
  }
  if (outcome.kind !== "cancelled") return null;
  if (lease.cancel.kind === "none")
    return { ...unknownSetback, code: "drover.unknown", message: "stopped, though nobody asked" };
  const message = "stopped when it had run past its time";
  return lease.cancel.cause === "timeout"
    ? { ...unknownSetback, code: "drover.timeout", message }
    : null;
}

const unknownSetback = { permanent: false, retryAfterMs: null, lostBy: null } as const;

export function forwardEnded(pass: Pass, no: number, ended: TaskEnd): void {
  const { outcome, setback } = ended;
  const mark = markAfter(outcome, stepOf(pass, no).effect);
  if (mark !== stepOf(pass, no).effect) emit(pass, { kind: "effect-marked", step: no, mark });
  if (outcome.kind === "success") {
    succeed(pass, no, ended.fence);
  } else if (pass.view.run.state.kind === "STOPPING") {
    if (outcome.kind === "failure") emit(pass, { kind: "failed", step: no, code: outcome.code });
    else emit(pass, { kind: "cancelled", step: no });
  } else if (setback) {
    climb(pass, no, "forward", setback);
  } else {
    makeReady(pass, no, "forward", released(ended));
  }
}

/** A released task goes to another agent: the one that gave it back is draining. */
function released(ended: TaskEnd): string | null {
  return ended.outcome.kind === "released" ? ended.session : null;
}

function succeed(pass: Pass, no: number, fence: number): void {
  emit(pass, { kind: "succeeded", step: no, fence });
  if (pass.view.run.state.kind === "STOPPING") return;
  for (const successor of pass.plan.steps[no]?.successors ?? []) {
    emit(pass, { kind: "need-ended", step: successor });
    const { forward } = stepOf(pass, successor);
    if (forward.kind === "BLOCKED" && forward.waitingFor === 0)
      makeReady(pass, successor, "forward", null);
  }
}

export function undoEnded(pass: Pass, no: number, ended: TaskEnd): void {
  if (ended.outcome.kind === "success") {
    emit(pass, { kind: "undone", step: no });
    startUndos(pass);
  } else if (ended.setback) climb(pass, no, "undo", ended.setback);
  else makeReady(pass, no, "undo", released(ended));
}

/** What the strategy may have left at the remote service, after this outcome. */
function markAfter(outcome: Outcome, before: EffectMark): EffectMark {
  switch (outcome.kind) {
    case "success":
      return "MADE";
    case "failure":
      return outcome.noEffect ? "NONE" : before;
    case "cancelled":
      return outcome.noEffect ? "NONE" : "UNSETTLED";
    case "unknown":
      return "UNSETTLED";
    case "released":
    case "undelivered":
      return before;
  }
}

function attemptOf(pass: Pass, step: Step, lease: Lease, outcome: Outcome, by: Teller): Attempt {
  return {
    step: step.no,
    kind: lease.task,
    fence: lease.fence,
    attempt: lease.attempt,
    agentId: lease.agentId,
    session: lease.session,
    secret: lease.secret,
    startedAt: lease.grantedAt,
    endedAt: pass.occasion.now,
    outcome,
    digest: by.digest,
  };
}
