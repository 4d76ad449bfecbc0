// What each event does to a run in each of its states: data for the docs and for the tests. The
// rules do not read it; a test plays every pair, and asserts the answer and the resulting state.
//
// `to` is the state of the played run afterwards; *same* means that it does not change. State
// changes that then follow from the run's counters are in the state table. The text of an event
// without effect begins with "nothing".
import type { Answer, EventKind } from "../model/event.ts";
import type { RunState, Stage } from "../model/model.ts";

/** An ESCALATED run is suspended in one of its stages, which decides what it accepts. */
export type EventState = Exclude<RunState["kind"], "ESCALATED"> | `ESCALATED in ${Stage["kind"]}`;

/** A cancel that undoes effects and one that leaves them are two events here. */
export type TableEvent = Exclude<EventKind, "cancel"> | "cancel UNDO" | "cancel LEAVE";

interface EventRow {
  readonly event: TableEvent;
  readonly state: EventState;
  readonly answer: Answer["kind"];
  readonly to: EventState | "same";
  readonly does: string;
}

/** Compact rows of one event: states, answer, to, does. */
type Row = readonly [readonly EventState[], Answer["kind"], EventState | "same", string];

const ENDED: readonly EventState[] = ["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED"];
const ASKING: readonly EventState[] = [
  "ESCALATED in RUNNING",
  "ESCALATED in STOPPING",
  "ESCALATED in COMPENSATING",
  "ESCALATED in FINISHING",
];
/** States of a run that is ending. */
const ENDING: readonly EventState[] = ["STOPPING", "COMPENSATING", "FINISHING"];
const ASKING_AT_THE_END: readonly EventState[] = ASKING.slice(1);

const STALE = "nothing: such a run has no such timer";
const REMINDED = "nothing: people are reminded; past its deadline it is an answer";
const FINAL = "refused: a final state does not change";

function rows(event: TableEvent, compact: readonly Row[]): readonly EventRow[] {
  return compact.flatMap(([states, answer, to, does]) =>
    states.map((state) => Object.freeze({ event, state, answer, to, does })),
  );
}

