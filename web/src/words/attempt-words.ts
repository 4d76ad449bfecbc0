// The outcomes of attempts in words, and their performers.
import { type Attempt, AttemptSource, type Failure } from "@drover/proto/drover/v1/run_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import type { Status } from "../parts/badge.tsx";
import { instanceWords } from "./agent-words.ts";
import { outcomeStatus } from "./outcome-words.ts";

const kinds: Readonly<Record<number, string>> = {
  [TaskKind.PERFORM]: "perform",
  [TaskKind.VERIFY]: "verify",
  [TaskKind.COMPENSATE]: "compensate",
};

const names: Readonly<Record<number, string>> = {
  [TaskKind.PERFORM]: "attempt",
  [TaskKind.VERIFY]: "verification",
  [TaskKind.COMPENSATE]: "compensation",
};

export function taskKindWords(kind: TaskKind): string {
  return kinds[kind] ?? "unknown";
}

/** What a try of this kind is called, as in "compensation 1". */
export function tryName(kind: TaskKind): string {
  return names[kind] ?? "task";
}

/** The agent that had the task, or the person whose answer ended the step. */
export function performerWords({ agentId, source }: Attempt): string {
  return source === AttemptSource.ANSWER ? `${agentId}, by an answer` : agentId || "–";
}

/** An attempt that has not ended is with its agent. */
export function attemptStatus({ outcome, late }: Attempt): Status {
  const { tone, word } = outcomeStatus(outcome);
  return { tone, word: late ? `${word}, late` : word };
}

/** `sold-out: no seats left` */
export function failureWords({ code, message }: Pick<Failure, "code" | "message">): string {
  return [code, message].filter((part) => part !== "").join(": ");
}

/** `mail-1 on pc-7 (3f2a91bc)`: the agent and its instance; empty: the attempt had no agent. */
export function attemptAgentWords({ agentId, host, session }: Attempt): string {
  const on = host === "" ? "" : ` on ${host}`;
  const instance = session.length === 0 ? "" : ` (${instanceWords(session)})`;
  return agentId === "" ? "" : `${agentId}${on}${instance}`;
}
