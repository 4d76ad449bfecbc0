// Handles the end of a task, as reported by its agent or as found by the supervisor.

import { beginWave } from "../map.ts";
import type { Attempt, Outcome } from "../model/attempt.ts";
import { isDoneWithoutOutput, SCHEMA_BROKEN } from "../model/evaluator.ts";
import type { EscalationReason } from "../model/history.ts";
import type { Lease, Setback, Step } from "../model/model.ts";
import { currentStrategy, type EffectStatus } from "../model/strategy.ts";
import { succeed } from "../open.ts";
import {
  emit,
  escalate,
  makeReady,
  type Pass,
  planStep,
  planTaskOf,
  setEffectStatus,
  stepOf,
  type TaskEnd,
  totalEndsAt,
} from "../pass.ts";
import { PERMANENT } from "../recovery/fail-step.ts";
import { strategyUndone, totalOver } from "../recovery/leave-strategy.ts";
import { policyFor, recover } from "../recovery/recovery.ts";
import { effectUndone, leaveUndoToRun, noteUndone, stopped } from "../recovery/saga.ts";
import { verifyEnded } from "../recovery/unknown-outcome.ts";

interface ReportSource {
  readonly agentId: string;
  readonly session: string;
  /** Of the reported outcome; null: the supervisor ended the task. */
  readonly digest: string | null;
}

/** Why a task is not made ready again before a person has answered. */
interface Undeliverable {
  readonly reason: EscalationReason;
  readonly code: string;
  readonly message: string;
}

/** Of a task that was claimed and never arrived. */
export interface Undelivery {
  /** Milliseconds until it is ready again. */
  readonly waitMs: number;
  readonly undeliverable: Undeliverable | null;
}

/** Ends the lease of a step with an outcome, and decides what follows. */
export function endTask(
  pass: Pass,
  step: Step,
  lease: Lease,
  reported: Outcome,
  by: ReportSource,
  undelivery: Undelivery | null = null,
): void {
  const plan = planStep(pass, step.no);
  const outcome = checkedOutcome(pass, step, lease, reported);
  const setback = setbackOf(outcome, lease);
  const lost = setback?.lostBy != null && lease.task !== "verify";
  const counts = countsOf(lease, outcome, setback) && !lost;
  const { retry, timeouts } = planTaskOf(plan, step, lease.task);
  emit(pass, {
    kind: "task-ended",
    id: plan.id,
    attempt: attemptOf(pass, step, lease, outcome, by),
    counted: counts ? { policy: setback ? policyFor(retry, setback.code) : null } : null,
    lost,
  });
  if (by.digest === null && outcome.kind === "unknown" && lease.task !== "verify")
    emit(pass, { kind: "settling", step: step.no, until: pass.time.now + timeouts.settleMs });
  const ended: TaskEnd = {
    fence: lease.fence,
    n: lease.task === "verify" ? lease.attempt : 0,
    session: lease.session,
    outcome,
    setback,
    settles: false,
  };
  if (undelivery?.undeliverable)
    endedUndeliverable(pass, step.no, lease.task, ended, undelivery.undeliverable);
  else if (undelivery && undelivery.waitMs > 0 && pass.view.run.state.kind !== "STOPPING")
    backOff(pass, step.no, lease.task, undelivery.waitMs);
  else taskEnded(pass, step.no, lease.task, ended);
}

function backOff(pass: Pass, no: number, task: Lease["task"], waitMs: number): void {
  const step = stepOf(pass, no);
  const wakeAt = pass.time.now + waitMs;
  if (task === "perform" && wakeAt >= totalEndsAt(pass, step)) totalOver(pass, step);
  else emit(pass, { kind: "backed-off", step: no, task, cause: "retry", wakeAt });
}

/**
 * A task that no agent can receive would fail again after the next claim. For a perform task a
 * person is asked; an undo fails as any other, and a verify is inconclusive.
 */
function endedUndeliverable(
  pass: Pass,
  no: number,
  task: Lease["task"],
  ended: TaskEnd,
  { reason, code, message }: Undeliverable,
): void {
  if (task === "perform" && pass.view.run.state.kind !== "STOPPING") {
    escalate(pass, no, reason, message, code);
    return;
  }
  if (task === "perform") {
    taskEnded(pass, no, task, ended);
    return;
  }
  const setback: Setback = { ...PERMANENT, code, message };
  const outcome = failureOf(setback);
  taskEnded(pass, no, task, { ...ended, outcome, setback });
}

