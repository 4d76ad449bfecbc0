// The state store on PostgreSQL 15 to 18. Hot statements are SQL in sql/, prepared by name; lists
// are composed in lists.ts. Three pools: for batches and heartbeats, for reads, and for operators.
import { createHash } from "node:crypto";
import type pg from "pg";
import type { Logger } from "pino";
import { type Clock, systemClock } from "../../clock.ts";
import type { Definition } from "../../core/definition/definition.ts";
import { DATABASE_SCHEMA } from "../../database-schema.ts";
import { DroverError } from "../../errors.ts";
import { definitionFromText, definitionText } from "../definition-text.ts";
import { WHOLE_RANGE } from "../due.ts";
import { namespaceDeleted } from "../namespaces.ts";
import type { LaneKey, Store } from "../store.ts";
import { STORE_TIMES, type StoreTimes } from "../store-times.ts";
import { markAgents, markSilent } from "./agents.ts";
import { createCircuits } from "./circuits.ts";
import { rules } from "./codes.ts";
import { columns } from "./columns.ts";
import { differingRuns } from "./consistency.ts";
import { createDatabaseTime } from "./database-time.ts";
import { dueRows } from "./due.ts";
import { createDurations } from "./durations.ts";
import { createEmptyLanes } from "./empty-lanes.ts";
import { loadFacts, stepsRead, taskFacts } from "./facts.ts";
import { storeFailure } from "./failure.ts";
import { heartbeat, storeReports } from "./heartbeats.ts";
import { createForgetOld } from "./housekeeping.ts";
import { createInboxRows } from "./inbox.ts";
import { createIncarnations } from "./incarnations.ts";
import { createLists } from "./lists.ts";
import { createNamespaces, namespacesOf } from "./namespaces.ts";
import { createOperators } from "./operators.ts";
import { createOutbox } from "./outbox.ts";
import { overdue } from "./overdue.ts";
import { createPageCache } from "./page-cache.ts";
import { createPages } from "./pages.ts";
import { createPartitions } from "./partitions.ts";
import { claimEscalation } from "./people.ts";
import { createPins } from "./pins.ts";
import { pollQuery } from "./poll-query.ts";
import { createPool } from "./pool.ts";
import { createQueues } from "./queues.ts";
import { createReads } from "./reads.ts";
import { createSchedules } from "./schedules.ts";
import type { Values } from "./sql.ts";
import { createStatistics } from "./statistics.ts";
import { createTokens } from "./tokens.ts";
import { createTransact, type Query, queryOn } from "./transaction.ts";
import { createTriggers } from "./triggers.ts";
import { createTx } from "./tx.ts";

const HOT_CONNECTIONS = 10;
const READ_CONNECTIONS = 4;
const OPERATOR_CONNECTIONS = 2;
/** An id that is drawn at random may be taken: in one of some ten thousand inserts, at most. */
const INSERTS_MAX = 3;
/** The newest version, as find_version names it. */
const NEWEST = -1;

interface PostgresStoreOptions {
  readonly connectionString: string;
  /** Leads to PostgreSQL itself if the other leads to a transaction pooler. */
  readonly directConnectionString?: string;
  /** The schema of all tables in the database; left out: DATABASE_SCHEMA. */
  readonly schema?: string;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Values that are left out are those of STORE_TIMES. */
  readonly times?: Partial<StoreTimes>;
}

