// Steps as rows, and what moves of them: their own row, and the ready, lease or due row beside it.
import type { Moment } from "../../core/attempt.ts";
import type { Items } from "../../core/items.ts";
import type {
  Backoff,
  BackoffCause,
  Doubt,
  Forward,
  Lease,
  LeaseCancel,
  Moving,
  Ready,
  ResultRef,
  Step,
  Undo,
  WaitingFor,
} from "../../core/model.ts";
import type { Strategy } from "../../core/strategy.ts";
import type { Due } from "../changes.ts";
import {
  attemptKinds,
  cancelCauses,
  cancels,
  dueKinds,
  forwards,
  marks,
  type StoredForward,
  type StoredUndo,
  taskKinds,
  undos,
} from "./codes.ts";

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
  stall_ms: number | null;
  progress_at: Moment;
  cancel: number;
  cancel_cause: number | null;
  cancel_asked_at: Moment | null;
  cancel_by: Moment | null;
  suspect_at: Moment | null;
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
    stallMs: row.stall_ms,
    progressAt: row.progress_at,
    cancel: cancelOf(row),
    suspectAt: row.suspect_at,
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
  held: number | null;
  waiting_for: number;
  needs_ok: number;
  needs_skipped: number;
  strategies: number[];
  fence: number;
  attempt: number;
  lost: number;
  tries: number[];
  doubt: string | null;
  verifies: number;
  first_ready_at: Moment | null;
  settle_until: Moment | null;
  result_fence: number | null;
  result_kind: number | null;
  result_n: number | null;
  items: Items | null;
  due_kind: number | null;
  due_at: Moment | null;
}

/** The step of a row, with what moves of it: its ready or lease row where it is OPEN. */
export function stepOf(row: StepRow, open: Ready | Lease | null): Step {
  return {
    no: row.no,
    forward: forwardOf(row, open),
    undo: undoOf(row, open),
    strategies: row.strategies.map(strategyOf),
    fence: row.fence,
    attempt: row.attempt,
    lost: row.lost,
    tries: row.tries,
    doubt: row.doubt === null ? null : doubtOf(row.doubt),
    verifies: row.verifies,
    firstReadyAt: row.first_ready_at,
    settleUntil: row.settle_until,
    result: resultOf(row),
    items: row.items,
  };
}

export function isOpen(row: StepRow): boolean {
  return forwards.name(row.forward) === "OPEN" || undos.name(row.undo) === "OPEN";
}

function forwardOf(row: StepRow, open: Ready | Lease | null): Forward {
  const kind = forwards.name(row.forward);
  if (kind === "BLOCKED")
    return { kind, waitingFor: row.waiting_for, ok: row.needs_ok, skipped: row.needs_skipped };
  return isStoredMoving(kind) ? movingOf(row, kind, open) : { kind };
}

function undoOf(row: StepRow, open: Ready | Lease | null): Undo {
  const kind = undos.name(row.undo);
  return isStoredMoving(kind) ? movingOf(row, kind, open) : { kind };
}

const STORED_MOVING = ["OPEN", "BACKOFF", "WAITING", "HELD"] as const;
type StoredMoving = (typeof STORED_MOVING)[number];

function isStoredMoving(kind: StoredForward | StoredUndo): kind is StoredMoving {
  return STORED_MOVING.some((moving) => moving === kind);
}

function movingOf(row: StepRow, kind: StoredMoving, open: Ready | Lease | null): Moving {
  if (kind === "OPEN" && open) return open;
  if (kind === "HELD" && row.held !== null) return { kind, task: taskKinds.name(row.held) };
  const due = dueOf(row);
  if (due?.kind === kind) return due;
  throw new Error(`step ${row.no} of run ${row.run_id} is ${kind} and no row says how it moves`);
}

export function dueOf({
  due_kind: code,
  due_at: wakeAt,
}: Pick<StepRow, "due_kind" | "due_at">): Due | null {
  if (code === null || wakeAt === null) return null;
  const name = dueKinds.name(code);
  const on = WAITS.find((wait) => wait === name);
  if (on !== undefined) return { kind: "WAITING", on, wakeAt };
  const backoff = BACKOFFS.get(name);
  return backoff ? { kind: "BACKOFF", ...backoff, wakeAt } : null;
}

const WAITS: readonly WaitingFor[] = [
  "timer",
  "signal",
  "approval",
  "callback",
  "child",
  "child-end",
  "items",
];
const CAUSES: readonly BackoffCause[] = ["retry", "again", "settle"];
const BACKOFFS: ReadonlyMap<string, Pick<Backoff, "task" | "cause">> = new Map(
  taskKinds.names.flatMap((task) =>
    CAUSES.map((cause) => [`${task} ${cause}`, { task, cause }] as const),
  ),
);

export function dueCode(due: Due): number {
  return dueKinds.code(due.kind === "WAITING" ? due.on : `${due.task} ${due.cause}`);
}

/** A strategy in one small integer: the plan's number, whether its input was changed, its mark. */
export function strategyCode({ planned, changed, mark }: Strategy): number {
  return planned * 16 + (changed ? 8 : 0) + marks.code(mark);
}

export function strategyOf(code: number): Strategy {
  return {
    planned: Math.floor(code / 16),
    changed: code % 16 >= 8,
    mark: marks.name(code % 8),
  };
}

export function resultOf(row: Omit<StepRow, "run_id">): ResultRef | null {
  const { result_fence: fence, result_kind: kind, result_n: n } = row;
  if (fence === null || kind === null || n === null) return null;
  return { fence, kind: attemptKinds.name(kind), n };
}

/** Reads what `JSON.stringify` made of a doubt, and nothing else. */
function doubtOf(text: string): Doubt {
  return JSON.parse(text);
}