/** Decides what follows from the end of a task, whether an agent or the supervisor ended it. */
export function taskEnded(pass: Pass, no: number, task: Lease["task"], ended: TaskEnd): void {
  if (task === "perform") forwardEnded(pass, no, ended);
  else if (task === "verify") verifyEnded(pass, no, ended);
  else undoEnded(pass, no, ended);
}

/** A success whose output violates the step's schema becomes a permanent failure. */
export function evaluated(pass: Pass, no: number, outcome: Outcome): Outcome {
  if (outcome.kind !== "success") return outcome;
  const problem = pass.evaluator.outputProblem(no, outcome.output);
  if (problem === null) return outcome;
  const message = `its output does not match output_schema: ${problem}`;
  return failureOf({ code: SCHEMA_BROKEN, message });
}

function failureOf({ code, message }: Pick<Setback, "code" | "message">): Outcome {
  return {
    kind: "failure",
    class: "permanent",
    code,
    message,
    retryAfterMs: null,
    noEffect: false,
  };
}

/**
 * The output of a perform or verify task must match the step's schema; only a perform task can be
 * deferred.
 */
function checkedOutcome(pass: Pass, step: Step, lease: Lease, reported: Outcome): Outcome {
  const { task } = lease;
  if (reported.kind === "cancelled") return stoppedAs(lease, reported);
  const outcome = task === "perform" ? reported : undeferred(reported);
  return task === "compensate" ? outcome : evaluated(pass, step.no, outcome);
}

/**
 * The outcome of an attempt that its agent stopped: unknown, by the cause of the cancel. It stays
 * cancelled if its run stops, or if there is no effect. A verify that stops has found nothing out.
 */
function stoppedAs(lease: Lease, reported: Extract<Outcome, { kind: "cancelled" }>): Outcome {
  const why = whyStopped(lease);
  if (why === null || (reported.noEffect && lease.task !== "verify")) return reported;
  return { kind: "unknown", ...why };
}

/** null: its run stops. */
function whyStopped({ cancel }: Lease): { code: string; message: string } | null {
  const cause = cancel.kind === "none" ? "unasked" : cancel.cause;
  return cause === "run" ? null : STOPPED[cause];
}

const STOPPED = Object.freeze({
  timeout: { code: "drover.timeout", message: "stopped when it had run past its time" },
  stalled: { code: "drover.stalled", message: "stopped when its progress stalled" },
  unasked: { code: "drover.unknown", message: "stopped without being asked to" },
});

/** Only a perform task has a callback token. */
function undeferred(outcome: Outcome): Outcome {
  return outcome.kind === "deferred"
    ? { kind: "unknown", code: "drover.unknown", message: "only a perform task can be deferred" }
    : outcome;
}

function countsOf(lease: Lease, outcome: Outcome, setback: Setback | null): boolean {
  if (outcome.kind === "success" || setback !== null) return true;
  return lease.task === "verify" && outcome.kind === "again";
}

/** The setback of an outcome; null: there is none. `lease` is null if it had ended before. */
export function setbackOf(outcome: Outcome, lease: Lease | null): Setback | null {
  if (outcome.kind === "failure")
    return {
      code: outcome.code,
      message: outcome.message,
      permanent: outcome.class === "permanent",
      unknown: false,
      retryAfterMs: outcome.retryAfterMs,
      lostBy: null,
    };
  if (outcome.kind === "unknown") {
    const lostBy = outcome.code === "drover.lost" ? (lease?.session ?? null) : null;
    const { code, message } = outcome;
    return { code, message, permanent: false, unknown: true, retryAfterMs: null, lostBy };
  }
  // A cancel because the run stops is no setback.
  const why = outcome.kind === "cancelled" && lease ? whyStopped(lease) : null;
  return why && { ...why, permanent: false, unknown: false, retryAfterMs: null, lostBy: null };
}

function forwardEnded(pass: Pass, no: number, ended: TaskEnd): void {
  const { outcome, setback } = ended;
  const step = stepOf(pass, no);
  setStatusAfter(pass, no, currentStrategy(step), ended);
  if (outcome.kind === "success") {
    // The task of a map itself is its gate.
    if (planStep(pass, no).work.kind === "map") gatePassed(pass, no, outcome);
    else succeed(pass, no, { fence: ended.fence, kind: "perform", n: 0 }, outcome.output);
  } else if (pass.view.run.state.kind === "STOPPING") {
    stopped(pass, stepOf(pass, no), outcome);
  } else if (setback) {
    recover(pass, no, "perform", setback);
  } else if (outcome.kind === "again") {
    askAgain(pass, no, outcome.afterMs);
  } else if (outcome.kind === "deferred") {
    const { now } = pass.time;
    const callbackBy = now + planStep(pass, no).timeouts.callbackMs;
    const wakeAt = Math.min(callbackBy, totalEndsAt(pass, step));
    emit(pass, { kind: "began-waiting", step: no, on: "callback", at: now, wakeAt });
  } else {
    makeReady(pass, no, "perform", released(ended));
  }
}

