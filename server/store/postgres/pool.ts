// Connections. The sessions of the hot pool are set so that a plan made while a table was empty
// cannot survive as a sequential scan, and so that no statement or idle transaction outlives 2 s,
// whatever happens to the process. Composed lists have a pool of their own with the planner's
// defaults. Reads for operators have a small pool that is set like the hot pool, apart from its
// batches.
import pg from "pg";
import type { Logger } from "pino";
import { type AddressOrUrl, addressOf, type ShardAddress } from "./shard-address.ts";

const HOT_CONNECTIONS = 10;
const READ_CONNECTIONS = 4;
const OPERATOR_CONNECTIONS = 2;
const CONNECT_MS_MAX = 3_000;
/** A new connection takes five statements, so one that is wanted now and then is retained. */
const IDLE_MS_MAX = 60_000;
/**
 * The client gives up a little after the server would, for a server that does not answer at all.
 */
const QUERY_MS_MAX = 4_000;

const GUARDS = "set statement_timeout = '2s'; set idle_in_transaction_session_timeout = '2s'";
/** Citus refuses generic plans: it decides by the values of a statement where it runs. */
const GENERIC_PLANS = `select set_config('plan_cache_mode', 'force_generic_plan', false)
  where not exists (select from pg_extension where extname = 'citus')`;
/** Statements that ask for the sizes of tables find those that hold the rows on Citus. */
const SHARDS = "set citus.override_table_visibility = off";
const HOT = `${GUARDS}; set enable_seqscan = off; set jit = off; ${SHARDS}; ${GENERIC_PLANS}`;

/**
 * The incarnation of the database. It differs after a crash (which resets the statistics), after a
 * restart, and on another server. Every role may read both parts.
 */
export const INCARNATION =
  "(select concat_ws(' ', pg_postmaster_start_time(), stats_reset) from pg_stat_wal)";

/** int8 as number (ours stay far below 2^53), timestamptz as milliseconds since 1970. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") => {
    if (oid === pg.types.builtins.INT8) return Number;
    if (oid === pg.types.builtins.TIMESTAMPTZ) return (text: string) => Date.parse(text);
    return format === "binary"
      ? pg.types.getTypeParser(oid, "binary")
      : pg.types.getTypeParser(oid, "text");
  }) as typeof pg.types.getTypeParser,
};

type PoolName = "hot" | "operators" | "reads";

export type Pools = Readonly<Record<PoolName, pg.Pool>>;

export function createPools(
  address: AddressOrUrl,
  log: Logger,
  onConnected: (incarnation: string) => void,
): Pools {
  return Object.freeze({
    hot: createPool(address, "hot", HOT_CONNECTIONS, log, onConnected),
    operators: createPool(address, "operators", OPERATOR_CONNECTIONS, log, onConnected),
    reads: createPool(address, "reads", READ_CONNECTIONS, log, onConnected),
  });
}

export function createPool(
  to: AddressOrUrl,
  use: PoolName,
  max: number,
  log: Logger,
  onConnected: (incarnation: string) => void = () => undefined,
): pg.Pool {
  const address = addressOf(to);
  const pool = new pg.Pool({
    Client: clientTo(address),
    max,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    idleTimeoutMillis: IDLE_MS_MAX,
    query_timeout: QUERY_MS_MAX,
    keepAlive: true,
    // Statements that do not wait for each other are sent together.
    pipeline: true,
    application_name: `drover-${use}`,
    types,
    onConnect: async (client) => {
      await address.check(client);
      await client.query(use === "reads" ? GUARDS : HOT);
      const { rows } = await client.query<{ incarnation: string }>(
        `select ${INCARNATION} as incarnation`,
      );
      onConnected(rows[0]?.incarnation ?? "");
    },
  });
  // If a connection fails while a batch uses it, the next statement of that batch fails. An error
  // event without a listener would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", (error) => {
    // A database that stops right after this server may report so on a connection that just ended.
    if (!pool.ending) log.warn({ event: "store.connection-lost", err: error.message });
  });
  return pool;
}

/** A client that connects to where the shard is when it is made. */
function clientTo(address: ShardAddress): typeof pg.Client {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: address.url() });
      // Also if the connection cannot be made.
      this.on("error", () => address.failed());
    }
  };
}

/** A session of its own, for advisory locks and LISTEN. */
export function createSession(address: ShardAddress): pg.Client {
  return new pg.Client({
    connectionString: address.url(),
    connectionTimeoutMillis: CONNECT_MS_MAX,
    query_timeout: QUERY_MS_MAX,
    keepAlive: true,
    application_name: "drover-session",
    types,
  });
}
