// What became of tasks that agents had, and of whom.
import { type Attempt, AttemptSource, type Failure } from "@drover/proto/drover/v1/run_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import type { Standing } from "../parts/badge.tsx";
import { outcomeStanding } from "./outcome-words.ts";

const kinds: Readonly<Record<number, string>> = {
  [TaskKind.PERFORM]: "perform",
  [TaskKind.VERIFY]: "verify",
  [TaskKind.COMPENSATE]: "undo",
};

export function taskKindWords(kind: TaskKind): string {
  return kinds[kind] ?? "unknown";
}

/** Who had it: an agent, or the person whose answer stands for its end. */
export function performerWords({ agentId, source }: Attempt): string {
  return source === AttemptSource.ANSWER ? `${agentId}, by an answer` : agentId || "–";
}

/** One that has not ended is in hand. */
export function attemptStanding({ outcome, late }: Attempt): Standing {
  const { tone, word } = outcomeStanding(outcome);
  return { tone, word: late ? `${word}, late` : word };
}

/** `sold-out: no seats left` */
export function failureWords({ code, message }: Pick<Failure, "code" | "message">): string {
  return [code, message].filter((part) => part !== "").join(": ");
}
