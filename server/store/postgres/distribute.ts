// Distributes a migrated schema on Citus: all of its tables become single-shard tables on one node.
//
// Called with the URL of the coordinator, once for each schema, after `migrate`. A server then
// connects to the node that owns the schema, where locks, transaction numbers and notifications are
// those of one database, as on plain PostgreSQL. A move must be made here and not by Citus alone:
// each node counts a sequence in a range of its own, and numbers must go on growing.
import { type ClientBase, escapeIdentifier } from "pg";
import { DATABASE_SCHEMA, shardOfSchema, shardSchema, sharedSchema } from "./database-schema.ts";
import { migrate } from "./migrate.ts";
import { withConnection } from "./one-connection.ts";
import { ownerOf, urlOn } from "./shard-address.ts";
import { shardSchemas } from "./shard-schemas.ts";

/** A node of the cluster, as its coordinator knows it. */
export interface CitusNode {
  readonly host: string;
  readonly port: number;
  readonly isCoordinator: boolean;
}

type NodeAddress = Pick<CitusNode, "host" | "port">;

interface SequenceValue {
  readonly name: string;
  readonly last: string;
  readonly called: boolean;
}

/** It moves schemas. */
const OLDEST_CITUS = [12, 1] as const;
/** More than sessions of the former node draw from a sequence while a schema moves. */
const LEFT_OUT = 1_000_000n;

/** Throws if the URL does not lead to the coordinator of a Citus cluster. */
export function citusNodes(coordinatorUrl: string): Promise<readonly CitusNode[]> {
  return connected(coordinatorUrl, readNodes);
}

interface DistributeOptions {
  /** Of the migrations. */
  readonly folder: string;
  readonly schema: string;
  /** Of a new store; left out: as many as the store has, and 1 if it is new. */
  readonly shards?: number | undefined;
}

/** A shard, and the node that owns it. */
interface DistributedShard extends NodeAddress {
  readonly schema: string;
}

/**
 * Migrates a store of so many shards and divides them among the workers in turn. May be repeated; a
 * shard that is distributed stays where it is.
 */
export async function distributeStore(
  coordinatorUrl: string,
  { folder, schema, shards: wanted }: DistributeOptions,
): Promise<readonly DistributedShard[]> {
  const nodes = await citusNodes(coordinatorUrl);
  const before = await connected(coordinatorUrl, (client) => shardSchemas(client, schema));
  const shards = wanted ?? Math.max(1, before.length);
  if (shards > 1) for (const node of nodes) await requireTwoPhases(coordinatorUrl, node);
  await migrate(coordinatorUrl, { folder, schema, shards, shares: true });
  if (shards === 1) return [{ schema, ...(await distributeSchema(coordinatorUrl, schema)) }];
  await connected(coordinatorUrl, (client) => shareTables(client, schema));
  const workers = nodes.filter(({ isCoordinator }) => !isCoordinator);
  const shared = await connected(coordinatorUrl, (client) => readSequences(client, schema));
  const distributed: DistributedShard[] = [];
  for (let shard = 0; shard < shards; shard++) {
    const own = shardSchema(schema, shard);
    const isNew = (await connected(coordinatorUrl, (client) => ownerOf(client, own))) === null;
    const owner = await distributeSchema(coordinatorUrl, own);
    const worker = workers[shard % workers.length];
    if (isNew && worker) await moveSchema(coordinatorUrl, worker, own);
    const { host, port } = isNew && worker ? worker : owner;
    if (isNew && shard === 0)
      await continueSequences(urlOn(coordinatorUrl, { host, port }), shared);
    distributed.push({ schema: own, host, port });
  }
  return distributed;
}

/** In the order of their numbers. Throws if the store is not distributed. */
export async function listShards(
  coordinatorUrl: string,
  schema: string,
): Promise<readonly DistributedShard[]> {
  return connected(coordinatorUrl, async (client) => {
    await requireCoordinator(client);
    const own = await shardSchemas(client, schema);
    const shards: DistributedShard[] = [];
    for (const one of own.length === 0 ? [schema] : own) {
      const { host, port } = await requireOwner(client, one);
      shards.push({ schema: one, host, port });
    }
    return shards;
  });
}

