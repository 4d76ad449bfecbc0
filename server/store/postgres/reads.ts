// Plain reads for people and their tools. What is composed (filters, order, pages) is Kysely's;
// what is fixed is SQL in sql/reads.sql.
import { Kysely, PostgresDialect, sql } from "kysely";
import type pg from "pg";
import { isEndKind } from "../../core/model.ts";
import type {
  DetailWanted,
  EscalationOfRun,
  Reads,
  RunDetail,
  RunRecord,
  WorkflowRecord,
} from "../reads.ts";
import type { StoreTimes } from "../store-times.ts";
import { type AttemptRow, attemptRecord } from "./attempt-rows.ts";
import { reasons, runStates } from "./codes.ts";
import { labelsOf, payloadOf } from "./columns.ts";
import { readFailure } from "./failure.ts";
import { type InterventionRow, interventionOf } from "./intervention-rows.ts";
import {
  changedInputsOf,
  decisionsOf,
  type EscalationRow,
  escalationRecord,
  signalsOf,
} from "./people.ts";
import { type OpenRunRow, runStateOf } from "./run-rows.ts";
import { runIds } from "./run-search.ts";
import { runSigns } from "./signs.ts";
import { concurrencyOf } from "./slots.ts";
import { loadStepsUnlocked } from "./steps-unlocked.ts";
import { tracedRuns } from "./trace-columns.ts";
import { inSnapshot, queryOn } from "./transaction.ts";
import { listVersions } from "./versions.ts";

/** How much history one look at a run returns at most, of each kind: the newest. */
const HISTORY_MAX = 1_000;
const FROM_THE_FIRST = { order: "created-asc", after: null } as const;

interface Tables {
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
    state: number | null;
    reason: number | null;
    last_version: number | null;
    warnings: number | null;
    ended_at: number | null;
    cancel_note: string | null;
    concurrency_key: string | null;
    concurrency_limit: number | null;
    concurrency_policy: number | null;
    parent_id: string | null;
    parent_step: string | null;
  };
  run_open: {
    partition: number;
    run_id: string;
    state: number;
    version: number;
    verdict: number | null;
    warnings: number;
    deadline: number | null;
    wake_at: number | null;
  };
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

type ListedHere = Omit<Reads, "listNamespaces" | "listRegions">;

export function createReads(pool: pg.Pool, times: StoreTimes): ListedHere {
  const reads = unguardedReads(pool, times);
  return Object.freeze({
    findRun: (...of) => reads.findRun(...of).catch(away),
    runDetail: (...of) => reads.runDetail(...of).catch(away),
    runItems: (...of) => reads.runItems(...of).catch(away),
    changedInputs: (...of) => reads.changedInputs(...of).catch(away),
    tracedRuns: (...of) => reads.tracedRuns(...of).catch(away),
    countRuns: (...of) => reads.countRuns(...of).catch(away),
    listDefinitions: (...of) => reads.listDefinitions(...of).catch(away),
    runSigns: (...of) => reads.runSigns(...of).catch(away),
    listRuns: (...of) => reads.listRuns(...of).catch(away),
    listEscalations: (...of) => reads.listEscalations(...of).catch(away),
    listWorkflows: (...of) => reads.listWorkflows(...of).catch(away),
    listVersions: (...of) => reads.listVersions(...of).catch(away),
  } satisfies ListedHere);
}

function away(error: unknown): never {
  throw readFailure(error);
}

