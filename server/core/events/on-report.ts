// Handles reports of how a task ended, by its agent or by the holder of its callback token. The end
// of a lease revokes nothing by itself: a report counts while its attempt is current, that is until
// another perform or compensate task of the step is claimed. After that a report changes nothing
// and is stored as evidence.

import type { AttemptKind, EndedAttempt, Outcome } from "../model/attempt.ts";
import type { Answer, RunEvent } from "../model/event.ts";
import {
  currentFence,
  isEnded,
  isFinal,
  type Lease,
  movingSide,
  type Step,
  stageOf,
} from "../model/model.ts";
import { publicStep } from "../model/public-state.ts";
import { currentStrategy, isFresh, isUnsettled, strategyToUndo } from "../model/strategy.ts";
import { emit, escalate, intervene, type Pass, planStep, planTaskOf, stepOf } from "../pass.ts";
import { planStepAt } from "../plan/plan.ts";
import { afterUndo, undoStrategy } from "../recovery/leave-strategy.ts";
import { policyFor } from "../recovery/recovery.ts";
import { resumeStopped } from "../recovery/saga.ts";
import {
  attemptOf,
  endTask,
  evaluated,
  setbackOf,
  setStatusAfter,
  taskEnded,
} from "./on-task-end.ts";

type Report = Extract<RunEvent, { kind: "report" }>;
type Callback = Extract<RunEvent, { kind: "callback" }>;

/** A report about an ended attempt, and its sender. */
interface LateReport {
  readonly outcome: Outcome;
  readonly digest: string;
  readonly agentId: string;
  readonly session: string;
  /** Reported with the callback token. */
  readonly called: boolean;
}

export function onReport(pass: Pass, report: Report): Answer {
  if (!planStepAt(pass.plan, report.step)) return { kind: "no-such-task" };
  const step = stepOf(pass, report.step);
  const lease = movingSide(step)?.state;
  if (lease?.kind === "LEASED" && lease.fence === report.fence && lease.task === report.task) {
    if (lease.secret === report.secret) {
      endTask(pass, step, lease, report.outcome, report);
      return { kind: "done" };
    }
    // Verifies of one attempt share its fence.
    if (report.task !== "verify") return { kind: "no-such-task" };
  }
  const ended = findEnded(pass, report.task, report);
  return ended
    ? onEnded(pass, step, ended, { ...report, called: false })
    : { kind: "no-such-task" };
}

/**
 * CompleteDeferred: valid whether or not the agent has deferred, also before it has reported.
 * CompleteStep: valid only while the step waits for the callback.
 */
export function onCallback(pass: Pass, callback: Callback): Answer {
  const { secret, fence, outcome, digest } = callback;
  const refused = callback.secretDigest === null ? notDeferred(pass, callback) : null;
  if (refused !== null) return refused;
  if (secret === null || !planStepAt(pass.plan, callback.step)) return { kind: "no-such-task" };
  const step = stepOf(pass, callback.step);
  const { forward } = step;
  if (forward.kind === "LEASED" && forward.task === "perform" && forward.secret === secret) {
    const { agentId, session } = forward;
    endTask(pass, step, forward, outcome, { agentId, session, digest });
    return { kind: "done" };
  }
  const ended = findEnded(pass, "perform", { step: callback.step, fence, secret });
  if (!ended) return { kind: "no-such-task" };
  const { agentId, session } = ended;
  return onEnded(pass, step, ended, { outcome, digest, agentId, session, called: true });
}

/** Why an operator may not report an outcome of the step; null: it waits for its callback. */
function notDeferred(pass: Pass, { step: no, fence, secret, digest }: Callback): Answer | null {
  const planned = planStepAt(pass.plan, no);
  if (!planned) return { kind: "no-such-task" };
  const ended =
    secret === null ? undefined : findEnded(pass, "perform", { step: no, fence, secret });
  if (ended?.digest === digest) return { kind: "repeated" };
  const run = pass.view.run.state;
  const step = stepOf(pass, no);
  const { forward } = step;
  const waits = forward.kind === "WAITING" && forward.on === "callback";
  if (waits && step.fence === fence) return null;
  const { state } = publicStep(step, run, planned.always);
  const why = isEnded(run)
    ? `The run is ${run.kind}: no step of it waits for a callback.`
    : waits
      ? `The step "${planned.id}" waits for the callback of a later attempt.`
      : `The step "${planned.id}" does not wait for a callback: it is ${state}.`;
  return { kind: "refused", run: run.kind, why };
}

