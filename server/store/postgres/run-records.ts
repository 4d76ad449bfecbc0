// Runs in their public form: the select on which reads of one run and lists of runs build.
import { type Kysely, type SqlBool, sql } from "kysely";
import { decodePageHead } from "../../core/page/codec.ts";
import type { RunRecord } from "../reads.ts";
import { stateOfRecord } from "../run-states.ts";
import { labelsOf, payloadOf } from "./columns.ts";
import type { EscalationRow } from "./people.ts";
import { concurrencyOf } from "./permits.ts";

export interface Tables {
  run: {
    id: string;
    namespace_id: number;
    partition: number;
    definition_id: number;
    workflow: string;
    version: number;
    key: string | null;
    priority: number;
    labels: unknown;
    input_type: string | null;
    input_json: string | null;
    input_data: Buffer | null;
    created_at: number;
    concurrency_key: string | null;
    concurrency_limit: number | null;
    concurrency_policy: number | null;
    parent_id: string | null;
    parent_step: string | null;
  };
  run_page: { run_id: string; no: number; state: string; ended_at: number | null };
  lease: { run_id: string };
  ready: { run_id: string };
  lane: { id: number; namespace_id: number };
  rerun: { run_id: string; of_run: string; from_step: string | null };
  escalation: EscalationRow & { run_id: string; namespace_id: number };
  workflow: {
    namespace_id: number;
    name: string;
    default_version: number;
    latest_version: number;
    created_at: number;
  };
}

/** Runs with the heads of their first pages, to be filtered, ordered and limited. */
export function selectRuns(db: Kysely<Tables>) {
  return db
    .selectFrom("run as r")
    .innerJoin("run_page as p", (join) => join.onRef("p.run_id", "=", "r.id").on("p.no", "=", 0))
    .leftJoin("rerun as x", "x.run_id", "r.id")
    .select([
      "r.id",
      "r.namespace_id",
      "r.definition_id",
      "r.workflow",
      "r.version",
      "r.key",
      "r.priority",
      "r.labels",
      "r.input_type",
      "r.input_json",
      "r.input_data",
      "r.created_at",
      "r.concurrency_key",
      "r.concurrency_limit",
      "r.concurrency_policy",
      "r.parent_id",
      "r.parent_step",
      "x.of_run",
      "x.from_step",
      sql<string>`split_part(p.state, E'\\n', 1)`.as("head"),
    ])
    .select(({ and, eb, exists, selectFrom }) => {
      const isOpen = eb("p.ended_at", "is", null);
      const ofRun = (table: "lease" | "ready") =>
        and([isOpen, exists(selectFrom(`${table} as t`).whereRef("t.run_id", "=", "r.id"))]);
      return [ofRun("lease").as("is_working"), ofRun("ready").as("waits_for_agent")];
    });
}

export type RunRow = Omit<Tables["run"], "partition"> & {
  /** The first line of its first page. */
  head: string;
  of_run: string | null;
  from_step: string | null;
  is_working: SqlBool;
  waits_for_agent: SqlBool;
};

export function runRecord(row: RunRow): RunRecord {
  const head = decodePageHead(row.head);
  return {
    ...stateOfRecord(head),
    substates: {
      waits: head.run.waits,
      isWorking: row.is_working === true,
      waitsForAgent: row.waits_for_agent === true,
    },
    runId: row.id,
    namespaceId: row.namespace_id,
    key: row.key,
    workflow: row.workflow,
    version: row.version,
    definitionId: row.definition_id,
    priority: row.priority,
    labels: labelsOf(row.labels),
    input: payloadOf(row.input_type, row.input_json, row.input_data),
    createdAt: row.created_at,
    concurrency: concurrencyOf(row),
    rerunOf: row.of_run === null ? null : { runId: row.of_run, from: row.from_step },
    parent: row.parent_id === null ? null : { runId: row.parent_id, stepId: row.parent_step ?? "" },
  };
}
