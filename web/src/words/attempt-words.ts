// What became of tasks that agents had: one tone and one word for each outcome.
import {
  type Attempt,
  AttemptSource,
  type Failure,
  OutcomeKind,
} from "@drover/proto/drover/v1/run_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import type { Standing } from "../parts/badge.tsx";

const kinds: Readonly<Record<number, string>> = {
  [TaskKind.PERFORM]: "perform",
  [TaskKind.VERIFY]: "verify",
  [TaskKind.COMPENSATE]: "undo",
};

const outcomes: Readonly<Record<number, Standing>> = {
  [OutcomeKind.SUCCESS]: { tone: "ok", word: "success" },
  [OutcomeKind.FAILURE]: { tone: "bad", word: "failure" },
  [OutcomeKind.UNKNOWN]: { tone: "warning", word: "nobody knows" },
  [OutcomeKind.AGAIN]: { tone: "waiting", word: "again later" },
  [OutcomeKind.DEFERRED]: { tone: "waiting", word: "deferred" },
  [OutcomeKind.RELEASED]: { tone: "idle", word: "released" },
  [OutcomeKind.CANCELLED]: { tone: "idle", word: "cancelled" },
  [OutcomeKind.GIVEN_BACK]: { tone: "idle", word: "given back" },
  [OutcomeKind.SUPERSEDED]: { tone: "idle", word: "superseded" },
};

export function taskKindWords(kind: TaskKind): string {
  return kinds[kind] ?? "unknown";
}

/** Who had it: an agent, or the person whose answer stands for its end. */
export function performerWords({ agentId, source }: Attempt): string {
  return source === AttemptSource.ANSWER ? `${agentId}, by an answer` : agentId || "–";
}

/** One that has not ended is with its agent. */
export function outcomeStanding({ outcome, endedTime, late }: Attempt): Standing {
  if (endedTime === undefined) return { tone: "moving", word: "with its agent" };
  const { tone, word } = outcomes[outcome] ?? { tone: "idle", word: "unknown" };
  return { tone, word: late ? `${word}, late` : word };
}

/** `sold-out: no seats left` */
export function failureWords({ code, message }: Failure): string {
  return [code, message].filter((part) => part !== "").join(": ");
}
