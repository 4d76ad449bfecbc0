// The table of states, and of every transition between them: data, for the docs and for the tests.
// The rules do not read it; the property tests assert that every transition of the rules is in it,
// and that each of its rows is taken.
//
//   Run       begins RUNNING, or PENDING if it is to start later or is a child; its end is final. A
//             child that is refused has ended when it begins
//   Forward   begins BLOCKED, or SUCCEEDED or SKIPPED if it is reused; SUCCEEDED, FAILED, SKIPPED
//             and CANCELLED are final. Steps in no page are BLOCKED
//   Undo      begins NONE; DONE is final. Undoing begins when the forward side can move no more
//
// A row from a state to itself changes a property of the state, such as its next due time.
import type { Effect, RunMoveCause } from "./effect.ts";
import type { Forward, RunState, Undo } from "./model.ts";

export interface Edge<State extends string, Trigger extends string> {
  readonly from: State;
  readonly on: Trigger;
  readonly to: State;
  readonly why: string;
}

/** An effect of a decision, or an action on a task outside of a decision. */
export type StepTrigger = Effect["kind"] | "claim" | "heartbeat";

type RunEdge = Edge<RunState["kind"], RunMoveCause>;
type ForwardEdge = Edge<Forward["kind"], StepTrigger>;
type UndoEdge = Edge<Undo["kind"], StepTrigger>;

/** Compact rows: from, on, to, why. */
type Row<State extends string, Trigger extends string> = readonly [State, Trigger, State, string];

function edges<State extends string, Trigger extends string>(
  rows: readonly Row<State, Trigger>[],
): readonly Edge<State, Trigger>[] {
  return Object.freeze(rows.map(([from, on, to, why]) => Object.freeze({ from, on, to, why })));
}

export const RUN_EDGES: readonly RunEdge[] = edges<RunState["kind"], RunMoveCause>([
  ["PENDING", "start", "RUNNING", "its start time has come, or it has a permit"],
  ["PENDING", "start", "PENDING", "its start time has come, and it waits for a permit of its key"],
  ["PENDING", "cancel", "CANCELLED", "cancelled before it began, by a person or a newer run"],
  ["PENDING", "deadline", "FAILED", "no permit of its key came free within its timeout"],
  [
    "PENDING",
    "refuse",
    "FAILED",
    "its start time has come, there is no permit, and it does not wait",
  ],
  ["RUNNING", "counters", "COMPLETED", "every step has ended, and none has failed for good"],
  ["RUNNING", "counters", "FINISHING", "every step has ended; the always steps run"],
  ["RUNNING", "counters", "ESCALATED", "no step can move without a person"],
  ["RUNNING", "stop", "STOPPING", "a step has failed for good"],
  ["RUNNING", "deadline", "STOPPING", "the deadline of the run has come"],
  ["RUNNING", "deadline", "RUNNING", "the deadline has come after the pivot: only forward"],
  ["RUNNING", "cancel", "STOPPING", "a person cancelled it, or a newer run of its key does"],
  ["RUNNING", "pause", "PAUSED", "a person paused it"],
  ["PAUSED", "resume", "RUNNING", "a person resumed it"],
  ["PAUSED", "stop", "PAUSED", "a step has failed for good: the run stops when it is resumed"],
  ["PAUSED", "cancel", "STOPPING", "a person cancelled it"],
  ["STOPPING", "counters", "COMPENSATING", "all has stopped and settled, and is to be undone"],
  ["STOPPING", "counters", "FINISHING", "all has stopped and stays as it is; the always steps run"],
  ["STOPPING", "counters", "FAILED", "all has stopped, and a failure leaves things as they are"],
  [
    "STOPPING",
    "counters",
    "CANCELLED",
    "all has stopped, and the cancel leaves things as they are",
  ],
  ["STOPPING", "counters", "ESCALATED", "a person has to answer whether an effect took place"],
  ["STOPPING", "leave", "CANCELLED", "a person ends it without an answer"],
  ["STOPPING", "leave", "FINISHING", "a person ends it without an answer; the always steps run"],
  ["COMPENSATING", "counters", "COMPENSATED", "every effect is undone"],
  ["COMPENSATING", "counters", "FINISHING", "every effect is undone; the always steps run"],
  ["COMPENSATING", "counters", "FAILED", "there was no effect to undo"],
  ["COMPENSATING", "counters", "CANCELLED", "there was no effect to undo"],
  ["COMPENSATING", "counters", "ESCALATED", "an undo has failed for good, and nothing else moves"],
  ["COMPENSATING", "leave", "FAILED", "a person answers that an effect stays"],
  ["COMPENSATING", "leave", "CANCELLED", "a person cancels it and leaves things as they are"],
  ["COMPENSATING", "leave", "FINISHING", "a person leaves things as they are; always steps run"],
  ["FINISHING", "counters", "COMPLETED", "its always steps have run"],
  ["FINISHING", "counters", "FAILED", "its always steps have run"],
  ["FINISHING", "counters", "COMPENSATED", "its always steps have run"],
  ["FINISHING", "counters", "CANCELLED", "its always steps have run"],
  ["FINISHING", "counters", "ESCALATED", "an always step has failed for good"],
  ["ESCALATED", "continue", "RUNNING", "an answer, a late report or a command lets it move again"],
  ["ESCALATED", "continue", "STOPPING", "an answer or a late report settles what took place"],
  ["ESCALATED", "continue", "COMPENSATING", "an answer or a late report is about the failed undo"],
  ["ESCALATED", "continue", "FINISHING", "an answer or a late report is about an always step"],
  ["ESCALATED", "pause", "PAUSED", "a person paused it"],
]);