function findEnded(
  pass: Pass,
  kind: EndedAttempt["kind"],
  { step, fence, secret }: Pick<Report, "step" | "fence" | "secret">,
): EndedAttempt | undefined {
  return pass.view.attempts.find(
    (attempt) =>
      attempt.step === step &&
      attempt.fence === fence &&
      attempt.kind === kind &&
      attempt.secret === secret,
  );
}

function onEnded(pass: Pass, step: Step, ended: EndedAttempt, report: LateReport): Answer {
  if (ended.digest === report.digest) return { kind: "repeated" };
  const isKnown = ended.outcome === "success" || ended.outcome === "failure";
  // The callback came before the agent's own report.
  if (!report.called && isKnown && report.outcome.kind === "deferred") return { kind: "repeated" };
  const open =
    ended.outcome === "unknown" ||
    ended.outcome === "cancelled" ||
    ended.outcome === "deferred" ||
    (report.called && report.outcome.kind === "success" && ended.transient);
  if (!open && ended.outcome !== "superseded") return { kind: "over", outcome: ended.outcome };
  const run = pass.view.run.state;
  const { outcome } = report;
  if (outcome.kind !== "success" && outcome.kind !== "failure")
    return { kind: "lease-lost", run: run.kind };
  const over =
    ended.kind === "compensate"
      ? step.undo.kind === "DONE" || stageOf(run) === "FINISHING" || isUndone(step)
      : isFinal(step.forward) || isGateOver(step);
  const stale = ended.kind === "verify" || currentFence(step) !== ended.fence;
  if (isEnded(run) || over || stale) {
    emit(pass, { kind: "attempt-stored", attempt: endedAttempt(pass, ended, report, "late") });
    if (outcome.kind === "success" && ended.kind !== "verify")
      lateSuccess(pass, step, ended, report, { final: isEnded(run) || over, stale });
    return { kind: "lease-lost", run: run.kind };
  }
  applyLateOutcome(pass, step, ended, report, outcome);
  return { kind: "done" };
}

/** The last undo has succeeded, and no attempt at the next undo has begun. */
function isUndone({ strategies, attempt, lost }: Step): boolean {
  return (
    attempt === 0 && lost === 0 && strategies.some(({ effectStatus }) => effectStatus === "UNDONE")
  );
}

/** The gate that this attempt belongs to has succeeded, and no attempt at the next has begun. */
function isGateOver({ items, attempt, lost, strategies }: Step): boolean {
  return (
    items !== null &&
    attempt === 0 &&
    lost === 0 &&
    !isUnsettled(strategies.at(-1)?.effectStatus ?? "NONE")
  );
}

/**
 * The late report of the current attempt decides its outcome, and cancels the verify or escalation
 * that was opened when the agent fell silent.
 */
function applyLateOutcome(
  pass: Pass,
  step: Step,
  ended: EndedAttempt,
  report: LateReport,
  reported: Extract<Outcome, { kind: "success" | "failure" }>,
): void {
  const task = ended.kind;
  const outcome = task === "perform" ? evaluated(pass, step.no, reported) : reported;
  const setback = setbackOf(outcome, null);
  const undoing = step.forward.kind === "UNDOING";
  if (task === "perform" && (isFresh(step) || undoing)) {
    if (outcome.kind !== "success") {
      failedBefore(pass, step, ended, { ...report, outcome });
      return;
    }
    if (undoing) emit(pass, { kind: "strategy-undo-ended", step: step.no, attempt: 0 });
    const attempt = ended.counted ? ended.attempt : ended.attempt - 1;
    if (isFresh(step)) emit(pass, { kind: "strategy-dropped", step: step.no, attempt });
  }
  const { retry } = planTaskOf(planStep(pass, step.no), step, task);
  if (step.forward.kind === "LEASED") supersede(pass, step, step.forward);
  emit(pass, {
    kind: "attempt-settled",
    attempt: endedAttempt(pass, ended, { ...report, outcome }, task),
    was: ended.counted,
    // The undo of a strategy that was left to the run does not count any more.
    counted:
      task === "compensate" && step.undo.kind === "NONE"
        ? null
        : { policy: setback ? policyFor(retry, setback.code) : null },
  });
  reopen(pass, step);
  if (step.unknownOutcome && !undoing)
    emit(pass, { kind: "outcome-unknown", step: step.no, unknownOutcome: null });
  const { fence, session } = ended;
  taskEnded(pass, step.no, task, { fence, n: 0, session, outcome, setback, settles: true });
}

