// Attempts as rows: how they ended, and what a later report about them is judged by.
import type { Counted, EndedAttempt, Moment, Outcome } from "../../core/attempt.ts";
import type { AttemptRecord } from "../reads.ts";
import { attemptKinds, failureClasses, outcomes, taskKinds } from "./codes.ts";
import { payloadColumns, payloadOf } from "./columns.ts";

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
    retryAfterMs: outcome.kind === "again" ? outcome.afterMs : (failure?.retryAfterMs ?? null),
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
    case "again":
      return { kind, afterMs: row.retry_after_ms ?? 0 };
    case "deferred":
    case "released":
    case "undelivered":
    case "unsent":
    case "superseded":
      return { kind };
  }
}

export interface EndedAttemptRow {
  run_id: string;
  step_no: number;
  kind: number;
  fence: number;
  n: number;
  attempt: number;
  secret: string;
  agent_id: string | null;
  session: string | null;
  started_at: Moment;
  outcome: number;
  class: number | null;
  charged: number | null;
  digest: string | null;
}

export function endedAttemptOf(row: EndedAttemptRow): EndedAttempt {
  const outcome = outcomes.name(row.outcome);
  return {
    step: row.step_no,
    kind: taskKinds.name(row.kind),
    fence: row.fence,
    n: row.n,
    attempt: row.attempt,
    secret: row.secret,
    agentId: row.agent_id ?? "",
    session: row.session ?? "",
    startedAt: row.started_at,
    outcome,
    transient: outcome === "failure" && failureClasses.name(row.class ?? 0) === "transient",
    counted: countedOf(row.charged),
    digest: row.digest,
  };
}

/** A try that counts under no policy. */
const NO_POLICY = -1;

export function chargedColumn(counted: Counted): number | null {
  return counted && (counted.policy ?? NO_POLICY);
}

function countedOf(charged: number | null): Counted {
  return charged === null ? null : { policy: charged === NO_POLICY ? null : charged };
}

export interface AttemptRow extends OutcomeRow {
  step_no: number;
  kind: number;
  fence: number;
  n: number;
  attempt: number;
  agent_id: string | null;
  started_at: number;
  ended_at: number;
  progress: string | null;
}

export function attemptRecord(row: AttemptRow): AttemptRecord {
  return {
    step: row.step_no,
    kind: attemptKinds.name(row.kind),
    fence: row.fence,
    n: row.n,
    attempt: row.attempt,
    agentId: row.agent_id,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    outcome: outcomeOf(row),
    progress: row.progress,
  };
}
