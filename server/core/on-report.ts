// An agent reports how a task ended. The end of a lease revokes nothing by itself: a report counts
// while its attempt is current, that is until another perform or compensate task of the step is
// handed out. After that it changes nothing and is kept as evidence.
import type { Answer, RunEvent } from "./event.ts";
import {
  currentFence,
  type EndedAttempt,
  isEnded,
  isFinal,
  movingSide,
  type Outcome,
  type Step,
} from "./model.ts";
import { endTask, forwardEnded, type TaskEnd, undoEnded } from "./on-task-end.ts";
import { emit, intervene, type Pass, planTaskOf, stepOf } from "./pass.ts";
import { policyFor } from "./retry.ts";

type Report = Extract<RunEvent, { kind: "report" }>;

export function onReport(pass: Pass, report: Report): Answer {
  if (!pass.plan.steps[report.step]) return { kind: "no-such-task" };
  const step = stepOf(pass, report.step);
  const moving = movingSide(step)?.state;
  if (moving?.kind === "LEASED" && moving.fence === report.fence && moving.task === report.task) {
    if (moving.secret !== report.secret) return { kind: "no-such-task" };
    endTask(pass, step, moving, report.outcome, report);
    return { kind: "done" };
  }
  const ended = pass.view.attempts.find(
    (attempt) =>
      attempt.step === report.step &&
      attempt.fence === report.fence &&
      attempt.kind === report.task &&
      attempt.secret === report.secret,
  );
  return ended ? onLateReport(pass, step, ended, report) : { kind: "no-such-task" };
}

function onLateReport(pass: Pass, step: Step, ended: EndedAttempt, report: Report): Answer {
  if (ended.digest === report.digest) return { kind: "repeated" };
  const open = ended.outcome === "unknown" || ended.outcome === "cancelled";
  if (!open) return { kind: "over", outcome: ended.outcome };
  const run = pass.view.run.state;
  const settles = report.outcome.kind === "success" || report.outcome.kind === "failure";
  if (!settles) return { kind: "lease-lost", run: run.kind };
  const over = report.task === "perform" ? isFinal(step.forward) : step.undo.kind === "DONE";
  if (isEnded(run) || over || currentFence(step) !== report.fence) {
    keepEvidence(pass, step, ended, report, isEnded(run) || over);
    return { kind: "lease-lost", run: run.kind };
  }
  settle(pass, step, ended, report, report.outcome);
  return { kind: "done" };
}

function settle(
  pass: Pass,
  step: Step,
  ended: EndedAttempt,
  report: Report,
  outcome: Extract<Outcome, { kind: "success" | "failure" }>,
): void {
  const side = ended.kind === "perform" ? "forward" : "undo";
  const code = outcome.kind === "failure" ? outcome.code : null;
  const policy = code === null ? null : policyFor(planTaskOf(pass, step.no, side).retry, code);
  emit(pass, {
    kind: "attempt-settled",
    attempt: attemptOf(pass, ended, report, ended.kind),
    counted: ended.lost ? { policy } : null,
  });
  if (step.forward.kind === "ESCALATED" || step.undo.kind === "FAILED")
    emit(pass, { kind: "escalation-closed", step: step.no, by: "a late report of the attempt" });
  const setback =
    outcome.kind === "success"
      ? null
      : {
          code: outcome.code,
          message: outcome.message,
          permanent: outcome.class === "permanent",
          retryAfterMs: outcome.retryAfterMs,
          lostBy: null,
        };
  const end: TaskEnd = { fence: ended.fence, session: report.session, outcome, setback };
  if (side === "forward") forwardEnded(pass, step.no, end);
  else undoEnded(pass, step.no, end);
}

function keepEvidence(
  pass: Pass,
  step: Step,
  ended: EndedAttempt,
  report: Report,
  final: boolean,
): void {
  emit(pass, { kind: "attempt-kept", attempt: attemptOf(pass, ended, report, "late") });
  if (final && report.outcome.kind === "success")
    intervene(pass, "late-effect", {
      step,
      fence: ended.fence,
      dueAt: pass.occasion.now,
      saw: `${report.agentId} reports a success of attempt ${ended.attempt} after the step was final`,
      did: "kept the report as evidence; nothing changed",
    });
}

function attemptOf(
  pass: Pass,
  ended: EndedAttempt,
  report: Report,
  kind: "perform" | "compensate" | "late",
) {
  return {
    step: ended.step,
    kind,
    fence: ended.fence,
    attempt: ended.attempt,
    agentId: report.agentId,
    session: report.session,
    secret: ended.secret,
    startedAt: ended.startedAt,
    endedAt: pass.occasion.now,
    outcome: report.outcome,
    digest: report.digest,
  };
}
