/** An escalation in words: its question, its name, and the commands that answer it. */
import type { Escalation, EscalationAnswer } from "@drover/proto/drover/v1/run_pb.ts";
import { clean, statedName, timeWords } from "./words.ts";

/** The effect of each answer, in the order in which they are offered. */
export const answerMeanings: Readonly<Record<string, string>> = Object.freeze({
  retry: "try again with the same input",
  "retry-changed": "try again, with --payload as its complete input",
  succeed: "it is done; continue with --payload as its output",
  skip: "continue as if it were not needed",
  compensate: "stop, and compensate completed steps in reverse order",
  fail: "the run fails, and its effects remain",
  acknowledge: "close it; nothing else happens",
});

/** As `drover escalation show` takes it: the run and the number of the escalation in it. */
export function escalationName({ runId, id }: Pick<Escalation, "runId" | "id">): string {
  return `${clean(runId)}/${clean(id)}`;
}

/** The subject: a step, or the run as a whole. */
export function subjectWords({ stepId }: Escalation): string {
  return clean(stepId) || "the run";
}

/** The answer is filled in only if exactly one is known; lists come without answers. */
export function resolveCommand(escalation: Pick<Escalation, "runId" | "id" | "answers">): string {
  const answer = escalation.answers.length === 1 ? clean(escalation.answers[0] ?? "") : "ANSWER";
  return `drover escalation resolve ${escalationName(escalation)} --answer ${answer} --reason TEXT`;
}

/** The person who has claimed it, and when; empty: it is not claimed. */
export function claimedWords({ claimedBy, claimedTime }: Escalation): string {
  return claimedBy === "" ? "" : `${timeWords(claimedTime)}: ${statedName(claimedBy, false)}`;
}

/** When it was closed, and by which answer or event; empty while it is open. */
export function closedWords({ closedTime, closedBy, answer }: Escalation): string {
  if (closedTime === undefined) return "";
  return `${timeWords(closedTime)}: ${answer ? answerWords(answer) : clean(closedBy)}`;
}

/** `skip, by ada (not verified): the hotel is not needed` */
function answerWords({ answer, by, byVerified, why }: EscalationAnswer): string {
  const reason = why === "" ? "" : `: ${clean(why)}`;
  return `${clean(answer)}, by ${statedName(by, byVerified)}${reason}`;
}
