// The public state of a run, from the head of its first page.
import type { EndedRun } from "../core/explain/end-sentence.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import type { RunState } from "../core/model/model.ts";
import type { HeadOfRun } from "../core/page/head-codec.ts";
import type { RunRecord } from "./reads.ts";

type StateOfRecord = Pick<
  RunRecord,
  | "state"
  | "reason"
  | "cancelNote"
  | "stateVersion"
  | "endedAt"
  | "deadlineAt"
  | "startAt"
  | "warnings"
  | "failure"
  | "undone"
>;

export function stateOfRecord({ run, endedAt, cancelNote }: HeadOfRun): StateOfRecord {
  const { state, version, warnings, failure, undone } = run;
  return {
    state: state.kind,
    reason: reasonOf(state),
    cancelNote,
    stateVersion: version,
    endedAt,
    deadlineAt: deadlineOf(state),
    startAt: state.kind === "PENDING" && state.on === "start" ? state.until : null,
    warnings,
    failure,
    undone,
  };
}

/** How the run ended; null: it is open. */
export function endOfRecord(head: HeadOfRun): (EndedRun & { readonly at: EpochMs }) | null {
  const { state, reason, failure, warnings, undone, cancelNote, endedAt } = stateOfRecord(head);
  if (endedAt === null) return null;
  return { state, reason, failure, warnings, undone, cancelNote, at: endedAt };
}

function deadlineOf(state: RunState): EpochMs | null {
  if (state.kind === "PENDING") return state.on === "permit" ? state.until : null;
  return state.kind === "RUNNING" ? state.deadline : null;
}

export function reasonOf(state: RunState): RunRecord["reason"] {
  if ("reason" in state) return state.reason;
  const of = state.kind === "ESCALATED" ? state.from : state;
  if (of.kind === "FINISHING") return of.end.reason;
  return "stopReason" in of ? (of.stopReason?.reason ?? null) : null;
}
