// Where the connections of a shard lead. On plain PostgreSQL that is one URL for all shards. On
// Citus a shard is on the node that owns its schema, and may move: each new connection is checked,
// and one that leads to another node fails and tells where the next one has to go.
import { type ClientBase, escapeIdentifier } from "pg";
import { systemClock } from "../../clock.ts";
import { DATABASE_SCHEMA } from "./database-schema.ts";
import { withConnection } from "./one-connection.ts";
import { shardSchemas } from "./shard-schemas.ts";

export interface ShardAddress {
  /** For the next connection. */
  url(): string;
  /** Throws if a new connection does not lead to the shard. */
  check(client: ClientBase): Promise<void>;
  /** A connection could not be made: the shard may be elsewhere by now. */
  failed(): void;
}

interface ShardPlace {
  readonly schema: string;
  /** null: where the store is, as given. */
  readonly address: ShardAddress | null;
}

interface Owner {
  readonly host: string;
  readonly port: number;
  /** The node that is connected owns the schema. */
  readonly isHere: boolean;
}

/** How long an answer of the coordinator is believed while connections fail, in milliseconds. */
const ASKED_AGAIN_MS = 1_000;
const CONNECT_MS_MAX = 3_000;

const OWNER = `select n.nodename as host, n.nodeport as port,
    p.groupid = (select l.groupid from pg_dist_local_group as l) as "isHere"
  from pg_dist_schema as s
  join pg_dist_partition as t on t.colocationid = s.colocationid
  join pg_dist_shard as d on d.logicalrelid = t.logicalrelid
  join pg_dist_placement as p on p.shardid = d.shardid
  join pg_dist_node as n on n.groupid = p.groupid and n.noderole = 'primary'
  where s.schemaid = to_regnamespace($1)
  limit 1`;

/** A URL that never changes, or an address that may. */
export type AddressOrUrl = ShardAddress | string;

export function addressOf(to: AddressOrUrl): ShardAddress {
  return typeof to === "string" ? fixedAddress(to) : to;
}

function fixedAddress(url: string): ShardAddress {
  return Object.freeze({ url: () => url, check: async () => undefined, failed: () => undefined });
}

/** The same database on another node of the cluster. */
export function urlOn(url: string, { host, port }: Pick<Owner, "host" | "port">): string {
  const other = new URL(url);
  other.hostname = host;
  other.port = String(port);
  return other.href;
}

/**
 * The shards of a store, in the order of their numbers. `url` leads to PostgreSQL, or to a node of
 * a Citus cluster, which is most often the coordinator. If that node owns a shard, `url` is its
 * address, whatever stands between: a proxy, or another name of the host.
 */
export async function shardPlaces(
  url: string,
  schema: string = DATABASE_SCHEMA,
): Promise<readonly ShardPlace[]> {
  return connected(url, async (client) => {
    const shards = await shardSchemas(client, schema);
    const isCitus = await hasCitus(client);
    const places: ShardPlace[] = [];
    for (const of of shards.length === 0 ? [schema] : shards) {
      const owner = isCitus ? await ownerOf(client, of) : null;
      const address = owner === null ? null : movingAddress(url, of, owner);
      places.push({ schema: of, address });
    }
    return places;
  });
}

async function hasCitus(client: ClientBase): Promise<boolean> {
  const { rowCount } = await client.query("select from pg_extension where extname = 'citus'");
  return rowCount === 1;
}

/** null: the schema is not distributed. */
export async function ownerOf(client: ClientBase, schema: string): Promise<Owner | null> {
  const { rows } = await client.query<Owner>(OWNER, [escapeIdentifier(schema)]);
  return rows[0] ?? null;
}

function movingAddress(given: string, schema: string, first: Owner): ShardAddress {
  const seenFromGiven = (owner: Owner): string => (owner.isHere ? given : urlOn(given, owner));
  let now = seenFromGiven(first);
  let askedAt = Number.NEGATIVE_INFINITY;
  const ask = async (): Promise<void> => {
    const owner = await connected(given, (client) => ownerOf(client, schema));
    if (owner !== null) now = seenFromGiven(owner);
  };
  return Object.freeze({
    url: () => now,
    async check(client: ClientBase) {
      const owner = await ownerOf(client, schema);
      if (owner === null) throw new Error(`the schema ${schema} is no longer distributed`);
      if (owner.isHere) return;
      now = urlOn(given, owner);
      throw new Error(`the schema ${schema} has moved to ${owner.host}:${owner.port}`);
    },
    failed() {
      if (systemClock.monotonicMs() - askedAt < ASKED_AGAIN_MS) return;
      askedAt = systemClock.monotonicMs();
      // The node may be away as well: the next connection that fails asks again.
      ask().catch(() => undefined);
    },
  });
}

function connected<T>(url: string, work: (client: ClientBase) => Promise<T>): Promise<T> {
  const limits = { connectionTimeoutMillis: CONNECT_MS_MAX, query_timeout: CONNECT_MS_MAX };
  const application_name = "drover shards";
  return withConnection({ connectionString: url, application_name, ...limits }, work);
}
