// Input to runs: signals, decisions of approvers, escalations.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Decision, OpenEscalation, StoredSignal } from "../../core/model/history.ts";
import type { AuditEntry } from "../audit.ts";
import type { ChangedInput, DecisionRecord, EscalationRecord, SignalRecord } from "../reads.ts";
import type { EscalationClaim, RunId } from "../store.ts";
import type { Audited } from "./audit.ts";
import { answers, escalationReasons } from "./codes.ts";
import { byRun, columns, payloadOf } from "./columns.ts";
import type { Query } from "./transaction.ts";

interface SignalRow {
  run_id: RunId;
  seq: number;
  id: string;
  name: string;
  payload_type: string | null;
  payload_json: string | null;
  payload_data: Buffer | null;
  at: EpochMs;
  taken_by: number | null;
}

/** In the order of arrival. */
export async function signalsOf(
  query: Query,
  runs: readonly RunId[],
): Promise<ReadonlyMap<RunId, readonly SignalRecord[]>> {
  const rows = await query<SignalRow>("signals_of_runs", { run_ids: runs });
  return byRun(rows, (row) => ({
    seq: row.seq,
    id: row.id,
    name: row.name,
    payload: payloadOf(row.payload_type, row.payload_json, row.payload_data),
    at: row.at,
    takenBy: row.taken_by,
  }));
}

export async function loadSignals(
  query: Query,
  runs: readonly RunId[],
): Promise<ReadonlyMap<RunId, readonly StoredSignal[]>> {
  const found = await signalsOf(query, runs);
  return new Map([...found].map(([runId, signals]) => [runId, signals.map(storedSignal)]));
}

function storedSignal({ seq, id, name, takenBy, payload }: SignalRecord): StoredSignal {
  return { seq, id, name, taken: takenBy !== null, payload };
}

interface DecisionRow {
  run_id: RunId;
  step_no: number;
  approver: string;
  verified: boolean;
  approved: boolean;
  comment: string;
  form_type: string | null;
  form_json: string | null;
  form_data: Buffer | null;
  at: EpochMs;
}

export async function decisionsOf(
  query: Query,
  runs: readonly RunId[],
): Promise<ReadonlyMap<RunId, readonly DecisionRecord[]>> {
  const rows = await query<DecisionRow>("decisions_of_runs", { run_ids: runs });
  return byRun(rows, (row) => ({
    step: row.step_no,
    approver: row.approver,
    verified: row.verified,
    approved: row.approved,
    comment: row.comment,
    form: payloadOf(row.form_type, row.form_json, row.form_data),
    at: row.at,
  }));
}

export async function loadDecisions(
  query: Query,
  runs: readonly RunId[],
): Promise<ReadonlyMap<RunId, readonly Decision[]>> {
  const found = await decisionsOf(query, runs);
  const brief = ({ step, approver, approved }: DecisionRecord): Decision => {
    return { step, approver, approved };
  };
  return new Map([...found].map(([runId, decisions]) => [runId, decisions.map(brief)]));
}

export async function loadEscalations(
  query: Query,
  wanted: readonly { readonly runId: RunId; readonly n: number }[],
): Promise<ReadonlyMap<RunId, readonly OpenEscalation[]>> {
  const rows = await query<{
    run_id: RunId;
    n: number;
    step_no: number;
    reason: number;
    closed_by: string | null;
    wake_at: EpochMs | null;
    deadline_at: EpochMs | null;
    claimed: boolean;
  }>("load_escalations", columns(wanted, { run_id: (one) => one.runId, n: (one) => one.n }));
  return byRun(rows, (row) => ({
    n: row.n,
    step: row.step_no,
    reason: escalationReasons.name(row.reason),
    closedBy: row.closed_by,
    wakeAt: row.wake_at,
    deadlineAt: row.deadline_at,
    claimed: row.claimed,
  }));
}

export interface EscalationRow {
  n: number;
  step_no: number;
  reason: number;
  code: string;
  message: string;
  opened_at: EpochMs;
  closed_at: EpochMs | null;
  closed_by: string | null;
  deadline_at: EpochMs | null;
  claimed_by: string | null;
  claimed_at: EpochMs | null;
  answer: number | null;
  answered_by: string | null;
  answered_verified: boolean;
  answered_why: string | null;
}

export function escalationRecord(row: EscalationRow): EscalationRecord {
  return {
    n: row.n,
    step: row.step_no,
    reason: escalationReasons.name(row.reason),
    code: row.code,
    message: row.message,
    openedAt: row.opened_at,
    closedAt: row.closed_at,
    closedBy: row.closed_by,
    deadlineAt: row.deadline_at,
    claim:
      row.claimed_by === null || row.claimed_at === null
        ? null
        : { by: row.claimed_by, at: row.claimed_at },
    answer:
      row.answer === null
        ? null
        : {
            answer: answers.name(row.answer),
            by: row.answered_by ?? "",
            verified: row.answered_verified,
            why: row.answered_why ?? "",
          },
  };
}

export async function changedInputsOf(
  query: Query,
  runId: RunId,
): Promise<readonly ChangedInput[]> {
  const rows = await query<{
    step_no: number;
    strategy: number;
    input_type: string | null;
    input_json: string | null;
    input_data: Buffer | null;
  }>("run_changed_inputs", { run_id: runId });
  return rows.map((row) => ({
    step: row.step_no,
    strategy: row.strategy,
    input: payloadOf(row.input_type, row.input_json, row.input_data),
  }));
}

/** The statement's own guard decides; if it met no row, the holder is looked up. */
export async function claimEscalation(
  { query, audited }: { readonly query: Query; readonly audited: Audited },
  name: "claim_escalation" | "release_escalation",
  { runId, n, by, anyway }: EscalationClaim,
  audit: AuditEntry | null,
): Promise<{ readonly by: string | null } | null> {
  const rows = await audited<{ changed: boolean }>(
    audit,
    name,
    { run_id: runId, n, by, anyway },
    (entry, [row]) => (row?.changed ? entry : null),
  );
  if (rows.length > 0) return null;
  const [holder] = await query<{ by: string | null }>("escalation_holder", { run_id: runId, n });
  return holder ?? { by: null };
}
