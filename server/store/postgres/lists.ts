// Lists for people and their tools. Statements that are composed (filters, order, pages) are
// Kysely's; fixed ones are SQL in sql/.
import { Kysely, PostgresDialect, sql } from "kysely";
import type pg from "pg";
import type { EpochMs } from "../../core/model/attempt.ts";
import {
  type EscalationOfRun,
  type EscalationPage,
  type Lists,
  OPEN_RUNS_MAX,
  type RunFilter,
  type RunPage,
  type VersionRecord,
  type WorkflowRecord,
} from "../lists.ts";
import type { RunDefinition, RunRecord } from "../reads.ts";
import type { RunId } from "../run-head.ts";
import { readApprovals } from "./approvals.ts";
import { circuitLists } from "./circuits.ts";
import { sharedSchema } from "./database-schema.ts";
import { throwReadFailure } from "./failure.ts";
import { createNamespaceReads, type NamespaceReads } from "./namespace-reads.ts";
import { namespaceLists } from "./namespaces.ts";
import { listDeliveries } from "./outbox.ts";
import { escalationRecord } from "./people.ts";
import { listPins } from "./pins.ts";
import { queueLists } from "./queues.ts";
import { runRecord, selectRuns, type Tables } from "./run-records.ts";
import { asksTasks, runIds, searchedToId } from "./run-search.ts";
import { listSchedules } from "./schedules.ts";
import { type Query, queryOn } from "./transaction.ts";
import { triggerLists } from "./triggers.ts";

const FROM_THE_FIRST = { order: "created-asc", after: null } as const;

/** `query`: for fixed statements, each of which is read at once. */
export function createLists(
  pool: pg.Pool,
  schema: string,
  query: Query,
  reads: NamespaceReads = createNamespaceReads(pool, schema),
): Lists {
  const found = searches(reads, pool, schema);
  return Object.freeze({
    runs: (...of) => found.runs(...of).catch(throwReadFailure),
    searchedTo: (...of) => found.searchedTo(...of).catch(throwReadFailure),
    countRuns: (...of) => found.countRuns(...of).catch(throwReadFailure),
    definitions: (...of) => found.definitions(...of).catch(throwReadFailure),
    escalations: (...of) => found.escalations(...of).catch(throwReadFailure),
    workflows: (...of) => found.workflows(...of).catch(throwReadFailure),
    versions: (...of) => found.versions(...of).catch(throwReadFailure),
    approvals: (wanted) => readApprovals(query, wanted),
    ...namespaceLists(query),
    ...queueLists(query),
    pins: (...of) => listPins(query, ...of),
    ...circuitLists(query),
    schedules: (...of) => listSchedules(query, ...of),
    ...triggerLists(query),
    deliveries: (...of) => listDeliveries(query, ...of),
  } satisfies Lists);
}

type Searches = Pick<
  Lists,
  "runs" | "searchedTo" | "countRuns" | "definitions" | "escalations" | "workflows" | "versions"
>;

interface Database {
  readonly db: Kysely<Tables>;
  readonly schema: string;
}

function searches(reads: NamespaceReads, pool: pg.Pool, schema: string): Searches {
  const on = (namespaceId: number) => ({ db: databaseOf(reads, namespaceId, schema), schema });
  const shared = sharedSchema(schema);
  const query = queryOn(pool, schema);
  return {
    runs: (id, page) => findRuns(on(id), id, page),
    searchedTo: (id, page) => findSearchedTo(on(id), id, page),
    countRuns: (id, filter, most) => countRuns(on(id), id, filter, most),
    definitions: (id, filter, most) => findDefinitions(on(id), id, filter, most),
    escalations: (id, page) => findEscalations(on(id).db, id, page),
    workflows: (id, after, limit) => findWorkflows(databaseOf(reads, id, shared), id, after, limit),
    versions: (...of) => listVersions(query, ...of),
  };
}

/** Reads one namespace alone. */
export function databaseOf(
  reads: NamespaceReads,
  namespaceId: number,
  schema: string,
): Kysely<Tables> {
  const connect = () => reads.connect(namespaceId);
  const pool = { connect, end: async () => undefined, options: {} };
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
}

type SearchPage = Parameters<typeof runIds>[0];

/** A search for the runs that the filter finds; one more statement if it asks for tasks. */
async function search(
  { db, schema }: Database,
  page: Omit<SearchPage, "schema" | "lanes">,
): Promise<SearchPage> {
  const { namespaceId, filter } = page;
  const lanes = asksTasks(filter)
    ? await db
        .withSchema(sharedSchema(schema))
        .selectFrom("lane")
        .select("id")
        .where("namespace_id", "=", namespaceId)
        .execute()
    : [];
  return { ...page, schema, lanes: lanes.map(({ id }) => id) };
}

async function findRuns(
  on: Database,
  namespaceId: number,
  page: RunPage,
): Promise<readonly RunRecord[]> {
  const ids = runIds(await search(on, { namespaceId, ...page }));
  const found = selectRuns(on.db).where(sql<boolean>`r.id in (${ids})`);
  const rows = await found.orderBy("r.id", page.order === "created-asc" ? "asc" : "desc").execute();
  return rows.map(runRecord);
}

async function findSearchedTo(
  on: Database,
  namespaceId: number,
  page: RunPage,
): Promise<RunId | null> {
  const last = searchedToId(await search(on, { namespaceId, ...page }));
  if (!last) return null;
  const [row] = (await last.execute(on.db)).rows;
  return row?.id ?? null;
}

async function countRuns(
  on: Database,
  namespaceId: number,
  filter: RunFilter,
  most: number,
): Promise<{ readonly count: number; readonly now: EpochMs }> {
  const found = await search(on, { namespaceId, filter, ...FROM_THE_FIRST, limit: most });
  const counted = sql<{ count: number; now: number }>`
    select count(*)::integer as count, date_trunc('milliseconds', now()) as now
    from (${runIds(found)}) as found`;
  const [row] = (await counted.execute(on.db)).rows;
  if (!row) throw new Error("a count has one row");
  return row;
}

async function findDefinitions(
  on: Database,
  namespaceId: number,
  filter: RunFilter,
  most: { readonly runs: number; readonly definitions: number },
): Promise<readonly RunDefinition[]> {
  const found = await search(on, { namespaceId, filter, ...FROM_THE_FIRST, limit: most.runs });
  const rows = await on.db
    .selectFrom("run as r")
    .where(sql<boolean>`r.id in (${runIds(found)})`)
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
}

async function findEscalations(
  db: Kysely<Tables>,
  namespaceId: number,
  page: EscalationPage,
): Promise<readonly EscalationOfRun[]> {
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
}

async function findWorkflows(
  db: Kysely<Tables>,
  namespaceId: number,
  after: string | null,
  limit: number,
): Promise<readonly WorkflowRecord[]> {
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
}

/** Versions of workflows, with the number of open runs that still need each. */
async function listVersions(
  query: Query,
  namespaceId: number,
  names: readonly string[],
  limit: number,
): Promise<readonly VersionRecord[]> {
  const rows = await query<{
    name: string;
    version: number;
    created_at: number;
    open_runs: number;
  }>("list_versions", { namespace_id: namespaceId, names, limit, open_runs_max: OPEN_RUNS_MAX });
  return rows.map(({ name, version, ...row }) => {
    return { name, version, createdAt: row.created_at, openRuns: row.open_runs };
  });
}