/** One row for each pair of an event and a state. */
export const EVENT_TABLE: readonly EventRow[] = Object.freeze([
  ...rows("report", [
    [["PENDING"], "no-such-task", "same", "refused: no task of it was ever handed out"],
    [["RUNNING"], "done", "same", "ends the attempt; the recovery policy or the next steps follow"],
    [["PAUSED"], "done", "same", "ends the attempt; what that makes ready is held"],
    [["STOPPING"], "done", "same", "ends the attempt; a success counts as an effect"],
    [["COMPENSATING"], "done", "same", "ends the undo; the next effects are undone"],
    [["FINISHING"], "done", "same", "ends the attempt of an always step"],
    [["ESCALATED in RUNNING"], "done", "RUNNING", "settles the unknown: the question is closed"],
    [["ESCALATED in STOPPING"], "done", "COMPENSATING", "settles the unknown: the undoing begins"],
    [["ESCALATED in COMPENSATING"], "done", "COMPENSATING", "settles the undo that was given up"],
    [["ESCALATED in FINISHING"], "done", "COMPLETED", "settles the always step, the last one here"],
    [ENDED, "lease-lost", "same", "stored as evidence; a success is an intervention, late-effect"],
  ]),
  ...rows("callback", [
    [["PENDING"], "no-such-task", "same", "refused: no task of it was ever handed out"],
    [["RUNNING"], "done", "same", "settles the attempt, whether its agent has deferred or not"],
    [["PAUSED"], "done", "same", "settles the attempt; what that makes ready is held"],
    [["STOPPING"], "done", "same", "settles the attempt that is leased; a success is an effect"],
    [["COMPENSATING"], "lease-lost", "same", "stored as evidence: every forward step is final"],
    [["FINISHING"], "done", "same", "settles the attempt of an always step"],
    [["ESCALATED in RUNNING"], "done", "RUNNING", "settles the unknown: the question is closed"],
    [["ESCALATED in STOPPING"], "done", "COMPENSATING", "settles the unknown: the undoing begins"],
    [["ESCALATED in COMPENSATING"], "lease-lost", "same", "stored as evidence"],
    [["ESCALATED in FINISHING"], "done", "COMPLETED", "settles the always step, the last one here"],
    [ENDED, "lease-lost", "same", "stored as evidence; a success is an intervention, late-effect"],
  ]),
  ...rows("undelivered", [
    [["PENDING"], "done", "same", "nothing: no step of it has started"],
    [
      ["RUNNING", "COMPENSATING", "FINISHING"],
      "done",
      "same",
      "ready again, and nothing counted; it waits if that happens again and again",
    ],
    [["PAUSED"], "done", "same", "given back, and held"],
    [["STOPPING"], "done", "same", "given back, and not handed out again"],
    [ASKING, "done", "same", "nothing: no task is out"],
    [ENDED, "done", "same", "nothing: no task is out"],
  ]),
  ...rows("forgotten", [
    [["PENDING"], "done", "same", "nothing: no step of it has started"],
    [["RUNNING", "COMPENSATING", "FINISHING"], "done", "same", "ends the attempt as drover.lost"],
    [["PAUSED"], "done", "same", "ends the attempt as drover.lost; what follows is held"],
    [
      ["STOPPING"],
      "done",
      "same",
      "ends the attempt as drover.lost; the outcome of the effect is unknown",
    ],
    [ASKING, "done", "same", "nothing: no task is out"],
    [ENDED, "done", "same", "nothing: no task is out"],
  ]),
  ...rows("signal", [
    [["PENDING"], "done", "same", "stored for a step that is still to come"],
    [["RUNNING", "FINISHING"], "done", "same", "taken by the first step that waits for its name"],
    [["PAUSED"], "done", "same", "taken; what that makes ready is held"],
    [["STOPPING", "COMPENSATING"], "done", "same", "stored, and shown at the end: nothing waits"],
    [ASKING, "done", "same", "stored for a step that is still to come"],
    [ENDED, "refused", "same", "refused: nothing waits for it; a repeat gets its answer"],
  ]),
  ...rows("decide", [
    [["PENDING"], "refused", "same", "refused: nothing waits for an approval"],
    [["RUNNING", "FINISHING"], "done", "same", "counted; enough of them end the approval"],
    [["PAUSED"], "done", "same", "counted; what that makes ready is held"],
    [["STOPPING", "COMPENSATING"], "refused", "same", "refused: nothing waits for an approval"],
    [ASKING, "refused", "same", "refused: nothing waits for an approval"],
    [ENDED, "refused", "same", "refused: nothing waits for an approval"],
  ]),
  ...rows("answer", [
    [["PENDING"], "no-such-question", "same", "refused: no step of it has started"],
    [["RUNNING"], "done", "same", "the step continues as answered, beside those that move"],
    [["PAUSED"], "done", "same", "the step continues as answered; what that makes ready is held"],
    [["STOPPING"], "done", "same", "settles whether the effect took place"],
    [["COMPENSATING"], "done", "same", "the undo is tried again, or is done"],
    [["FINISHING"], "done", "same", "the always step continues as answered"],
    [["ESCALATED in RUNNING"], "done", "RUNNING", "the step continues as answered"],
    [["ESCALATED in STOPPING"], "done", "COMPENSATING", "settles whether the effect took place"],
    [["ESCALATED in COMPENSATING"], "done", "COMPENSATING", "the undo is tried again, or is done"],
    [["ESCALATED in FINISHING"], "done", "FINISHING", "the always step continues as answered"],
    [ENDED, "refused", "same", "refused: it is closed. A duplicate effect can be acknowledged"],
  ]),
  ...rows("cancel UNDO", [
    [["PENDING"], "done", "CANCELLED", "ends it at once, as NEVER_STARTED"],
    [["RUNNING", "PAUSED"], "done", "STOPPING", "nothing new forward; all that was done is undone"],
    [["STOPPING", "COMPENSATING"], "done", "same", "nothing: it is already ending"],
    [["FINISHING"], "refused", "same", "refused: its end is certain; a repeat gets its answer"],
    [
      ["ESCALATED in RUNNING"],
      "done",
      "STOPPING",
      "closes its questions, and undoes what was done",
    ],
    [
      ASKING_AT_THE_END,
      "refused",
      "same",
      "refused: its end waits for an answer, or for LEAVE; a repeat gets its answer",
    ],
    [["COMPLETED", "FAILED", "COMPENSATED"], "refused", "same", FINAL],
    [["CANCELLED"], "done", "same", "nothing: it was cancelled"],
  ]),
  ...rows("cancel LEAVE", [
    [["PENDING"], "done", "CANCELLED", "ends it at once, as NEVER_STARTED"],
    [["RUNNING", "PAUSED"], "done", "STOPPING", "nothing new forward; what was done stays"],
    [["STOPPING", "COMPENSATING"], "done", "same", "nothing: it is already ending"],
    [["FINISHING"], "refused", "same", "refused: its end is certain; a repeat gets its answer"],
    [["ESCALATED in RUNNING"], "done", "CANCELLED", "closes its questions; what was done stays"],
    [["ESCALATED in STOPPING"], "done", "CANCELLED", "ends it without an answer, as it is"],
    [["ESCALATED in COMPENSATING"], "done", "CANCELLED", "ends it as it is, half undone"],
    [
      ["ESCALATED in FINISHING"],
      "done",
      "COMPLETED",
      "leaves the always step; its end does not change",
    ],
    [["COMPLETED", "FAILED", "COMPENSATED"], "refused", "same", FINAL],
    [["CANCELLED"], "done", "same", "nothing: it was cancelled"],
  ]),
  ...rows("pause", [
    [["PENDING"], "refused", "same", "refused: no step of it has started"],
    [["RUNNING"], "done", "PAUSED", "holds what is ready; its deadline and totals do not count"],
    [["PAUSED"], "done", "same", "nothing: it is paused"],
    [ENDING, "refused", "same", "refused: its end is under way"],
    [["ESCALATED in RUNNING"], "done", "PAUSED", "holds what its answers will make ready"],
    [ASKING_AT_THE_END, "refused", "same", "refused: its end is under way"],
    [ENDED, "refused", "same", FINAL],
  ]),
  ...rows("resume", [
    [["PENDING"], "done", "same", "nothing: it is not paused"],
    [["RUNNING", ...ENDING], "done", "same", "nothing: it is not paused"],
    [["PAUSED"], "done", "RUNNING", "puts back what is held, or stops for the reason that waited"],
    [ASKING, "done", "same", "nothing: it is not paused"],
    [ENDED, "refused", "same", FINAL],
  ]),
  // The test plays it with the message `pause`.
  ...rows("messages", [
    [["RUNNING", "ESCALATED in RUNNING"], "done", "PAUSED", "applies the messages, in order"],
    [["PAUSED"], "done", "same", "nothing: it is already paused"],
    [["PENDING", ...ENDING], "done", "same", "nothing: a message that does not apply is dropped"],
    [ASKING_AT_THE_END, "done", "same", "nothing: a message that does not apply is dropped"],
    [ENDED, "done", "same", "nothing: a final state does not change"],
  ]),
  ...rows("lease-timer", [
    [["PENDING"], "done", "same", STALE],
    [["RUNNING"], "done", "same", "silent, past its time or stalled: an unknown, or asked to stop"],
    [["PAUSED"], "done", "same", "the same; what that makes ready is held"],
    [["STOPPING"], "done", "same", "the same; nothing forward is handed out again"],
    [["COMPENSATING", "FINISHING"], "done", "same", "the same, for an undo or an always step"],
    [ASKING, "done", "same", STALE],
    [ENDED, "done", "same", STALE],
  ]),
  ...rows("ready-timer", [
    [["PENDING"], "done", "same", STALE],
    [
      ["RUNNING", ...ENDING],
      "done",
      "same",
      "no agent polls for it: alarmed, or as on_pickup says",
    ],
    [["PAUSED"], "done", "same", STALE],
    [ASKING, "done", "same", STALE],
    [ENDED, "done", "same", STALE],
  ]),
  ...rows("due-timer", [
    [["PENDING"], "done", "same", STALE],
    [["RUNNING", ...ENDING], "done", "same", "a backoff is over, or what was waited for is late"],
    [["PAUSED"], "done", "same", "the same; what that makes ready is held"],
    [ASKING, "done", "same", STALE],
    [ENDED, "done", "same", STALE],
  ]),
  ...rows("escalation-timer", [
    [["PENDING"], "done", "same", STALE],
    [["RUNNING", "PAUSED", ...ENDING], "done", "same", REMINDED],
    [ASKING, "done", "same", REMINDED],
    [ENDED, "done", "same", STALE],
  ]),
  ...rows("run-timer", [
    [["PENDING"], "done", "RUNNING", "it begins, and its time counts from now"],
    [["RUNNING"], "done", "STOPPING", "its deadline: TIMED_OUT; after the pivot it is only noted"],
    [["PAUSED"], "done", "same", "nothing: its deadline does not count"],
    [["STOPPING"], "done", "same", "nothing: what moves comes first, and then the undoing begins"],
    [["COMPENSATING", "FINISHING"], "done", "same", "nothing: it has no deadline any more"],
    [ASKING, "done", "same", "nothing: its deadline does not count"],
    [ENDED, "done", "same", STALE],
  ]),
]);

/** The name of a run's state in this table. */
export function eventStateOf(state: RunState): EventState {
  return state.kind === "ESCALATED" ? `ESCALATED in ${state.from.kind}` : state.kind;
}
