// The table of states, and of every way from one to another: data, for the docs and for the tests.
// The rules do not read it; the property tests assert that every transition that the rules make is
// in it, and that each of its rows is taken.
//
//   Run       begins RUNNING; its end is final
//   Forward   begins BLOCKED; SUCCEEDED, FAILED and CANCELLED are final. Steps without a row are
//             BLOCKED
//   Undo      begins NONE; DONE is final. Undoing begins when the forward side can move no more
//
// A row from a state to itself changes what belongs to the state, as its next moment.
import type { Effect } from "./effect.ts";
import type { EventKind } from "./event.ts";
import type { Forward, RunState, Undo } from "./model.ts";

export interface Edge<State extends string, Trigger extends string> {
  readonly from: State;
  readonly on: Trigger;
  readonly to: State;
  readonly why: string;
}

/** An event, or what the counters say at the end of any event (`nextRunState`). */
export type RunTrigger = EventKind | "counters";
/** An effect of a decision, or what happens to a ready row or a lease outside of one. */
export type StepTrigger = Effect["kind"] | "claim" | "beat";

export type RunEdge = Edge<RunState["kind"], RunTrigger>;
export type ForwardEdge = Edge<Forward["kind"], StepTrigger>;
export type UndoEdge = Edge<Undo["kind"], StepTrigger>;

/** Compact rows: from, on, to, why. */
type Row<State extends string, Trigger extends string> = readonly [State, Trigger, State, string];

function edges<State extends string, Trigger extends string>(
  rows: readonly Row<State, Trigger>[],
): readonly Edge<State, Trigger>[] {
  return Object.freeze(rows.map(([from, on, to, why]) => Object.freeze({ from, on, to, why })));
}

export const RUN_EDGES: readonly RunEdge[] = edges<RunState["kind"], RunTrigger>([
  ["RUNNING", "counters", "COMPLETED", "every step has ended and none failed"],
  ["RUNNING", "counters", "ESCALATED", "no step can move without a person"],
  ["RUNNING", "report", "STOPPING", "a step has failed for good"],
  ["RUNNING", "lease-moment", "STOPPING", "a step was lost or timed out once too often"],
  ["RUNNING", "ready-moment", "STOPPING", "the total time of a step is over"],
  ["RUNNING", "run-moment", "STOPPING", "the deadline of the run has come"],
  ["RUNNING", "cancel", "STOPPING", "a person cancelled it"],
  ["STOPPING", "counters", "COMPENSATING", "all has stopped and settled, and is to be undone"],
  ["STOPPING", "counters", "FAILED", "all has stopped, and a failure leaves things as they are"],
  [
    "STOPPING",
    "counters",
    "CANCELLED",
    "all has stopped, and the cancel leaves things as they are",
  ],
  ["COMPENSATING", "counters", "COMPENSATED", "every effect is undone"],
  ["COMPENSATING", "counters", "FAILED", "there was no effect to undo"],
  ["COMPENSATING", "counters", "CANCELLED", "there was no effect to undo"],
  ["COMPENSATING", "counters", "ESCALATED", "an undo has failed for good, and nothing else moves"],
  ["ESCALATED", "counters", "RUNNING", "a late report settled the step that waited for a person"],
  ["ESCALATED", "counters", "COMPENSATING", "a late report settled the undo that had failed"],
  ["ESCALATED", "report", "STOPPING", "a late report says that the step has failed for good"],
  ["ESCALATED", "cancel", "STOPPING", "a person cancelled it"],
  [
    "ESCALATED",
    "cancel",
    "CANCELLED",
    "its undoing had failed; a person leaves things as they are",
  ],
]);