export const FORWARD_EDGES: readonly ForwardEdge[] = edges<Forward["kind"], StepTrigger>([
  ["BLOCKED", "need-ended", "BLOCKED", "one of its needs has ended"],
  ["BLOCKED", "made-ready", "READY", "all of its needs have ended, or it has none"],
  ["BLOCKED", "held", "HELD", "all of its needs have ended, and the run is paused"],
  ["BLOCKED", "began-waiting", "WAITING", "a timer, a signal or an approval"],
  ["BLOCKED", "map-started", "MAPPING", "its list is made; its items begin"],
  ["BLOCKED", "child-began", "WAITING", "a child run begins"],
  ["BLOCKED", "skipped", "SKIPPED", "`when` or `run_if` is false, or every need was skipped"],
  ["BLOCKED", "escalated", "ESCALATED", "one of its expressions failed"],
  ["READY", "claim", "LEASED", "an agent polled for it"],
  ["READY", "wake-moved", "READY", "no agent took it in time, but its lane is polled: a backlog"],
  ["READY", "pickup-alarmed", "READY", "no agent polls its lane"],
  ["READY", "made-ready", "READY", "the next strategy, or the deadline no longer bounds it"],
  ["READY", "held", "HELD", "the run is paused"],
  ["READY", "backed-off", "BACKOFF", "a late report of the current attempt: it failed"],
  ["READY", "succeeded", "SUCCEEDED", "a late report of the current attempt"],
  ["READY", "failed", "FAILED", "total is over, or a late report: it failed for good"],
  ["READY", "escalated", "ESCALATED", "no agent picks it up, or it failed and a person decides"],
  ["READY", "cancelled", "CANCELLED", "the run is stopped"],
  ["LEASED", "wake-moved", "LEASED", "its timer was too early: there has been progress since"],
  ["LEASED", "cancel-asked", "LEASED", "past its time, stalled, or the run is stopped"],
  ["LEASED", "suspected", "LEASED", "it runs far longer than others of its step have"],
  ["LEASED", "heartbeat", "LEASED", "the agent was informed that it should stop"],
  ["LEASED", "made-ready", "READY", "released, never delivered, or lost; or the next strategy"],
  ["LEASED", "held", "HELD", "the same, while the run is paused"],
  [
    "LEASED",
    "backed-off",
    "BACKOFF",
    "another try by a policy, asked again, to settle, lost polls",
  ],
  ["LEASED", "began-waiting", "WAITING", "deferred: the outcome comes by the callback token"],
  ["LEASED", "succeeded", "SUCCEEDED", "its agent reports it, also after it was asked to stop"],
  ["LEASED", "failed", "FAILED", "it failed for good, or while the run was stopping"],
  ["LEASED", "cancelled", "CANCELLED", "it ended otherwise while the run was stopping"],
  ["LEASED", "escalated", "ESCALATED", "poison, unknown, unverified, or it failed for good"],
  ["BACKOFF", "made-ready", "READY", "its backoff is over"],
  ["BACKOFF", "held", "HELD", "its backoff is over, and the run is paused"],
  ["BACKOFF", "backed-off", "BACKOFF", "a late report: it failed, with the time of the next try"],
  ["BACKOFF", "child-began", "WAITING", "its backoff is over, and another child run begins"],
  ["BACKOFF", "succeeded", "SUCCEEDED", "a late report of the current attempt"],
  ["BACKOFF", "failed", "FAILED", "a late report: it failed for good"],
  ["BACKOFF", "escalated", "ESCALATED", "a late report: it failed for good, and a person decides"],
  ["BACKOFF", "cancelled", "CANCELLED", "the run is stopped"],
  ["WAITING", "made-ready", "READY", "no callback came, or one that failed: the next task"],
  ["WAITING", "held", "HELD", "the same, while the run is paused"],
  ["WAITING", "backed-off", "BACKOFF", "no callback came, or one that failed: a policy allows"],
  ["WAITING", "child-began", "WAITING", "its child failed: the next fallback is another child"],
  ["WAITING", "began-waiting", "WAITING", "its child is asked to stop, or asked again"],
  ["WAITING", "wake-moved", "WAITING", "the total time of a child did not count during a pause"],
  ["WAITING", "succeeded", "SUCCEEDED", "what it waits for came: time, signal, approval, outcome"],
  ["WAITING", "failed", "FAILED", "rejected, expired, or the callback or the child failed"],
  ["WAITING", "skipped", "SKIPPED", "no signal came, and `on_expiry` is skip"],
  ["WAITING", "escalated", "ESCALATED", "what it waits for did not come, or failed"],
  ["WAITING", "cancelled", "CANCELLED", "the run is stopped"],
  [
    "WAITING",
    "wave-started",
    "MAPPING",
    "the pause between two waves is over, and there is no gate",
  ],
  ["MAPPING", "wave-started", "MAPPING", "a wave has ended, and the next one begins at once"],
  ["MAPPING", "began-waiting", "WAITING", "the pause between two waves"],
  ["MAPPING", "items-due", "WAITING", "its items have ended, or too many have failed"],
  ["MAPPING", "made-ready", "READY", "a wave has ended: its gate"],
  ["MAPPING", "held", "HELD", "the same, while the run is paused"],
  ["MAPPING", "escalated", "ESCALATED", "an expression of its gate failed"],
  ["MAPPING", "cancelled", "CANCELLED", "the run is stopped"],
  ["LEASED", "wave-started", "MAPPING", "its gate lets the next wave begin"],
  ["READY", "wave-started", "MAPPING", "a late report of its gate"],
  ["BACKOFF", "wave-started", "MAPPING", "a late report of its gate"],
  ["HELD", "wave-started", "MAPPING", "a late report of its gate, while the run is paused"],
  ["ESCALATED", "wave-started", "MAPPING", "a late report of its gate"],
  ["LEASED", "strategy-undoing", "UNDOING", "it leaves a strategy that may have an effect"],
  ["READY", "strategy-undoing", "UNDOING", "the same: no agent picks it up, or total is over"],
  ["BACKOFF", "strategy-undoing", "UNDOING", "the same, by a late report: it failed for good"],
  ["WAITING", "strategy-undoing", "UNDOING", "the same: no callback came, or the child failed"],
  ["HELD", "strategy-undoing", "UNDOING", "the same, by a late report while the run is paused"],
  ["ESCALATED", "strategy-undoing", "UNDOING", "the same, by an answer or a late report"],
  ["UNDOING", "made-ready", "READY", "that effect is undone: the next strategy"],
  ["UNDOING", "held", "HELD", "the same, while the run is paused"],
  ["UNDOING", "backed-off", "BACKOFF", "the same, once a lost attempt can act no more"],
  ["UNDOING", "child-began", "WAITING", "the same: the next child run begins"],
  ["UNDOING", "succeeded", "SUCCEEDED", "a late report of the strategy, before its undo was out"],
  ["UNDOING", "failed", "FAILED", "that effect is undone, and there is no other strategy"],
  ["UNDOING", "escalated", "ESCALATED", "an expression of the next strategy failed"],
  ["UNDOING", "cancelled", "CANCELLED", "the run is stopped: it undoes what is left"],
  ["HELD", "made-ready", "READY", "the run is resumed"],
  ["HELD", "child-began", "WAITING", "the run is resumed, and its child begins"],
  ["HELD", "held", "HELD", "a late report: it failed, and its next strategy is held"],
  ["HELD", "backed-off", "BACKOFF", "a late report: it failed, and a policy allows another try"],
  ["HELD", "succeeded", "SUCCEEDED", "a late report of the current attempt"],
  ["HELD", "failed", "FAILED", "a late report: it failed for good"],
  ["HELD", "escalated", "ESCALATED", "a late report: it failed for good, and a person decides"],
  ["HELD", "cancelled", "CANCELLED", "the run is stopped"],
  ["ESCALATED", "made-ready", "READY", "answered: try again"],
  ["ESCALATED", "child-began", "WAITING", "answered: try again, with another child"],
  ["ESCALATED", "held", "HELD", "answered: try again, while the run is paused"],
  ["ESCALATED", "escalated", "ESCALATED", "tried again, its expression fails again"],
  ["ESCALATED", "succeeded", "SUCCEEDED", "answered so, or a late report of the current attempt"],
  ["ESCALATED", "skipped", "SKIPPED", "answered: skip it"],
  [
    "ESCALATED",
    "backed-off",
    "BACKOFF",
    "a late report: it failed, and a policy allows another try",
  ],
  ["ESCALATED", "failed", "FAILED", "answered so, or a late report: it failed for good"],
  ["ESCALATED", "cancelled", "CANCELLED", "the run is stopped"],
]);

