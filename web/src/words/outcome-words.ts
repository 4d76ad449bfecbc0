// How an attempt ended: one tone and one word for each outcome.
import { OutcomeKind } from "@drover/proto/drover/v1/run_pb.ts";
import type { Status } from "../parts/badge.tsx";

const outcomes: Readonly<Record<OutcomeKind, Status>> = {
  [OutcomeKind.UNSPECIFIED]: { tone: "moving", word: "in progress" },
  [OutcomeKind.SUCCESS]: { tone: "ok", word: "done" },
  [OutcomeKind.FAILURE]: { tone: "bad", word: "failed" },
  [OutcomeKind.UNKNOWN]: { tone: "warning", word: "outcome unknown" },
  [OutcomeKind.AGAIN]: { tone: "waiting", word: "to be retried" },
  [OutcomeKind.DEFERRED]: { tone: "waiting", word: "accepted, outcome follows" },
  [OutcomeKind.RELEASED]: { tone: "idle", word: "released" },
  [OutcomeKind.CANCELLED]: { tone: "idle", word: "stopped on request" },
  [OutcomeKind.GIVEN_BACK]: { tone: "idle", word: "never reached the agent" },
  [OutcomeKind.SUPERSEDED]: { tone: "idle", word: "no longer needed" },
};

export function outcomeStatus(outcome: OutcomeKind): Status {
  return outcomes[outcome] ?? { tone: "idle", word: "ended" };
}
