/**
 * The text of each line of the timeline. A success at the first attempt has no line, and neither
 * has the end of a backoff: the line of the failure has the time of the next attempt. The summary
 * counts them.
 */
import type { Attempt, RunDetails, Step } from "@drover/sdk";
import type { News } from "./follow.ts";

export interface NewsLine {
  readonly actor: string;
  readonly text: string;
  readonly tone: "plain" | "good" | "trouble" | "rescue" | "undo" | "act";
}

/** Rules of timers that an earlier line has announced. */
const asExpected = new Set(["backoff", "settle", "timer"]);
/** Codes of failures that the line of an intervention reports, with more details. */
const reportedBySupervisor = new Set(["drover.lost", "drover.callback"]);

export function describe(news: News): NewsLine | null {
  switch (news.kind) {
    case "attempt":
      return describeAttempt(news.attempt, news.details);
    case "intervention": {
      const { rule, stepId, saw, did, dueTime, actedTime } = news.intervention;
      if (asExpected.has(rule)) return null;
      const what = stepId === "" ? "" : `${stepId}: `;
      const late = timeBetween(dueTime, actedTime);
      const text = `${what}${saw} (acted ${late} after it was due) → ${did}`;
      return { actor: "supervisor", text, tone: "rescue" };
    }
    case "asked": {
      const { stepId, message } = news.escalation;
      const what = stepId === "" ? "" : `${stepId}: `;
      return {
        actor: "scheduler",
        text: `${what}${message} → escalated to a person`,
        tone: "trouble",
      };
    }
    case "answered": {
      const { stepId, answer } = news.escalation;
      const text = `${stepId}: the answer is "${answer?.answer}": ${answer?.why}`;
      return { actor: answer?.by ?? "", text, tone: "act" };
    }
    case "undone": {
      const { stepId, count } = news;
      return { actor: "scheduler", text: `${stepId}: ${count} items undone`, tone: "undo" };
    }
    case "decided": {
      const { stepId, approver, approved, comment } = news.decision;
      const why = comment === "" ? "" : `: ${comment}`;
      return {
        actor: approver,
        text: `${stepId} ${approved ? "approved" : "rejected"}${why}`,
        tone: "act",
      };
    }
    case "ended":
      return describeEnd(news.details);
  }
}

function describeAttempt(attempt: Attempt, details: RunDetails): NewsLine | null {
  const { stepId, kind, agentId, outcome, failure, source } = attempt;
  if (source === "ANSWER" || reportedBySupervisor.has(failure?.code ?? "")) return null;
  if (kind === "VERIFY") return describeVerify(attempt);
  const actor = agentId === "" ? "scheduler" : agentId;
  const undoing = kind === "COMPENSATE";
  const what = undoing ? `undoing ${stepId}` : stepId;
  const took = timeBetween(attempt.startedTime, attempt.endedTime);
  switch (outcome) {
    case "SUCCESS": {
      const map = mapOf(attempt, details);
      // Many of them may be undone: their map shows it once.
      if (undoing && map !== null) return null;
      if (undoing) return { actor, text: `${stepId} undone`, tone: "undo" };
      if (isGate(attempt, details))
        return { actor, text: `${stepId}: the next wave may start`, tone: "good" };
      if (!details.attempts.some((one) => isSetback(one, attempt))) return null;
      const which =
        attempt.attempt < 2 ? "after an earlier failure" : `at attempt ${attempt.attempt}`;
      return { actor, text: `${stepId} done ${which}`, tone: "good" };
    }
    case "AGAIN":
    case "DEFERRED":
      return null;
    case "CANCELLED":
      return {
        actor,
        text: `${what} stopped after ${took}, as requested${nextOf(attempt, details)}`,
        tone: "undo",
      };
    case "FAILURE":
    case "UNKNOWN": {
      const failed = failure?.class === "PERMANENT" ? "refused" : "failed";
      const how = outcome === "UNKNOWN" ? "outcome unknown" : failed;
      const why = failure === null ? "" : `: ${failure.message}`;
      const text = `${what} ${how} after ${took}${why}${nextOf(attempt, details)}`;
      return { actor, text, tone: "trouble" };
    }
    default:
      return { actor, text: `${what} given back unstarted`, tone: "plain" };
  }
}