export function createPostgresStore(options: PostgresStoreOptions): Store {
  const { connectionString, log, clock = systemClock, schema = DATABASE_SCHEMA } = options;
  const { directConnectionString = connectionString } = options;
  const times = { ...STORE_TIMES, ...options.times };
  const incarnations = createIncarnations();
  const { connected } = incarnations;
  const hot = createPool(connectionString, "hot", HOT_CONNECTIONS, log, connected);
  const lists = createPool(connectionString, "reads", READ_CONNECTIONS, log, connected);
  const operatorPool = createPool(
    connectionString,
    "operators",
    OPERATOR_CONNECTIONS,
    log,
    connected,
  );
  const time = createDatabaseTime(clock);
  const transact = createTransact(hot, clock, schema, time);
  const query = guarded(queryOn(hot, schema));
  const statistics = createStatistics(query, hot, clock, log);
  const cache = createPageCache();
  const emptyLanes = createEmptyLanes(clock);
  for (const { forget } of [cache, emptyLanes, time]) incarnations.listen(forget);

  return Object.freeze({
    reads: createReads(lists, schema, times),
    lists: createLists(lists, schema, query),
    partitions: createPartitions(directConnectionString, { hot, schema, clock, times }),
    outbox: createOutbox(query),
    queues: createQueues(query, clock),
    pins: createPins(query, clock),
    schedules: createSchedules(query),
    triggers: createTriggers(query),
    circuits: createCircuits(query, (work) => transact({}, work)),
    durations: createDurations(query, transact),
    namespaces: createNamespaces(query, transact),
    tokens: createTokens(query),
    inbox: createInboxRows(query),
    operators: createOperators(guarded(queryOn(operatorPool, schema)), {
      times,
      pools: { hot, operators: operatorPool, reads: lists },
    }),
    async transact(use, work) {
      statistics.written();
      const { committed, result } = await transact(use, async (begun) => {
        const open = createTx(begun, { cache, emptyLanes });
        const done = await work(open.tx);
        void open.tx.placeReady();
        return { committed: open.committed, result: done };
      });
      committed();
      return result;
    },

    ...namespacesOf(query, transact),
    internDefinition: (namespaceId, definition) => internDefinition(query, namespaceId, definition),
    definition: (id) => readDefinition(query, id),
    registerWorkflow: (workflow) =>
      transact({}, (begun) => registerWorkflow(begun.query, workflow)),
    async setDefaultVersion(namespaceId, name, version) {
      const asked = { namespace_id: namespaceId, name, version };
      const [row] = await query<{ previous_version: number }>("set_default_version", asked);
      return row?.previous_version ?? null;
    },
    async workflowVersion(namespaceId, name, version) {
      const [row] = await query<{
        definition_id: number;
        version: number;
        created_at: number;
      }>("find_version", {
        namespace_id: namespaceId,
        name,
        version: version === "newest" ? NEWEST : version,
      });
      if (!row) return null;
      const { definition_id: definitionId, created_at: createdAt } = row;
      return { definitionId, version: row.version, createdAt };
    },
    lanes: (keys) => internLanes(query, keys),
    async lanesOfQueues(namespaceId, queues) {
      const rows = await query<{ id: number; queue: string; task: string }>("lanes_of_queues", {
        namespace_id: namespaceId,
        queues,
      });
      return rows.map((row) => ({ lane: row.id, queue: row.queue, task: row.task }));
    },
    async recordIntervention({ runId }, { fence, rule, n, saw, did, dueAt }, { node, epoch }) {
      const code = rules.code(rule);
      await query("insert_intervention", {
        run_id: runId,
        fence,
        rule: code,
        n,
        saw,
        did,
        due_at: dueAt,
        node,
        epoch,
      });
    },
    incarnation: incarnations.count,
    onIncarnation: incarnations.listen,
    claimEscalation: (claim) => claimEscalation(query, "claim_escalation", claim),
    releaseEscalation: (claim) => claimEscalation(query, "release_escalation", claim),
    taskFacts: (tasks) => taskFacts(query, tasks, cache),
    facts: (wanted) => loadFacts(query, wanted, stepsRead(query, cache)),
    heartbeat: (heartbeats) =>
      heartbeat(
        query,
        async (reports) => {
          const { answers, committed } = await transact({ fate: "unasked" }, async (begun) => {
            const pages = createPages(begun, cache);
            const heard = await storeReports(begun, pages, reports);
            void pages.flush();
            return { answers: heard, committed: pages.committed };
          });
          committed();
          return answers;
        },
        heartbeats,
      ),
    async undelivered(lost) {
      const polls = lost.flatMap(({ session, polls: of }) => of.map((poll) => ({ session, poll })));
      if (polls.length === 0) return [];
      const rows = await query<{
        run_id: string;
        partition: number;
        step_no: number;
        fence: number;
        secret: string;
      }>(
        "undelivered_leases",
        columns(polls, { session: ({ session }) => session, poll_seq: ({ poll }) => poll }),
      );
      return rows.map((row) => ({
        runId: row.run_id,
        partition: row.partition,
        step: row.step_no,
        fence: row.fence,
        secret: row.secret,
      }));
    },
    async markPolled(node, lanes) {
      if (lanes.length > 0) await query("mark_polled", { node, lanes });
    },
    markAgents: (server, seen) => markAgents(query, server, seen),
    markSilent: (silent) => markSilent(query, silent),
    forgetOld: createForgetOld(query, clock),
    differingRuns: (partitions, after, limit) =>
      differingRuns(query, cache, partitions, after, limit),
    pollQuery(asked) {
      // Called once a second.
      void statistics.check();
      return pollQuery(query, asked);
    },
    dueRows: (partitions, limit, range = WHOLE_RANGE) =>
      dueRows(query, cache, partitions, { ...range, limit, polledMs: times.polledMs }),
    overdue: (partitions, byMs, since = null) =>
      overdue(query, partitions, { ...times, byMs, since }),
    async ready() {
      await query("find_namespace", { name: "default" });
    },
    async close() {
      await Promise.all([hot.end(), lists.end(), operatorPool.end()]);
    },
  } satisfies Store);
}

