// The history of a run as a list of events: what happened when.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Attempt, AttemptSource } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Status } from "../../parts/badge.tsx";
import {
  attemptAgentWords,
  attemptStatus,
  failureWords,
  tryName,
} from "../../words/attempt-words.ts";
import { progressWords } from "../../words/progress-words.ts";
import { ruleTone, ruleWords } from "../../words/rule-words.ts";
import { reasonWords, runOutcome } from "../../words/run-words.ts";

export interface HistoryEvent {
  /** Unique in the history. */
  readonly key: string;
  readonly atMs: number;
  /** Id of the step or item; "": the run as a whole. */
  readonly stepId: string;
  readonly what: Status;
  /** Text of the server, an agent or a caller. */
  readonly detail: string;
}

type Time = Attempt["startedTime"];

/** Newest first. Events of one time are in the order in which they are listed here, backwards. */
export function eventsOf(of: GetRunResponse): readonly HistoryEvent[] {
  const events = [
    ...runBegan(of),
    ...of.attempts.flatMap(attemptEvents),
    ...of.signals.map((one) =>
      event(one.receivedTime, `signal ${one.seq}`, one.takenBy, {
        what: { tone: "waiting", word: "signal received" },
        detail: one.takenBy === "" ? `${one.name}, taken by no step` : one.name,
      }),
    ),
    ...of.decisions.map((one) =>
      event(one.decidedTime, `decision ${one.stepId} ${one.approver}`, one.stepId, {
        what: one.approved ? { tone: "ok", word: "approved" } : { tone: "bad", word: "rejected" },
        detail: `by ${one.approver}${one.approverVerified ? " (verified)" : " (not verified)"}${one.comment === "" ? "" : `: ${one.comment}`}`,
      }),
    ),
    ...of.interventions.map((one) =>
      event(one.actedTime, `act ${one.stepId} ${one.rule} ${one.fence} ${one.saw}`, one.stepId, {
        what: { tone: ruleTone(one.rule), word: ruleWords(one.rule) },
        detail: `${one.saw} → ${one.did}`,
      }),
    ),
    ...of.escalations.flatMap((one) => [
      event(one.openedTime, `asked ${one.id}`, one.stepId, {
        what: { tone: "warning", word: "escalation opened" },
        detail: `${one.reason}: ${one.message}`,
      }),
      ...(one.closedTime === undefined
        ? []
        : [
            event(one.closedTime, `closed ${one.id}`, one.stepId, {
              what: { tone: "ok", word: "escalation closed" },
              detail: one.answer
                ? `${one.answer.answer}, by ${one.answer.by}${one.answer.why === "" ? "" : `: ${one.answer.why}`}`
                : one.closedBy,
            }),
          ]),
    ]),
    ...runEnded(of),
  ];
  return events.sort((a, b) => a.atMs - b.atMs).reverse();
}

function event(
  at: Time,
  key: string,
  stepId: string,
  of: Pick<HistoryEvent, "what" | "detail">,
): HistoryEvent {
  return { key, stepId, atMs: at === undefined ? 0 : timestampMs(at), ...of };
}

function runBegan({ run }: GetRunResponse): readonly HistoryEvent[] {
  if (run?.createdTime === undefined) return [];
  const what: Status = { tone: "idle", word: "run accepted" };
  return [event(run.createdTime, "accepted", "", { what, detail: "" })];
}

function runEnded({ run }: GetRunResponse): readonly HistoryEvent[] {
  if (run?.endedTime === undefined) return [];
  const { tone, word } = runOutcome(run);
  const detail = run.summary === "" ? reasonWords(run.reason) : run.summary;
  return [event(run.endedTime, "ended", "", { what: { tone, word: `run ${word}` }, detail })];
}

function attemptEvents(of: Attempt): readonly HistoryEvent[] {
  const { stepId, kind, fence, n, late, source } = of;
  const agent = attemptAgentWords(of);
  const key = `${stepId} ${kind} ${fence} ${n} ${late} ${source}`;
  const name = tryName(kind);
  const byAgent = source === AttemptSource.TASK;
  const began = event(of.startedTime, `began ${key}`, stepId, {
    what: { tone: "moving", word: `${name} started` },
    detail: agent === "" ? "" : `attempt ${of.attempt}, agent ${agent}`,
  });
  if (of.endedTime === undefined) return [began];
  const { tone, word } = attemptStatus(of);
  const progress = progressWords(of.progress);
  const ended = event(of.endedTime, `ended ${key}`, stepId, {
    what: { tone, word: byAgent ? `${name} ${word}` : word },
    detail: of.failure
      ? failureWords(of.failure)
      : [agent, progress === "" ? "" : `progress ${progress}`].filter(Boolean).join(", "),
  });
  // Of an answer, and of a report that came too late, only the end is an event.
  return byAgent && !late ? [began, ended] : [ended];
}
