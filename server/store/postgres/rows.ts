// Rows of the hot tables and the states that they stand for, in both directions.
import type {
  Forward,
  Lease,
  LeaseCancel,
  Moment,
  Moving,
  Outcome,
  Ready,
  Run,
  RunState,
  Step,
  Undo,
  Verdict,
} from "../../core/model.ts";
import { isEnded } from "../../core/model.ts";
import type { RunHead } from "../store.ts";
import {
  cancelCauses,
  cancels,
  effects,
  failureClasses,
  forwards,
  outcomes,
  reasons,
  runStates,
  type StoredForward,
  type StoredUndo,
  taskKinds,
  undos,
} from "./codes.ts";
import { payloadColumns, payloadOf } from "./columns.ts";

export interface OpenRunRow {
  partition: number;
  run_id: string;
  namespace_id: number;
  definition_id: number;
  priority: number;
  state: number;
  version: number;
  steps_left: number;
  moving: number;
  undos_left: number;
  undone: number;
  verdict: number | null;
  verdict_undoes: boolean | null;
  deadline: Moment | null;
  deadline_left_ms: number | null;
  settle_until: Moment | null;
}

export function headOf(row: OpenRunRow): RunHead {
  const run: Run = {
    state: runStateOf(row),
    version: row.version,
    stepsLeft: row.steps_left,
    moving: row.moving,
    undosLeft: row.undos_left,
    undone: row.undone,
  };
  return {
    runId: row.run_id,
    partition: row.partition,
    namespaceId: row.namespace_id,
    definitionId: row.definition_id,
    priority: row.priority,
    run,
  };
}

function runStateOf(row: OpenRunRow): RunState {
  const kind = runStates.name(row.state);
  const verdict = verdictOf(row);
  if (kind === "RUNNING" && row.deadline !== null) return { kind, deadline: row.deadline };
  if (kind === "STOPPING" && verdict) return { kind, verdict, settleUntil: row.settle_until };
  if (kind === "COMPENSATING" && verdict) return { kind, verdict };
  if (kind === "ESCALATED" && verdict) return { kind, verdict };
  if (kind === "ESCALATED" && row.deadline_left_ms !== null)
    return { kind, verdict: null, deadlineLeftMs: row.deadline_left_ms };
  throw new Error(`run ${row.run_id} is stored as ${kind} without what that state needs`);
}

function verdictOf(row: OpenRunRow): Verdict | null {
  if (row.verdict === null) return null;
  const reason = reasons.name(row.verdict);
  if (reason === "DONE") throw new Error(`run ${row.run_id} has the verdict DONE`);
  return { reason, undo: row.verdict_undoes ?? true };
}

/** The columns of run_open that say the state. */
export function runStateColumns(state: RunState): {
  verdict: number | null;
  undoes: boolean | null;
  deadline: Moment | null;
  deadlineLeftMs: number | null;
  settleUntil: Moment | null;
} {
  const verdict = "verdict" in state ? state.verdict : null;
  return {
    verdict: verdict ? reasons.code(verdict.reason) : null,
    undoes: verdict?.undo ?? null,
    deadline: state.kind === "RUNNING" ? state.deadline : null,
    deadlineLeftMs:
      state.kind === "ESCALATED" && state.verdict === null
        ? Math.round(state.deadlineLeftMs)
        : null,
    settleUntil: state.kind === "STOPPING" ? state.settleUntil : null,
  };
}

export interface EndedRunRow {
  run_id: string;
  partition: number;
  namespace_id: number;
  definition_id: number;
  priority: number;
  state: number;
  reason: number;
  last_version: number;
}

export function endedHeadOf(row: EndedRunRow): RunHead {
  const kind = runStates.name(row.state);
  const state: RunState | null =
    kind === "COMPLETED" || kind === "FAILED" || kind === "COMPENSATED" || kind === "CANCELLED"
      ? { kind, reason: reasons.name(row.reason) }
      : null;
  if (!state || !isEnded(state)) throw new Error(`run ${row.run_id} has ended as ${kind}`);
  return {
    runId: row.run_id,
    partition: row.partition,
    namespaceId: row.namespace_id,
    definitionId: row.definition_id,
    priority: row.priority,
    run: { state, version: row.last_version, stepsLeft: 0, moving: 0, undosLeft: 0, undone: 0 },
  };
}

export interface LeaseRow {
  lease_kind: number;
  lease_fence: number;
  lease_attempt: number;
  secret: string;
  session: string;
  agent_id: string;
  poll_seq: number;
  granted_at: Moment;
  attempt_by: Moment;
  heartbeat_ms: number;
  cancel_ms: number;
  cancel: number;
  cancel_cause: number | null;
  cancel_asked_at: Moment | null;
  cancel_by: Moment | null;
  lease_wake_at: Moment;
}

export function leaseOf(row: LeaseRow): Lease {
  return {
    kind: "LEASED",
    task: taskKinds.name(row.lease_kind),
    fence: row.lease_fence,
    attempt: row.lease_attempt,
    secret: row.secret,
    session: row.session,
    agentId: row.agent_id,
    pollSeq: row.poll_seq,
    grantedAt: row.granted_at,
    attemptBy: row.attempt_by,
    heartbeatMs: row.heartbeat_ms,
    cancelMs: row.cancel_ms,
    cancel: cancelOf(row),
    wakeAt: row.lease_wake_at,
  };
}

