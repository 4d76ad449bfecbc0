// The state store on PostgreSQL 15 to 18. Hot statements are SQL in sql/, prepared by name; lists
// are composed in lists.ts. Three pools: for batches and heartbeats, for reads, and for operators.
import type pg from "pg";
import type { Logger } from "pino";
import { type Clock, systemClock } from "../../clock.ts";
import { WHOLE_RANGE } from "../due.ts";
import type { OperatorStore } from "../operator-store.ts";
import { type Shards, shardsOf } from "../shards.ts";
import type { EngineStore, Store } from "../store.ts";
import { STORE_TIMES, type StoreTimes } from "../store-times.ts";
import { countAttempts, markAgents, markSilent } from "./agents.ts";
import { type Audited, createAudited } from "./audit.ts";
import { createCircuits } from "./circuits.ts";
import { differingRuns } from "./consistency.ts";
import { DATABASE_SCHEMA } from "./database-schema.ts";
import { createDatabaseTime } from "./database-time.ts";
import { definitionsOf } from "./definitions.ts";
import { dueRows } from "./due.ts";
import { createDurations } from "./durations.ts";
import { createEmptyLanes } from "./empty-lanes.ts";
import { loadFacts, stepsRead, taskFacts } from "./facts.ts";
import { readFailure, storeFailure } from "./failure.ts";
import { createHandlerLogs } from "./handler-logs.ts";
import { heartbeatsOf } from "./heartbeats.ts";
import { createForgetOld } from "./housekeeping.ts";
import { createInboxRows } from "./inbox.ts";
import { createIncarnations, type Incarnations } from "./incarnations.ts";
import { lanesOf } from "./lanes.ts";
import { createLists } from "./lists.ts";
import { createNamespaces, namespacesOf } from "./namespaces.ts";
import { createOperators } from "./operators.ts";
import { createOutbox } from "./outbox.ts";
import { overdue } from "./overdue.ts";
import { createPageCache } from "./page-cache.ts";
import { createPartitions } from "./partitions.ts";
import { claimEscalation } from "./people.ts";
import { createPins } from "./pins.ts";
import { pollQuery } from "./poll-query.ts";
import { createPools, type Pools } from "./pool.ts";
import { createQueues } from "./queues.ts";
import { createReads } from "./reads.ts";
import { createSchedules } from "./schedules.ts";
import { type AddressOrUrl, addressOf } from "./shard-address.ts";
import type { Values } from "./sql.ts";
import { createStatistics } from "./statistics.ts";
import { createTokens } from "./tokens.ts";
import { createTransact, inSnapshot, type Query, queryOn, type Transact } from "./transaction.ts";
import { createTriggers } from "./triggers.ts";
import { transactOn } from "./tx.ts";
import { recordIntervention } from "./write-history.ts";

interface PostgresStoreOptions {
  /** A URL, or where a shard is that may move. */
  readonly connectionString: AddressOrUrl;
  /** Leads to PostgreSQL itself if the other leads to a transaction pooler. */
  readonly directConnectionString?: AddressOrUrl;
  /** The schema of all tables in the database; left out: DATABASE_SCHEMA. */
  readonly schema?: string;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Values that are left out are those of STORE_TIMES. */
  readonly times?: Partial<StoreTimes>;
}

/** How the parts of the store reach the database. */
interface Connected {
  readonly pools: Pools;
  readonly directConnectionString: AddressOrUrl;
  readonly schema: string;
  readonly incarnations: Incarnations;
  readonly log: Logger;
  readonly clock: Clock;
  readonly times: StoreTimes;
  /** On the hot pool. */
  readonly query: Query;
  /** On the hot pool. */
  readonly transact: Transact;
  readonly audited: Audited;
}

export function createPostgresStore(options: PostgresStoreOptions): Store {
  return createPostgresShards([options]).home;
}

/** A store for each shard, in the order of their numbers; `schema` is that of the shard. */
export function createPostgresShards(shards: readonly PostgresStoreOptions[]): Shards<Store> {
  const connected = shards.map(connect);
  const everywhere = connected.map(({ query }) => query);
  return shardsOf(connected.map((shard) => storeOf(shard, everywhere)));
}