export const FORWARD_EDGES: readonly ForwardEdge[] = edges<Forward["kind"], StepTrigger>([
  ["BLOCKED", "need-ended", "BLOCKED", "one need less to wait for"],
  ["BLOCKED", "made-ready", "READY", "all of its needs have succeeded, or it has none"],
  ["READY", "claim", "LEASED", "an agent polled for it"],
  ["READY", "wake-moved", "READY", "nobody took it in time, but its lane is polled: a backlog"],
  ["READY", "pickup-alarmed", "READY", "nobody polls its lane"],
  ["READY", "succeeded", "SUCCEEDED", "a late report of the current attempt"],
  ["READY", "backed-off", "BACKOFF", "a late report of the current attempt: it failed"],
  ["READY", "failed", "FAILED", "total is over, or a late report: it failed for good"],
  ["READY", "cancelled", "CANCELLED", "the run got its verdict"],
  ["LEASED", "wake-moved", "LEASED", "its moment came too early: the agent has beaten since"],
  ["LEASED", "cancel-asked", "LEASED", "it ran past its time, or the run got its verdict"],
  ["LEASED", "beat", "LEASED", "the agent heard that it should stop"],
  ["LEASED", "made-ready", "READY", "released, never delivered, or lost: another agent, at once"],
  ["LEASED", "backed-off", "BACKOFF", "it failed or is unknown, and a policy allows another try"],
  ["LEASED", "succeeded", "SUCCEEDED", "its agent says so, also when it was told to stop"],
  ["LEASED", "failed", "FAILED", "it failed for good, or while the run was stopping"],
  ["LEASED", "cancelled", "CANCELLED", "it ended otherwise while the run was stopping"],
  ["LEASED", "escalated", "ESCALATED", "lost three times in a row: poison"],
  ["BACKOFF", "made-ready", "READY", "its moment has come"],
  ["BACKOFF", "succeeded", "SUCCEEDED", "a late report of the current attempt"],
  ["BACKOFF", "backed-off", "BACKOFF", "a late report: it failed, and says when to try again"],
  ["BACKOFF", "failed", "FAILED", "a late report: it failed for good"],
  ["BACKOFF", "cancelled", "CANCELLED", "the run got its verdict"],
  ["ESCALATED", "succeeded", "SUCCEEDED", "a late report of the current attempt"],
  [
    "ESCALATED",
    "backed-off",
    "BACKOFF",
    "a late report: it failed, and a policy allows another try",
  ],
  ["ESCALATED", "failed", "FAILED", "a late report: it failed for good"],
  ["ESCALATED", "cancelled", "CANCELLED", "the run got its verdict"],
]);

export const UNDO_EDGES: readonly UndoEdge[] = edges<Undo["kind"], StepTrigger>([
  ["NONE", "undo-planned", "PENDING", "the step has left an effect, and can undo it"],
  ["PENDING", "made-ready", "READY", "nothing that came after it is left to undo"],
  ["READY", "claim", "LEASED", "an agent polled for it"],
  ["READY", "wake-moved", "READY", "nobody took it in time, but its lane is polled: a backlog"],
  ["READY", "pickup-alarmed", "READY", "nobody polls its lane"],
  ["READY", "undone", "DONE", "a late report of the current attempt"],
  ["READY", "backed-off", "BACKOFF", "a late report of the current attempt: it failed"],
  ["READY", "undo-failed", "FAILED", "a late report: it failed for good"],
  ["LEASED", "wake-moved", "LEASED", "its moment came too early: the agent has beaten since"],
  ["LEASED", "cancel-asked", "LEASED", "it ran past its time"],
  ["LEASED", "beat", "LEASED", "the agent heard that it should stop"],
  ["LEASED", "made-ready", "READY", "released, never delivered, or lost: another agent, at once"],
  ["LEASED", "backed-off", "BACKOFF", "it failed or is unknown, and a policy allows another try"],
  ["LEASED", "undone", "DONE", "its agent says so"],
  ["LEASED", "undo-failed", "FAILED", "it failed for good, or was lost three times in a row"],
  ["BACKOFF", "made-ready", "READY", "its moment has come"],
  ["BACKOFF", "undone", "DONE", "a late report of the current attempt"],
  ["BACKOFF", "backed-off", "BACKOFF", "a late report: it failed, and says when to try again"],
  ["BACKOFF", "undo-failed", "FAILED", "a late report: it failed for good"],
  ["FAILED", "undone", "DONE", "a late report of the current attempt"],
  ["FAILED", "backed-off", "BACKOFF", "a late report: it failed, and a policy allows another try"],
  ["FAILED", "undo-failed", "FAILED", "a late report: it failed for good; a person is asked anew"],
]);

/** The row of a table for a transition, or undefined where there is no such way. */
export function findEdge<State extends string, Trigger extends string>(
  table: readonly Edge<State, Trigger>[],
  { from, on, to }: Pick<Edge<State, Trigger>, "from" | "on" | "to">,
): Edge<State, Trigger> | undefined {
  return table.find((edge) => edge.from === from && edge.on === on && edge.to === to);
}