/**
 * A late report says that an abandoned strategy failed. The step continues as before, unless the
 * report changes what is known of the effect: then its undo begins, or is needless.
 */
function failedBefore(pass: Pass, step: Step, ended: EndedAttempt, report: LateReport): void {
  const { no } = step;
  const { outcome } = report;
  const attempt = endedAttempt(pass, ended, report, "perform");
  emit(pass, { kind: "attempt-settled", attempt, was: null, counted: null });
  const strategy = currentStrategy(step) - Number(isFresh(step));
  setStatusAfter(pass, no, strategy, { outcome, settles: true });
  const isSettled = strategyToUndo(stepOf(pass, no)) === null;
  const undoing = step.forward.kind === "UNDOING";
  const setback = setbackOf(outcome, null);
  if (undoing && isSettled) {
    afterUndo(pass, no, ended.attempt);
  } else if (!undoing && !isSettled && setback && planStep(pass, no).compensate) {
    reopen(pass, step);
    undoStrategy(pass, no, setback);
  }
}

/** Closes the open escalation of the step, and resumes its run. */
function reopen(pass: Pass, { no, forward, undo }: Step): void {
  resumeStopped(pass);
  if (forward.kind === "ESCALATED" || undo.kind === "FAILED")
    emit(pass, { kind: "escalation-closed", step: no, by: "a late report of the attempt" });
}

/** Cancels the verify that was opened when the agent fell silent. */
function supersede(pass: Pass, step: Step, lease: Lease): void {
  const { agentId, session } = lease;
  emit(pass, {
    kind: "task-ended",
    id: planStep(pass, step.no).id,
    attempt: attemptOf(
      pass,
      step,
      lease,
      { kind: "superseded" },
      { agentId, session, digest: null },
    ),
    counted: null,
    lost: false,
  });
}

/**
 * A success of an attempt that no longer counts: an intervention records it, and a person is asked
 * about a double effect.
 */
function lateSuccess(
  pass: Pass,
  step: Step,
  ended: EndedAttempt,
  report: LateReport,
  { final, stale }: { readonly final: boolean; readonly stale: boolean },
): void {
  const { no, undo } = step;
  const saw = `${report.agentId} reports a success of attempt ${ended.attempt}`;
  if (final)
    intervene(pass, "late-effect", {
      step,
      fence: ended.fence,
      dueAt: pass.time.now,
      saw: `${saw} after ${isFinal(step.forward) || step.items === null ? "the step was final" : "its wave had started"}`,
      did: "stored the report as evidence; nothing changed",
    });
  const again =
    stale && ended.kind === "perform" && (undo.kind === "NONE" || undo.kind === "PENDING");
  const doubled = again && planStep(pass, no).effects !== "idempotent";
  const asked = pass.view.escalations.some(
    (one) => one.step === no && one.reason === "doubled" && one.closedBy === null,
  );
  if (!doubled || asked || isEnded(pass.view.run.state)) return;
  const message = `${saw}, after another attempt was handed out: the effect may be duplicated`;
  escalate(pass, no, "doubled", message);
}

function endedAttempt(pass: Pass, ended: EndedAttempt, report: LateReport, kind: AttemptKind) {
  const late = kind === "late" && report.outcome.kind === "success";
  return {
    step: ended.step,
    kind,
    fence: ended.fence,
    // A late success is evidence of its own beside a late failure of the same attempt.
    n: kind === "late" ? Number(late) : ended.n,
    attempt: ended.attempt,
    agentId: report.agentId,
    session: report.session,
    secret: ended.secret,
    startedAt: ended.startedAt,
    endedAt: pass.time.now,
    outcome: report.outcome,
    digest: report.digest,
  };
}
