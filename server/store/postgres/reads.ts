// Plain reads for people and their tools. What is composed (filters, order, pages) is Kysely's;
// what is fixed is SQL in sql/reads.sql.
import { Kysely, PostgresDialect, type SelectQueryBuilder, sql } from "kysely";
import type pg from "pg";
import type {
  AttemptRecord,
  DetailWanted,
  EscalationRecord,
  InterventionRecord,
  Reads,
  RunDetail,
  RunFilter,
  RunPage,
  RunRecord,
  WorkflowRecord,
} from "../reads.ts";
import { attemptKinds, escalationReasons, reasons, rules, runStates } from "./codes.ts";
import { payloadOf } from "./columns.ts";
import { storeFailure } from "./failure.ts";
import { type OutcomeRow, outcomeOf } from "./rows.ts";
import { loadStepsUnlocked } from "./steps-unlocked.ts";
import { queryOn } from "./transaction.ts";

/** How much history one look at a run returns at most, of each kind: the newest. */
const HISTORY_MAX = 1_000;

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
    ended_at: number | null;
    cancel_note: string | null;
  };
  run_open: {
    partition: number;
    run_id: string;
    state: number;
    version: number;
    verdict: number | null;
    deadline: number | null;
  };
  workflow: {
    namespace_id: number;
    name: string;
    default_version: number;
    latest_version: number;
    created_at: number;
  };
}

export function createReads(pool: pg.Pool): Reads {
  const reads = unguardedReads(pool);
  return Object.freeze({
    findRun: (...of) => reads.findRun(...of).catch(away),
    runDetail: (...of) => reads.runDetail(...of).catch(away),
    listRuns: (...of) => reads.listRuns(...of).catch(away),
    listWorkflows: (...of) => reads.listWorkflows(...of).catch(away),
  } satisfies Reads);
}

function away(error: unknown): never {
  throw storeFailure(error);
}

function unguardedReads(pool: pg.Pool): Reads {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const query = queryOn(pool);

  const runs = () =>
    db
      .selectFrom("run as r")
      .leftJoin("run_open as o", (join) =>
        join.onRef("o.partition", "=", "r.partition").onRef("o.run_id", "=", "r.id"),
      )
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
        "o.deadline",
        sql<number>`coalesce(o.state, r.state)`.as("state"),
        sql<number | null>`coalesce(r.reason, o.verdict)`.as("reason"),
        sql<number>`coalesce(o.version, r.last_version)`.as("state_version"),
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

    async runDetail(runId, wanted) {
      const row = await runs().where("r.id", "=", runId).executeTakeFirst();
      if (!row) return null;
      return { run: runRecord(row), ...(await detail(query, runId, wanted)) };
    },

    async listRuns(namespaceId, page) {
      const filtered = withFilter(runs().where("r.namespace_id", "=", namespaceId), page.filter);
      const rows = await paged(filtered, page).limit(page.limit).execute();
      return rows.map(runRecord);
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
  } satisfies Reads);
}

type RunRow = Omit<Tables["run"], "partition" | "state" | "reason" | "last_version"> & {
  deadline: number | null;
  state: number;
  reason: number | null;
  state_version: number;
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
  };
}

export function labelsOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([key, label]) => [key, String(label)]));
}

type Runs<Row> = SelectQueryBuilder<
  Tables & { r: Tables["run"]; o: Tables["run_open"] },
  "r" | "o",
  Row
>;

function withFilter<Row>(runs: Runs<Row>, filter: RunFilter): Runs<Row> {
  let query = runs;
  if (filter.workflow !== null) query = query.where("r.workflow", "=", filter.workflow);
  if (Object.keys(filter.labels).length > 0)
    query = query.where(sql<boolean>`r.labels @> ${JSON.stringify(filter.labels)}::jsonb`);
  if (filter.createdAfter !== null)
    query = query.where(
      sql<boolean>`r.created_at >= to_timestamp(${filter.createdAfter} / 1000.0)`,
    );
  if (filter.createdBefore !== null)
    query = query.where(
      sql<boolean>`r.created_at < to_timestamp(${filter.createdBefore} / 1000.0)`,
    );
  if (filter.states.length > 0) {
    const codes = filter.states.map((state) => runStates.code(state));
    query = query.where(sql<boolean>`coalesce(o.state, r.state) = any (${codes}::smallint[])`);
  }
  return query;
}

/** Run ids begin with the time of their making, so their order is the order of creation. */
function paged<Row>(runs: Runs<Row>, page: RunPage): Runs<Row> {
  const ascending = page.order === "created-asc";
  const ordered = runs.orderBy("r.id", ascending ? "asc" : "desc");
  return page.after === null ? ordered : ordered.where("r.id", ascending ? ">" : "<", page.after);
}

interface AttemptRow extends OutcomeRow {
  step_no: number;
  kind: number;
  fence: number;
  attempt: number;
  agent_id: string | null;
  started_at: number;
  ended_at: number;
}

interface InterventionRow {
  step_no: number;
  fence: number;
  rule: number;
  n: number;
  saw: string;
  did: string;
  due_at: number;
  acted_at: number;
  node: string | null;
  partition: number;
  epoch: number | null;
}

interface EscalationRow {
  n: number;
  step_no: number;
  reason: number;
  message: string;
  opened_at: number;
  closed_at: number | null;
  closed_by: string | null;
}

async function detail(
  query: ReturnType<typeof queryOn>,
  runId: string,
  wanted: DetailWanted,
): Promise<Omit<RunDetail, "run">> {
  const steps = await loadStepsUnlocked(query, runId);
  const attempts = wanted.attempts
    ? await query<AttemptRow>("run_attempts", [runId, HISTORY_MAX])
    : [];
  const interventions = wanted.interventions
    ? await query<InterventionRow>("run_interventions", [runId, HISTORY_MAX])
    : [];
  const escalations = wanted.escalations
    ? await query<EscalationRow>("run_escalations", [runId, HISTORY_MAX])
    : [];
  return {
    steps,
    attempts: attempts.map(
      (row): AttemptRecord => ({
        step: row.step_no,
        kind: attemptKinds.name(row.kind),
        fence: row.fence,
        attempt: row.attempt,
        agentId: row.agent_id,
        startedAt: row.started_at,
        endedAt: row.ended_at,
        outcome: outcomeOf(row),
      }),
    ),
    interventions: interventions.map(
      (row): InterventionRecord => ({
        runId,
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
      }),
    ),
    escalations: escalations.map(
      (row): EscalationRecord => ({
        n: row.n,
        step: row.step_no,
        reason: escalationReasons.name(row.reason),
        message: row.message,
        openedAt: row.opened_at,
        closedAt: row.closed_at,
        closedBy: row.closed_by,
      }),
    ),
  };
}