export const UNDO_EDGES: readonly UndoEdge[] = edges<Undo["kind"], StepTrigger>([
  ["NONE", "undo-planned", "PENDING", "the step has left an effect, and can undo it"],
  ["NONE", "strategy-undoing", "PENDING", "the step leaves a strategy that may have an effect"],
  [
    "READY",
    "strategy-undo-ended",
    "NONE",
    "the run is stopped, or a late report: it is not needed",
  ],
  ["LEASED", "strategy-undo-ended", "NONE", "the strategy is undone, or its run stops"],
  ["BACKOFF", "strategy-undo-ended", "NONE", "the run is stopped, or a late report"],
  ["HELD", "strategy-undo-ended", "NONE", "the run is stopped, or a late report"],
  ["FAILED", "strategy-undo-ended", "NONE", "answered: undone, or left; or the run is stopped"],
  ["PENDING", "backed-off", "BACKOFF", "an attempt of the strategy was lost, and may still act"],
  ["PENDING", "held", "HELD", "the run is paused"],
  ["READY", "held", "HELD", "the run is paused"],
  ["LEASED", "held", "HELD", "released, never delivered, or lost, while the run is paused"],
  ["BACKOFF", "held", "HELD", "its backoff is over, and the run is paused"],
  ["FAILED", "held", "HELD", "answered: try again, while the run is paused"],
  ["HELD", "made-ready", "READY", "the run is resumed"],
  ["HELD", "backed-off", "BACKOFF", "a late report: it failed, and a policy allows another try"],
  ["HELD", "undo-failed", "FAILED", "a late report: it failed for good"],
  ["PENDING", "made-ready", "READY", "nothing that came after it is left to undo"],
  ["PENDING", "items-due", "WAITING", "the same, of a map: its items are undone"],
  [
    "WAITING",
    "items-undoing",
    "MAPPING",
    "the last items that are left, a limited number at a time",
  ],
  ["MAPPING", "items-due", "WAITING", "those are undone: the next ones, or it is done"],
  ["WAITING", "undone", "DONE", "all of its items are undone"],
  ["READY", "claim", "LEASED", "an agent polled for it"],
  ["READY", "wake-moved", "READY", "no agent took it in time, but its lane is polled: a backlog"],
  ["READY", "pickup-alarmed", "READY", "no agent polls its lane"],
  ["READY", "undone", "DONE", "a late report of the current attempt"],
  ["READY", "backed-off", "BACKOFF", "a late report of the current attempt: it failed"],
  ["READY", "undo-failed", "FAILED", "a late report: it failed for good"],
  ["LEASED", "wake-moved", "LEASED", "its timer was too early: there has been progress since"],
  ["LEASED", "cancel-asked", "LEASED", "it ran past its time"],
  ["LEASED", "heartbeat", "LEASED", "the agent was informed that it should stop"],
  ["LEASED", "made-ready", "READY", "released, never delivered, or lost"],
  ["LEASED", "backed-off", "BACKOFF", "it failed or is unknown, and a policy allows another try"],
  ["LEASED", "undone", "DONE", "its agent reports it"],
  ["LEASED", "undo-failed", "FAILED", "it failed for good, or was lost three times in a row"],
  ["BACKOFF", "made-ready", "READY", "its backoff is over"],
  ["BACKOFF", "undone", "DONE", "a late report of the current attempt"],
  ["BACKOFF", "backed-off", "BACKOFF", "a late report: it failed, with the time of the next try"],
  ["BACKOFF", "undo-failed", "FAILED", "a late report: it failed for good"],
  ["FAILED", "made-ready", "READY", "answered: try again"],
  ["FAILED", "undone", "DONE", "answered so, or a late report of the current attempt"],
  ["FAILED", "backed-off", "BACKOFF", "a late report: it failed, and a policy allows another try"],
  ["FAILED", "undo-failed", "FAILED", "a late report: it failed for good; a person is asked again"],
]);

/** The row of a table for a transition; undefined: there is no such transition. */
export function findEdge<State extends string, Trigger extends string>(
  table: readonly Edge<State, Trigger>[],
  { from, on, to }: Pick<Edge<State, Trigger>, "from" | "on" | "to">,
): Edge<State, Trigger> | undefined {
  return table.find((edge) => edge.from === from && edge.on === on && edge.to === to);
}