function unguardedReads(pool: pg.Pool, times: StoreTimes): ListedHere {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const query = queryOn(pool);

  const runs = () =>
    db
      .selectFrom("run as r")
      .leftJoin("run_open as o", (join) =>
        join.onRef("o.partition", "=", "r.partition").onRef("o.run_id", "=", "r.id"),
      )
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
        "r.ended_at",
        "r.cancel_note",
        "r.concurrency_key",
        "r.concurrency_limit",
        "r.concurrency_policy",
        "r.parent_id",
        "r.parent_step",
        "o.deadline",
        "x.of_run",
        "x.from_step",
        "o.wake_at",
        sql<number>`coalesce(o.state, r.state)`.as("state"),
        sql<number | null>`coalesce(r.reason, o.verdict)`.as("reason"),
        sql<number>`coalesce(o.version, r.last_version)`.as("state_version"),
        sql<number>`coalesce(o.warnings, r.warnings)`.as("warnings"),
      ]);

  return Object.freeze({
    async findRun(namespaceId, by) {
      const found =
        "runId" in by
          ? runs().where("r.id", "=", by.runId)
          : runs().where("r.id", "=", (from) =>
              from
                .selectFrom(
                  sql<{ run_id: string; namespace_id: number; key: string }>`idempotency`.as("i"),
                )
                .select("i.run_id")
                .where("i.namespace_id", "=", namespaceId)
                .where("i.key", "=", by.key),
            );
      const row = await found.where("r.namespace_id", "=", namespaceId).executeTakeFirst();
      return row ? runRecord(row) : null;
    },

    runDetail(runId, wanted) {
      const { sql: text, parameters } = runs().where("r.id", "=", runId).compile();
      return inSnapshot(pool, async (client) => {
        const [row] = (await client.query<RunRow>(text, [...parameters])).rows;
        if (!row) return null;
        const run = runRecord(row);
        const seen = queryOn(client);
        return { run, ...(await stateOf(seen, run)), ...(await detail(seen, runId, wanted)) };
      });
    },

    runItems: (runId, page) =>
      inSnapshot(pool, async (client) => {
        const seen = queryOn(client);
        const steps = await loadStepsUnlocked(seen, runId, page);
        const places = [...steps.keys()];
        const rows = await seen<AttemptRow>("attempts_of_steps", [runId, places]);
        return { steps, attempts: rows.map(attemptRecord) };
      }),

    changedInputs: (runId) => changedInputsOf(query, runId),
    tracedRuns: (of) => tracedRuns(query, of),
    runSigns: (runId) => runSigns(query, runId, times),

    async listRuns(namespaceId, page) {
      const found = runs().where(sql<boolean>`r.id in (${runIds({ namespaceId, ...page })})`);
      const rows = await found
        .orderBy("r.id", page.order === "created-asc" ? "asc" : "desc")
        .execute();
      return rows.map(runRecord);
    },

    async countRuns(namespaceId, filter, most) {
      const found = runIds({ namespaceId, filter, ...FROM_THE_FIRST, limit: most });
      const counted = sql<{ count: number; now: number }>`
        select count(*)::integer as count, date_trunc('milliseconds', now()) as now
        from (${found}) as found`;
      const [row] = (await counted.execute(db)).rows;
      if (!row) throw new Error("a count has one row");
      return row;
    },

    async listDefinitions(namespaceId, filter, most) {
      const found = runIds({ namespaceId, filter, ...FROM_THE_FIRST, limit: most.runs });
      const rows = await db
        .selectFrom("run as r")
        .where(sql<boolean>`r.id in (${found})`)
        .select(["r.workflow", "r.version", "r.definition_id"])
        .groupBy(["r.workflow", "r.version", "r.definition_id"])
        .orderBy(sql`r.workflow collate "C"`)
        .orderBy("r.version")
        .orderBy("r.definition_id")
        .limit(most.definitions)
        .execute();
      return rows.map(({ workflow, version, definition_id: definitionId }) => {
        return { workflow, version, definitionId };
      });
    },

    async listEscalations(namespaceId, page) {
      const all = db
        .selectFrom("escalation as e")
        .innerJoin("run as r", "r.id", "e.run_id")
        .selectAll("e")
        .select(["r.workflow", "r.definition_id"])
        .where("e.namespace_id", "=", namespaceId);
      const asked = page.openOnly ? all.where("e.closed_at", "is", null) : all;
      const { after } = page;
      const rest =
        after === null
          ? asked
          : asked.where(({ eb, or, and }) =>
              or([
                eb("e.run_id", "<", after.runId),
                and([eb("e.run_id", "=", after.runId), eb("e.n", ">", after.n)]),
              ]),
            );
      const inOrder = rest.orderBy("e.run_id", "desc").orderBy("e.n");
      const rows = await inOrder.limit(page.limit).execute();
      return rows.map(
        (row): EscalationOfRun => ({
          ...escalationRecord(row),
          runId: row.run_id,
          workflow: row.workflow,
          definitionId: row.definition_id,
        }),
      );
    },

    async listWorkflows(namespaceId, after, limit) {
      let workflows = db
        .selectFrom("workflow")
        .selectAll()
        .where("namespace_id", "=", namespaceId)
        .where("latest_version", ">", 0);
      if (after !== null) workflows = workflows.where("name", ">", after);
      const rows = await workflows.orderBy("name").limit(limit).execute();
      return rows.map(
        (row): WorkflowRecord => ({
          name: row.name,
          defaultVersion: row.default_version,
          latestVersion: row.latest_version,
          createdAt: row.created_at,
        }),
      );
    },

    listVersions: (...of) => listVersions(query, ...of),
  } satisfies ListedHere);
}