/** Errors of the connection become STORE_UNAVAILABLE. */
function guarded(query: Query): Query {
  return async <Row extends pg.QueryResultRow>(name: string, values: Values) => {
    try {
      return await query<Row>(name, values);
    } catch (error) {
      throw storeFailure(error);
    }
  };
}

async function internDefinition(
  query: Query,
  namespaceId: number,
  definition: Definition,
): Promise<number> {
  const body = definitionText(definition);
  const digest = createHash("sha256").update(body).digest("hex");
  const find = () =>
    query<{ id: number; unused: boolean }>("find_definition", {
      namespace_id: namespaceId,
      digest,
    });
  const [known] = await find();
  if (known && (!known.unused || (await query("keep_definition", { id: known.id })).length > 0))
    return known.id;
  for (let tries = 0; tries < INSERTS_MAX; tries++) {
    await query("intern_definition", { namespace_id: namespaceId, digest, body });
    const [made] = await find();
    if (made) return made.id;
  }
  throw namespaceDeleted();
}

async function readDefinition(query: Query, id: number): Promise<Definition> {
  const [row] = await query<{ body: string }>("get_definition", { id });
  if (!row) throw new DroverError("INTERNAL", `definition ${id} is not stored`);
  return definitionFromText(row.body);
}

async function registerWorkflow(
  query: Query,
  workflow: Parameters<Store["registerWorkflow"]>[0],
): Promise<{ version: number; created: boolean }> {
  const { namespaceId, name, definitionId, keepDefault } = workflow;
  const [row] = await query<{ default_version: number; latest_version: number }>("lock_workflow", {
    namespace_id: namespaceId,
    name,
  });
  const latest = row?.latest_version ?? 0;
  const [known] = await query<{ version: number }>("find_version_of", {
    namespace_id: namespaceId,
    name,
    definition_id: definitionId,
  });
  const version = known?.version ?? latest + 1;
  if (!known)
    await query("insert_version", {
      namespace_id: namespaceId,
      name,
      version,
      definition_id: definitionId,
    });
  const before = row?.default_version ?? 0;
  const isDefault = before === 0 || (!known && !keepDefault);
  await query("set_versions", {
    namespace_id: namespaceId,
    name,
    latest_version: Math.max(latest, version),
    default_version: isDefault ? version : before,
  });
  return { version, created: !known };
}

async function internLanes(query: Query, keys: readonly LaneKey[]): Promise<readonly number[]> {
  const values = columns(keys, {
    namespace_id: (key) => key.namespaceId,
    queue: (key) => key.queue,
    task: (key) => key.task,
  });
  const find = () => query<{ id: number }>("find_lanes", values);
  const known = await find();
  if (known.length === keys.length) return known.map((row) => row.id);
  for (let tries = 0; tries < INSERTS_MAX; tries++) {
    await query("intern_lanes", values);
    const made = await find();
    if (made.length === keys.length) return made.map((row) => row.id);
  }
  throw new Error(`${keys.length} lanes were made and are not all there`);
}