function connect(options: PostgresStoreOptions): Connected {
  const { connectionString, log, clock = systemClock, schema = DATABASE_SCHEMA } = options;
  const { directConnectionString = connectionString } = options;
  const times = { ...STORE_TIMES, ...options.times };
  const incarnations = createIncarnations();
  const pools = createPools(connectionString, log, incarnations.connected);
  const time = createDatabaseTime(clock);
  incarnations.listen(time.forget);
  const transact = createTransact(pools.hot, clock, schema, time);
  const query = guarded(queryOn(pools.hot, schema));
  const audited = createAudited(query, transact);
  const reached = { pools, directConnectionString, schema, incarnations };
  return { ...reached, log, clock, times, query, transact, audited };
}

/** `everywhere`: on the hot pool of each shard, this one among them. */
function storeOf(connected: Connected, everywhere: readonly Query[]): Store {
  const { pools, schema, clock, times, query, transact, audited, incarnations } = connected;
  const { directConnectionString, log } = connected;
  const { hot } = pools;
  const statistics = createStatistics(query, hot, clock, log);
  const cache = createPageCache();
  const emptyLanes = createEmptyLanes(clock);
  const hasShares = everywhere.length > 1;
  for (const { forget } of [cache, emptyLanes]) incarnations.listen(forget);

  return Object.freeze({
    ...operatorStore(connected),
    ...engineParts(connected, everywhere),
    partitions: createPartitions(addressOf(directConnectionString), { hot, schema, clock, times }),
    transact(use, work) {
      statistics.written();
      return transactOn(transact, { cache, emptyLanes, hasShares }, use, work);
    },
    ...namespacesOf(query, everywhere, transact, audited),
    ...definitionsOf(query, transact, audited),
    ...lanesOf(query),
    ...heartbeatsOf(query, transact, cache),
    recordIntervention: ({ runId }, intervention, actor) =>
      recordIntervention(query, runId, intervention, actor),
    incarnation: incarnations.count,
    onIncarnation: incarnations.listen,
    claimEscalation: (claim, audit = null) =>
      claimEscalation({ query, audited }, "claim_escalation", claim, audit),
    releaseEscalation: (claim, audit = null) =>
      claimEscalation({ query, audited }, "release_escalation", claim, audit),
    taskFacts: (tasks) => taskFacts(query, tasks, cache),
    facts: (wanted) => loadFacts(query, wanted, stepsRead(query, cache)),
    markAgents: (server, seen) => markAgents(query, server, seen),
    countAttempts: (counts) => countAttempts(query, counts),
    markSilent: (silent) => markSilent(query, silent),
    forgetOld: createForgetOld({ query, clock, everywhere }),
    differingRuns: (partitions, after, limit) =>
      inSnapshot(hot, (client) =>
        differingRuns(guarded(queryOn(client, schema)), cache, partitions, after, limit),
      ),
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
      await Promise.all(Object.values(pools).map((pool) => pool.end()));
    },
  } satisfies Store);
}

function operatorStore(connected: Connected): OperatorStore {
  const { pools, schema, clock, times, query, audited } = connected;
  const ofOperators = guarded(queryOn(pools.operators, schema), readFailure);
  return {
    lists: createLists(pools.reads, schema, query),
    tokens: createTokens(query, audited),
    inbox: createInboxRows(query),
    operators: createOperators(ofOperators, { times, pools }),
    logs: createHandlerLogs(ofOperators, createTransact(pools.operators, clock, schema)),
  };
}

type EngineParts = Pick<
  EngineStore,
  | "reads"
  | "outbox"
  | "queues"
  | "pins"
  | "schedules"
  | "triggers"
  | "circuits"
  | "durations"
  | "namespaces"
>;

function engineParts(connected: Connected, everywhere: readonly Query[]): EngineParts {
  const { pools, schema, clock, times, query, transact, audited } = connected;
  return {
    reads: createReads(pools.reads, schema, times),
    outbox: createOutbox(query, audited),
    queues: createQueues({ query, clock, everywhere }, transact, audited),
    pins: createPins({ query, clock, everywhere }, audited),
    schedules: createSchedules(query, audited),
    triggers: createTriggers(query, transact, audited),
    circuits: createCircuits(query, (work) => transact({}, work), audited),
    durations: createDurations(query, transact),
    namespaces: createNamespaces(query, transact, audited),
  };
}

/** Errors of the connection become STORE_UNAVAILABLE. */
function guarded(query: Query, failure: (error: unknown) => unknown = storeFailure): Query {
  return async <Row extends pg.QueryResultRow>(name: string, values: Values) => {
    try {
      return await query<Row>(name, values);
    } catch (error) {
      throw failure(error);
    }
  };
}