/** A change of a table that all nodes have commits in two phases. */
async function requireTwoPhases(coordinatorUrl: string, node: CitusNode): Promise<void> {
  const name = "max_prepared_transactions";
  const { rows } = await connected(urlOn(coordinatorUrl, node), (client) =>
    client.query<Record<string, string>>(`show ${name}`),
  );
  if (Number(rows[0]?.[name] ?? "0") > 0) return;
  throw new Error(
    `On ${node.host}:${node.port} the setting ${name} is 0, and a store of several shards needs ` +
      "prepared transactions: set it to at least max_connections in postgresql.conf, restart the " +
      "node, and repeat the command.",
  );
}

/** Every node gets all rows of the tables that all shards read. */
async function shareTables(client: ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class as c
     join pg_namespace as n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relkind = 'r'
       and not exists (select from pg_dist_partition as d where d.logicalrelid = c.oid)
     order by c.oid`,
    [schema],
  );
  for (const { name } of rows) await client.query("select create_reference_table($1)", [name]);
}

/** Returns the node that owns the schema. Nothing changes if the schema is distributed already. */
export function distributeSchema(
  coordinatorUrl: string,
  schema: string = DATABASE_SCHEMA,
): Promise<NodeAddress> {
  return connected(coordinatorUrl, async (client) => {
    const nodes = await readNodes(client);
    const before = await ownerOf(client, schema);
    if (before !== null) return before;
    await requireTables(client, schema);
    if (nodes.every((node) => node.isCoordinator))
      throw new Error(
        "The Citus cluster has no worker that could own a schema: add one with 'select " +
          "citus_add_node(HOST, PORT)' on the coordinator, and distribute the schema again.",
      );
    const values = await readSequences(client, schema);
    await client.query("select citus_schema_distribute($1::text::regnamespace)", [
      escapeIdentifier(schema),
    ]);
    const owner = await requireOwner(client, schema);
    await continueSequences(urlOn(coordinatorUrl, owner), values);
    return owner;
  });
}

/**
 * Moves a distributed schema to another node. Writes wait meanwhile. Then the connections of
 * servers to the former owner end, and find the new one by themselves (shard-address.ts).
 */
export function moveSchema(
  coordinatorUrl: string,
  to: NodeAddress,
  schema: string = DATABASE_SCHEMA,
): Promise<void> {
  return connected(coordinatorUrl, async (client) => {
    const nodes = await readNodes(client);
    const from = await requireOwner(client, schema);
    // A move that was interrupted may have left sessions at the former node.
    if (isSame(from, to)) {
      for (const node of nodes)
        if (!isSame(node, to)) await connected(urlOn(coordinatorUrl, node), endSessions);
      return;
    }
    if (!nodes.some((node) => isSame(node, to)))
      throw new Error(
        `${to.host}:${to.port} is no node of this Citus cluster. Its nodes are ` +
          `${nodes.map(({ host, port }) => `${host}:${port}`).join(", ")}.`,
      );
    const fromUrl = urlOn(coordinatorUrl, from);
    const values = await connected(fromUrl, (former) => sequencesWith(former, schema));
    await continueSequences(urlOn(coordinatorUrl, to), values.map(pastMove));
    await client.query("select citus_schema_move($1::text::regnamespace, $2, $3, 'block_writes')", [
      escapeIdentifier(schema),
      to.host,
      to.port,
    ]);
    await connected(fromUrl, endSessions);
  });
}

/** Those of tables that all shards read are where the first shard is, which writes these tables. */
async function sequencesWith(
  client: ClientBase,
  schema: string,
): Promise<readonly SequenceValue[]> {
  const own = await readSequences(client, schema);
  if (shardOfSchema(schema) !== 0) return own;
  return [...own, ...(await readSequences(client, sharedSchema(schema)))];
}

function pastMove(value: SequenceValue): SequenceValue {
  return { ...value, last: String(BigInt(value.last) + LEFT_OUT) };
}

/** Of all servers and supervisors in this database. */
async function endSessions(client: ClientBase): Promise<void> {
  await client.query(
    `select pg_terminate_backend(a.pid) from pg_stat_activity as a
     where a.datname = current_database() and a.application_name like 'drover-%'`,
  );
}

function isSame(one: NodeAddress, other: NodeAddress): boolean {
  return one.host === other.host && one.port === other.port;
}

async function readNodes(client: ClientBase): Promise<readonly CitusNode[]> {
  await requireCoordinator(client);
  const { rows } = await client.query<CitusNode>(
    `select nodename as host, nodeport as port, groupid = 0 as "isCoordinator"
     from pg_dist_node where noderole = 'primary' and isactive order by groupid`,
  );
  return rows;
}

async function requireOwner(client: ClientBase, schema: string): Promise<NodeAddress> {
  const owner = await ownerOf(client, schema);
  if (owner !== null) return owner;
  throw new Error(
    `The schema ${schema} is not distributed on this Citus cluster: distribute it first.`,
  );
}

async function requireCoordinator(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ database: string; version: string | null }>(
    `select current_database() as database,
       (select extversion from pg_extension where extname = 'citus') as version`,
  );
  const { database = "", version = null } = rows[0] ?? {};
  if (version === null)
    throw new Error(
      `The database ${database} has no extension citus: run 'create extension citus' in it on ` +
        "every node, and add the nodes on the coordinator with citus_add_node.",
    );
  if (isOlder(version))
    throw new Error(
      `The database ${database} has Citus ${version}, which cannot move a schema: upgrade it to ` +
        `Citus ${OLDEST_CITUS.join(".")} or later.`,
    );
  const asked = await client.query<{ coordinator: boolean }>(
    "select citus_is_coordinator() as coordinator",
  );
  if (asked.rows[0]?.coordinator !== true)
    throw new Error(
      `The connection to ${database} leads to a worker of the Citus cluster, where tables cannot ` +
        "be changed: connect to the coordinator.",
    );
}

/** `version`: as the extension has it, such as 12.1-1. */
function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split(/[.-]/).map(Number);
  return major < OLDEST_CITUS[0] || (major === OLDEST_CITUS[0] && minor < OLDEST_CITUS[1]);
}

async function requireTables(client: ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ found: boolean }>(
    `select exists (
       select from pg_class where relnamespace = to_regnamespace($1) and relname = 'drover_migration'
     ) as found`,
    [escapeIdentifier(schema)],
  );
  if (rows[0]?.found === true) return;
  throw new Error(
    `The schema ${schema} has no tables of Drover: run 'drover migrate' on the coordinator first.`,
  );
}

async function readSequences(
  client: ClientBase,
  schema: string,
): Promise<readonly SequenceValue[]> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', $2::text, relname) as name
     from pg_class where relnamespace = to_regnamespace($1) and relkind = 'S'`,
    [escapeIdentifier(schema), schema],
  );
  const values: SequenceValue[] = [];
  for (const { name } of rows) {
    const read = await client.query<Omit<SequenceValue, "name">>(
      `select last_value::text as last, is_called as called from ${name}`,
    );
    values.push(...read.rows.map((row) => ({ name, ...row })));
  }
  return values;
}

/** On the node that owns the schema now: its sequences go on where those of the former one were. */
function continueSequences(url: string, values: readonly SequenceValue[]): Promise<void> {
  return connected(url, async (client) => {
    await client.query("begin");
    // Each node has these sequences for itself.
    await client.query("set local citus.enable_ddl_propagation = off");
    for (const { name, last, called } of values) {
      await client.query(`alter sequence ${name} minvalue 1 no maxvalue start 1`);
      await client.query("select setval($1::text::regclass, $2, $3)", [name, last, called]);
    }
    await client.query("commit");
  });
}

function connected<T>(url: string, work: (client: ClientBase) => Promise<T>): Promise<T> {
  return withConnection({ connectionString: url, application_name: "drover distribute" }, work);
}