/** An earlier attempt at the same step that went wrong. */
function isSetback({ stepId, fence, failure }: Attempt, than: Attempt): boolean {
  return stepId === than.stepId && fence < than.fence && failure !== null;
}

function describeVerify({ stepId, agentId: actor, outcome, failure }: Attempt): NewsLine {
  if (outcome === "SUCCESS")
    return { actor, text: `${stepId} verified: effect found`, tone: "good" };
  if (outcome === "FAILURE")
    return { actor, text: `${stepId} verified: no effect → again`, tone: "rescue" };
  return {
    actor,
    text: `${stepId} verified: ${failure?.message ?? "unknown"}`,
    tone: "trouble",
  };
}

const followsFailure: Partial<Record<RunDetails["run"]["state"], string>> = {
  RUNNING: " → continues without it",
  COMPLETED: " → continues without it",
  FAILED: " → the run fails, with nothing to undo",
};

/** The map of which the attempt was an item; null: it was of a step. */
function mapOf({ stepId }: Attempt, { steps }: RunDetails): Step | null {
  return steps.find(({ id, items }) => items !== null && stepId.startsWith(`${id}[`)) ?? null;
}

/** A map itself is given to agents only as its gate. */
function isGate({ stepId, agentId }: Attempt, { steps }: RunDetails): boolean {
  return agentId !== "" && steps.some(({ id, items }) => items !== null && id === stepId);
}

/** What was decided about it, as far as it can be seen. */
function nextOf(attempt: Attempt, details: RunDetails): string {
  if (attempt.late) return " → too late, stored as evidence";
  const { run, steps } = details;
  const items = mapOf(attempt, details)?.items;
  if (items && attempt.failure?.class === "PERMANENT")
    return ` → ${items.failed} of ${items.total} items failed`;
  const step = steps.find(({ id }) => id === attempt.stepId);
  const isNext = step?.fence === attempt.fence;
  if (isNext && step.state === "BACKOFF" && step.nextTime !== null)
    return ` → again in ${timeBetween(attempt.endedTime, step.nextTime)}`;
  if (step?.state === "FAILED") return followsFailure[run.state] ?? " → undo";
  const isOver = attempt.failure?.class === "PERMANENT" || attempt.outcome === "CANCELLED";
  return isOver && (step?.strategy ?? 0) > 0 ? " → fallback" : "";
}

function describeEnd({ run, attempts, escalations }: RunDetails): NewsLine {
  const actor = "scheduler";
  const took = timeBetween(run.createdTime, run.endedTime);
  switch (run.state) {
    case "COMPLETED":
      return {
        actor,
        text: `COMPLETED in ${took}, ${attempts.length} attempts${warningsOf(run)}`,
        tone: "good",
      };
    case "COMPENSATED":
      return { actor, text: `COMPENSATED in ${took}: nothing is left of it`, tone: "undo" };
    case "ESCALATED": {
      const why = escalations.map(({ message }) => message).join("; ");
      return { actor, text: `ESCALATED to a person: ${why}`, tone: "trouble" };
    }
    default:
      return { actor, text: `${run.state} in ${took}: ${run.reason}`, tone: "trouble" };
  }
}

function warningsOf({ warnings }: RunDetails["run"]): string {
  return warnings === 0 ? "" : `, ${warnings} warning${warnings > 1 ? "s" : ""}`;
}

function timeBetween(from: Date | null, to: Date | null): string {
  const ms = (to?.getTime() ?? 0) - (from?.getTime() ?? 0);
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}
