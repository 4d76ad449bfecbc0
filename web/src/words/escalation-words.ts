// Escalations in words: the question, and the effect of each answer. The same words as on the
// command line and in docs/RUNBOOKS.md.
import type { Escalation, EscalationAnswer } from "@drover/proto/drover/v1/run_pb.ts";
import type { Status } from "../parts/badge.tsx";

const reasons: Readonly<Record<string, string>> = {
  unknown: "nobody knows if it took effect",
  unverified: "its verify could not tell if it took effect",
  poison: "three agents in a row were lost with it, or it never arrived at ten in a row",
  "step-failed": "it failed",
  "after-pivot": "it failed where undoing is no longer possible",
  expression: "an expression failed",
  pickup: "nobody asks for the task",
  expired: "what it waits for did not come in time",
  "undo-failed": "undoing it failed",
  doubled: "its effect may be doubled",
};

const styles: Readonly<Record<string, string>> = {
  unknown: "Look in the remote service whether it did, by its key: that decides.",
  unverified: "Look in the remote service whether it did, by its key: that decides.",
  poison:
    "Look at what the agents died of, or whether it is too large for them to receive: trying again may fail alike.",
  "step-failed": "Look at its error: with another input it may go well.",
  "after-pivot": "The run can only go on: mend the cause, then try again.",
  expression: "Look at the value that it met: with another input it may go well.",
  pickup: "Start an agent that asks for it, then try again.",
  expired: "Ask who should have sent it.",
  "undo-failed": "Try again once the service is back; or undo it by hand, and say that it is done.",
  doubled: "Look in the remote service for both, and undo there by hand what is too much.",
};

/**
 * As "it failed"; a reason of a newer server is shown by its name. `code`: the code of the last
 * error.
 */
export function reasonOfQuestion(reason: string, code = ""): string {
  if (isStalled(reason, code)) return "it stood still";
  return reasons[reason] ?? reason;
}

/** What to check before answering; empty: there is no advice for the reason. */
export function lookFirst(reason: string, code = ""): string {
  if (isStalled(reason, code))
    return "Look what its agent waited for: it lived, and got no further. Mend that, then try again.";
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
        means: "try it anew with the same input",
        happens: `${subject} is tried anew with the same input, and the run goes on with what comes of it. If an earlier try took effect after all, the remote service must know it by its key.`,
      };
    case "retry-changed":
      return {
        ...plain,
        name: "Try again with another input",
        means: "try it anew, with what you write as its whole input",
        happens: `${subject} is tried anew, with what you write here as its whole input.`,
        takes: "input",
      };
    case "succeed":
      return {
        ...plain,
        name: "It is done",
        means: "go on, with what you write as its output",
        happens: `${subject} counts as done, and the run goes on. Nobody does it again, so be sure that it is.`,
        takes: "output",
      };
    case "skip":
      return {
        ...plain,
        name: "Skip it",
        means: "go on as if it were not needed",
        happens: `${subject} is passed over, and the run goes on. What it may have done stays.`,
      };
    case "compensate":
      return {
        ...plain,
        name: "Undo the run",
        means: "stop, and undo in reverse order what was done",
        happens:
          "The run stops, and what it has done is undone in reverse order. This cannot be taken back.",
        danger: true,
      };
    case "fail":
      return {
        ...plain,
        name: "Fail the run",
        means: "the run fails, and what was done stays",
        happens:
          "The run ends as failed, and all that it has done stays as it is. This cannot be taken back.",
        danger: true,
      };
    case "acknowledge":
      return {
        ...plain,
        name: "Acknowledge",
        means: "it is known, and nothing is to be done",
        happens: "The question is closed, and nothing else happens. Write down what you did.",
      };
    default:
      return {
        ...plain,
        means: "this page does not know it",
        happens: "The server says what it does.",
      };
  }
}

/** Whether a person has claimed it, or it is closed. */
export function questionStatus({ closedTime, claimedBy }: Escalation): Status {
  if (closedTime !== undefined) return { tone: "ok", word: "closed" };
  if (claimedBy !== "") return { tone: "waiting", word: `${claimedBy} is at it` };
  return { tone: "warning", word: "needs a person" };
}

/** `skip, said ada (not verified): the hotel is not needed` */
export function answeredWords({ answer, by, byVerified, why }: EscalationAnswer): string {
  const who = byVerified ? by : `${by} (not verified)`;
  return `${answer}, said ${who}${why === "" ? "" : `: ${why}`}`;
}
