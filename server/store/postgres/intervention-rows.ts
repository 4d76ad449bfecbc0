// Interventions as they are stored, and as they are read.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { InterventionRecord } from "../reads.ts";
import { rules } from "./codes.ts";

export interface InterventionRow {
  step_no: number;
  fence: number;
  rule: number;
  n: number;
  saw: string;
  did: string;
  due_at: EpochMs;
  acted_at: EpochMs;
  node: string | null;
  partition: number;
  epoch: number | null;
}

/** What all lists of interventions return; each list knows the run. */
export function interventionOf(row: InterventionRow): Omit<InterventionRecord, "runId"> {
  return {
    step: row.step_no === -1 ? null : row.step_no,
    fence: row.fence,
    rule: rules.name(row.rule),
    n: row.n,
    saw: row.saw,
    did: row.did,
    dueAt: row.due_at,
    actedAt: row.acted_at,
    node: row.node,
    partition: row.partition,
    epoch: row.epoch,
  };
}
