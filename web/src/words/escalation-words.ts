// Escalations in words: the question, and the effect of each answer. The same words as on the
// command line and in docs/RUNBOOKS.md.
import type { Escalation, EscalationAnswer } from "@drover/proto/drover/v1/run_pb.ts";
import type { Status } from "../parts/badge.tsx";

const reasons: Readonly<Record<string, string>> = {
  unknown: "it is unknown whether it took effect",
  unverified: "its verify task could not determine whether it took effect",
  poison: "three agents in a row were lost while they had it, or ten deliveries in a row failed",
  "step-failed": "it failed",
  "after-pivot": "it failed after the pivot, where compensation is no longer possible",
  expression: "an expression failed",
  pickup: "no agent polls for the task",
  expired: "what it waited for did not arrive in time",
  "undo-failed": "compensating it failed",
  doubled: "it may have taken effect twice",
};

const styles: Readonly<Record<string, string>> = {
  unknown: "Check in the remote service, by its key, whether it took effect.",
  unverified: "Check in the remote service, by its key, whether it took effect.",
  poison:
    "Check why the agents were lost, or whether the task is too large for them to receive. Otherwise another try may fail in the same way.",
  "step-failed": "Check its error: it may succeed with another input.",
  "after-pivot": "The run can only continue forward: fix the cause, then try again.",
  expression: "Check the value that the expression got: it may succeed with another input.",
  pickup: "Start an agent that polls for it, then try again.",
  expired: "Ask the sender.",
  "undo-failed":
    "Try again once the service is back; or undo the effect by hand, and answer “It is done”.",
  doubled: "Check both effects in the remote service, and undo the surplus one by hand.",
};

/**
 * As "it failed"; a reason of a newer server is shown by its name. `code`: the code of the last
 * error.
 */
export function reasonOfQuestion(reason: string, code = ""): string {
  if (isStalled(reason, code)) return "it made no progress";
  return reasons[reason] ?? reason;
}

/** What to check before answering; empty: there is no advice for the reason. */
export function checkFirst(reason: string, code = ""): string {
  if (isStalled(reason, code))
    return "Its agent was alive but made no progress. Check what the agent waited for, fix that, then try again.";
  return styles[reason] ?? "";
}

function isStalled(reason: string, code: string): boolean {
  return reason === "step-failed" && code === "drover.stalled";
}

/** The subject: a step, or the run as a whole. */
export function subjectWords({ stepId }: Pick<Escalation, "stepId">): string {
  return stepId || "the run";
}

export interface AnswerWords {
  readonly name: string;
  /** The effect, as an imperative. */
  readonly means: string;
  /** What will happen, for the person who is about to answer. */
  readonly happens: string;
  /** What the answer takes besides name and reason. */
  readonly takes: "input" | "output" | null;
  /** The answer cannot be undone, and what the run did is compensated or left. */
  readonly danger: boolean;
}

export function answerWords(answer: string, { stepId }: Pick<Escalation, "stepId">): AnswerWords {
  const subject = stepId === "" ? "The run" : `Step ${stepId}`;
  const plain = { name: answer, takes: null, danger: false } as const;
  switch (answer) {
    case "retry":
      return {
        ...plain,
        name: "Try again",
        means: "try again with the same input",
        happens: `${subject} is tried again with the same input, and the run continues with the result. If an earlier try took effect after all, the remote service must recognize the repetition by its key.`,
      };
    case "retry-changed":
      return {
        ...plain,
        name: "Try again with another input",
        means: "try again, with what you write as its complete input",
        happens: `${subject} is tried again, with what you write here as its complete input.`,
        takes: "input",
      };
    case "succeed":
      return {
        ...plain,
        name: "It is done",
        means: "it is done; continue with what you write as its output",
        happens: `${subject} counts as done, and the run continues. It is not tried again, so make sure that it is done.`,
        takes: "output",
      };
    case "skip":
      return {
        ...plain,
        name: "Skip it",
        means: "continue as if it were not needed",
        happens: `${subject} is skipped, and the run continues. Its effects, if any, remain.`,
      };
    case "compensate":
      return {
        ...plain,
        name: "Compensate the run",
        means: "stop, and compensate completed steps in reverse order",
        happens:
          "The run stops, and its completed steps are compensated in reverse order. This cannot be undone.",
        danger: true,
      };
    case "fail":
      return {
        ...plain,
        name: "Fail the run",
        means: "the run fails, and its effects remain",
        happens: "The run ends as failed, and its effects remain. This cannot be undone.",
        danger: true,
      };
    case "acknowledge":
      return {
        ...plain,
        name: "Acknowledge",
        means: "close it; nothing else happens",
        happens: "The escalation is closed, and nothing else happens. Write down what you did.",
      };
    default:
      return {
        ...plain,
        means: "not known to this page",
        happens: "A newer server defines what it does.",
      };
  }
}

/** Whether a person has claimed it, or it is closed. */
export function questionStatus({ closedTime, claimedBy }: Escalation): Status {
  if (closedTime !== undefined) return { tone: "ok", word: "closed" };
  if (claimedBy !== "") return { tone: "waiting", word: `claimed by ${claimedBy}` };
  return { tone: "warning", word: "open" };
}

/** `skip, by ada (not verified): the hotel is not needed` */
export function answeredWords({ answer, by, byVerified, why }: EscalationAnswer): string {
  const person = byVerified ? by : `${by} (not verified)`;
  return `${answer}, by ${person}${why === "" ? "" : `: ${why}`}`;
}