type RunRow = Omit<
  Tables["run"],
  "partition" | "state" | "reason" | "last_version" | "warnings"
> & {
  warnings: number;
  deadline: number | null;
  wake_at: number | null;
  state: number;
  reason: number | null;
  state_version: number;
  of_run: string | null;
  from_step: string | null;
};

function runRecord(row: RunRow): RunRecord {
  const state = runStates.name(row.state);
  return {
    runId: row.id,
    namespaceId: row.namespace_id,
    key: row.key,
    workflow: row.workflow,
    version: row.version,
    definitionId: row.definition_id,
    state,
    reason: row.reason === null ? null : reasons.name(row.reason),
    cancelNote: row.cancel_note,
    stateVersion: row.state_version,
    priority: row.priority,
    labels: labelsOf(row.labels),
    input: payloadOf(row.input_type, row.input_json, row.input_data),
    createdAt: row.created_at,
    endedAt: row.ended_at,
    deadlineAt: row.deadline,
    startAt: state === "PENDING" && row.deadline === null ? row.wake_at : null,
    concurrency: concurrencyOf(row),
    warnings: row.warnings,
    rerunOf: row.of_run === null ? null : { runId: row.of_run, from: row.from_step },
    parent: row.parent_id === null ? null : { runId: row.parent_id, stepId: row.parent_step ?? "" },
  };
}

/** An open run's state is in its narrow row, an ended one's in the run itself. */
async function stateOf(
  query: ReturnType<typeof queryOn>,
  { runId, state, reason }: RunRecord,
): Promise<Pick<RunDetail, "state" | "pivoted">> {
  if (isEndKind(state)) return { state: { kind: state, reason: reason ?? "DONE" }, pivoted: false };
  const [open] = await query<OpenRunRow>("run_head", [runId]);
  if (!open) throw new Error(`run ${runId} is ${state} and has no open row`);
  return { state: runStateOf(open), pivoted: open.pivoted };
}

async function detail(
  query: ReturnType<typeof queryOn>,
  runId: string,
  wanted: DetailWanted,
): Promise<Omit<RunDetail, "run" | "state" | "pivoted">> {
  const steps = await loadStepsUnlocked(query, runId, null);
  const attempts = wanted.attempts
    ? await query<AttemptRow>("run_attempts", [runId, HISTORY_MAX])
    : [];
  const interventions = wanted.interventions
    ? await query<InterventionRow>("run_interventions", [runId, HISTORY_MAX])
    : [];
  const kept = await query<{ step_no: number; of_run: string }>("run_kept", [runId]);
  const escalations = wanted.escalations
    ? await query<EscalationRow>("run_escalations", [runId, HISTORY_MAX])
    : [];
  return {
    steps,
    attempts: attempts.map(attemptRecord),
    interventions: interventions.map((row) => ({ runId, ...interventionOf(row) })),
    escalations: escalations.map(escalationRecord),
    signals: (await signalsOf(query, [runId])).get(runId) ?? [],
    decisions: (await decisionsOf(query, [runId])).get(runId) ?? [],
    kept: new Map(kept.map((row) => [row.step_no, row.of_run])),
  };
}