function cancelOf(row: LeaseRow): LeaseCancel {
  const kind = cancels.name(row.cancel);
  const cause = cancelCauses.name(row.cancel_cause ?? 0);
  if (kind === "none") return { kind };
  if (kind === "heard") return { kind, cause, by: row.cancel_by ?? 0 };
  return { kind, cause, at: row.cancel_asked_at ?? 0 };
}

export interface ReadyColumns {
  run_id: string;
  step_no: number;
  kind: number;
  fence: number;
  attempt: number;
  ready_at: Moment;
  until: Moment | null;
  avoid_session: string | null;
  avoid_until: Moment | null;
  alarms: number;
  wake_at: Moment;
}

export function readyOf(row: ReadyColumns): Ready {
  return {
    kind: "READY",
    task: taskKinds.name(row.kind),
    fence: row.fence,
    attempt: row.attempt,
    readyAt: row.ready_at,
    until: row.until,
    avoid: avoidOf(row.avoid_session, row.avoid_until),
    alarms: row.alarms,
    wakeAt: row.wake_at,
  };
}

export function avoidOf(
  session: string | null,
  until: Moment | null,
): { session: string; until: Moment } | null {
  return session !== null && until !== null ? { session, until } : null;
}

export interface StepRow {
  run_id: string;
  no: number;
  forward: number;
  undo: number;
  waiting_for: number;
  effect: number;
  fence: number;
  attempt: number;
  lost: number;
  tries: number[];
  first_ready_at: Moment | null;
  settle_until: Moment | null;
  result_fence: number | null;
  due_at: Moment | null;
}

/** The step of a row, with what moves of it: its ready or lease row where it is OPEN. */
export function stepOf(row: StepRow, open: Ready | Lease | null): Step {
  return {
    no: row.no,
    forward: forwardOf(row, open),
    undo: undoOf(row, open),
    effect: effects.name(row.effect),
    fence: row.fence,
    attempt: row.attempt,
    lost: row.lost,
    tries: row.tries,
    firstReadyAt: row.first_ready_at,
    settleUntil: row.settle_until,
    resultFence: row.result_fence,
  };
}

export function isOpen(row: StepRow): boolean {
  return forwards.name(row.forward) === "OPEN" || undos.name(row.undo) === "OPEN";
}

function forwardOf(row: StepRow, open: Ready | Lease | null): Forward {
  const kind: StoredForward = forwards.name(row.forward);
  if (kind === "BLOCKED") return { kind, waitingFor: row.waiting_for };
  return kind === "OPEN" || kind === "BACKOFF" ? movingOf(row, kind, open) : { kind };
}

function undoOf(row: StepRow, open: Ready | Lease | null): Undo {
  const kind: StoredUndo = undos.name(row.undo);
  return kind === "OPEN" || kind === "BACKOFF" ? movingOf(row, kind, open) : { kind };
}

function movingOf(row: StepRow, kind: "OPEN" | "BACKOFF", open: Ready | Lease | null): Moving {
  if (kind === "OPEN" && open) return open;
  if (kind === "BACKOFF" && row.due_at !== null) return { kind, wakeAt: row.due_at };
  throw new Error(`step ${row.no} of run ${row.run_id} is ${kind} and no row says when it moves`);
}

/** An outcome as the columns of `attempt`. */
export function outcomeColumns(outcome: Outcome) {
  const output = payloadColumns(outcome.kind === "success" ? outcome.output : null);
  const failure = outcome.kind === "failure" ? outcome : null;
  const told = outcome.kind === "failure" || outcome.kind === "unknown" ? outcome : null;
  return {
    outcome: outcomes.code(outcome.kind),
    class: failure ? failureClasses.code(failure.class) : null,
    code: told?.code ?? null,
    message: told?.message ?? null,
    noEffect: outcome.kind === "failure" || outcome.kind === "cancelled" ? outcome.noEffect : false,
    retryAfterMs: failure?.retryAfterMs ?? null,
    outputType: output.type,
    outputJson: output.json,
    outputData: output.data,
  };
}

export interface OutcomeRow {
  outcome: number;
  class: number | null;
  code: string | null;
  message: string | null;
  no_effect: boolean;
  retry_after_ms: number | null;
  output_type: string | null;
  output_json: string | null;
  output_data: Uint8Array | null;
}

export function outcomeOf(row: OutcomeRow): Outcome {
  const kind = outcomes.name(row.outcome);
  const code = row.code ?? "";
  const message = row.message ?? "";
  switch (kind) {
    case "success":
      return { kind, output: payloadOf(row.output_type, row.output_json, row.output_data) };
    case "failure":
      return {
        kind,
        class: failureClasses.name(row.class ?? 0),
        code,
        message,
        retryAfterMs: row.retry_after_ms,
        noEffect: row.no_effect,
      };
    case "unknown":
      return { kind, code, message };
    case "cancelled":
      return { kind, noEffect: row.no_effect };
    case "released":
    case "undelivered":
      return { kind };
  }
}