/** Sets the effect status of a strategy after the outcome of one of its attempts. */
export function setStatusAfter(
  pass: Pass,
  no: number,
  strategy: number,
  ended: Pick<TaskEnd, "outcome" | "settles">,
): void {
  const attempted = planStep(pass, no).compensate?.when === "attempted";
  const found = stepOf(pass, no).strategies[strategy]?.effectStatus ?? "NONE";
  setEffectStatus(pass, no, markAfter(ended, found, attempted), strategy);
}

function gatePassed(pass: Pass, no: number, outcome: Outcome): void {
  if (pass.view.run.state.kind === "STOPPING") stopped(pass, stepOf(pass, no), outcome);
  else beginWave(pass, no);
}

/**
 * The agent asks to get the task later: it holds no lease meanwhile, and no attempt is counted.
 * `total` is the limit.
 */
function askAgain(pass: Pass, no: number, afterMs: number): void {
  const step = stepOf(pass, no);
  const wakeAt = pass.time.now + afterMs;
  if (wakeAt >= totalEndsAt(pass, step)) totalOver(pass, step);
  else emit(pass, { kind: "backed-off", step: no, task: "perform", cause: "again", wakeAt });
}

/** A released task goes to another session: the one that released it is draining. */
function released(ended: TaskEnd): string | null {
  return ended.outcome.kind === "released" ? ended.session : null;
}

function undoEnded(pass: Pass, no: number, ended: TaskEnd): void {
  const { outcome, setback } = ended;
  const { forward, undo } = stepOf(pass, no);
  if (undo.kind === "NONE") {
    // A late report of the undo of a strategy that was left to the run.
    if (outcome.kind === "success") noteUndone(pass, no);
  } else if (forward.kind === "UNDOING" && pass.view.run.state.kind === "STOPPING") {
    if (outcome.kind === "success") strategyUndone(pass, no);
    else leaveUndoToRun(pass, no);
  } else if (outcome.kind === "success") {
    if (forward.kind === "UNDOING") strategyUndone(pass, no);
    else effectUndone(pass, no);
  } else if (outcome.kind === "again") {
    const wakeAt = pass.time.now + outcome.afterMs;
    emit(pass, { kind: "backed-off", step: no, task: "compensate", cause: "again", wakeAt });
  } else if (setback) recover(pass, no, "compensate", setback);
  else makeReady(pass, no, "compensate", released(ended));
}

/** The effect status of the strategy after this outcome. */
function markAfter(
  { outcome, settles }: Pick<TaskEnd, "outcome" | "settles">,
  found: EffectStatus,
  attempted: boolean,
): EffectStatus {
  // An effect that an attempt left open stays open after another one has ended, until its own
  // report settles it.
  const before = found === "UNSETTLED" && !settles ? "LINGERING" : found;
  switch (outcome.kind) {
    case "success":
      return "MADE";
    case "failure": {
      if (outcome.noEffect) return "NONE";
      // The work was done; only its output is unusable.
      if (isDoneWithoutOutput(outcome.code)) return "MADE";
      const left = before === "UNSETTLED" || before === "CLEARED" ? "NONE" : before;
      return attempted && left === "NONE" ? "ATTEMPTED" : left;
    }
    case "cancelled":
      if (outcome.noEffect) return "NONE";
      return before === "LINGERING" ? before : "UNSETTLED";
    case "unknown":
    case "deferred":
      return before === "LINGERING" ? before : "UNSETTLED";
    case "again":
      return "LINGERING";
    case "released":
      // Not started, but the agent has seen its key: another input gets another key.
      return found === "NONE" ? "CLEARED" : found;
    case "undelivered":
    case "unsent":
    case "superseded":
      return found;
  }
}

export function attemptOf(
  pass: Pass,
  step: Step,
  lease: Lease,
  outcome: Outcome,
  by: ReportSource,
): Attempt {
  return {
    step: step.no,
    kind: lease.task,
    fence: lease.fence,
    n: lease.task === "verify" ? lease.attempt : 0,
    attempt: lease.attempt,
    agentId: lease.agentId,
    session: lease.session,
    secret: lease.secret,
    startedAt: lease.grantedAt,
    endedAt: pass.time.now,
    outcome,
    digest: by.digest,
  };
}
