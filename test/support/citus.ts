/**
 * Databases on a Citus cluster: with DROVER_CITUS set, every test file gets its database there.
 *
 *     DROVER_CITUS=postgres://postgres@127.0.0.1:9700/drover npx vitest run test/contract
 *
 * The URL leads to the coordinator, to a database that lists the nodes (pg_dist_node). The role may
 * create databases and the extension on each node. A template is made once for each test run:
 * migrated, distributed, and owned by a worker. A test database is a clone of it on every node, and
 * its URL leads to the owner. It then has all rows of Citus, which name no database. The names of
 * both carry the number of the process of the run, on this machine: a later run drops what a killed
 * one left behind.
 */
import { existsSync } from "node:fs";
import { Client, DatabaseError } from "pg";
import { DATABASE_SCHEMA } from "../../server/store/postgres/database-schema.ts";
import {
  type CitusNode,
  citusNodes,
  distributeStore,
} from "../../server/store/postgres/distribute.ts";
import { urlOn } from "../../server/store/postgres/shard-address.ts";
import { createViewsOverShards } from "./test-shards.ts";
import { until } from "./until.ts";

/** undefined: tests run on plain PostgreSQL. */
export const citusUrl = process.env.DROVER_CITUS;

const prefix = "drover_test_";
const IN_USE = "55006";
/** After a move the process of Citus has the rows of the former node to remove. */
const DROP_MS_MAX = 60_000;

/** Where the schema of a test database can be changed: on Citus, not where its rows are. */
export function schemaUrl(connectionString: string): string {
  if (citusUrl === undefined) return connectionString;
  return inDatabase(citusUrl, new URL(connectionString).pathname);
}

export interface CitusDatabase {
  /** On the node that owns its schema. */
  readonly connectionString: string;
  drop(): Promise<void>;
}

/** The database of a store with several shards is named by its URL on the coordinator. */
export async function makeCitusTemplate(
  listsNodes: string,
  folder: string,
  shards: number,
): Promise<CitusDatabase> {
  const nodes = await citusNodes(listsNodes);
  await Promise.all(nodes.map((node) => dropLeftovers(urlOn(listsNodes, node))));
  const { connectionString: coordinatorUrl, drop } = await makeEmptyOnNodes(
    listsNodes,
    `${prefix}${process.pid}_${shards}`,
  );
  const [first] = await distributeStore(coordinatorUrl, {
    folder,
    schema: DATABASE_SCHEMA,
    shards,
  });
  if (shards > 1) await createViewsOverShards(coordinatorUrl, shards);
  return {
    connectionString: shards === 1 && first ? urlOn(coordinatorUrl, first) : coordinatorUrl,
    drop,
  };
}

/** A database with Citus, of this name, on all nodes. Its URL is that of the coordinator. */
export async function makeEmptyOnNodes(listsNodes: string, name: string): Promise<CitusDatabase> {
  const nodes = await citusNodes(listsNodes);
  const coordinatorUrl = inDatabase(listsNodes, name);
  await Promise.all(
    nodes.map(async (node) => {
      await dropOn(urlOn(listsNodes, node), name);
      await run(urlOn(listsNodes, node), `create database ${name}`);
      await run(urlOn(coordinatorUrl, node), "create extension citus");
    }),
  );
  for (const { host, port, isCoordinator } of nodes)
    await run(
      coordinatorUrl,
      isCoordinator
        ? `select citus_set_coordinator_host('${host}', ${port})`
        : `select citus_add_node('${host}', ${port})`,
    );
  return {
    connectionString: coordinatorUrl,
    drop: () => dropOnAll(listsNodes, nodes, name),
  };
}

/** `template`: where `makeCitusTemplate` has made it. */
export async function cloneCitus(
  listsNodes: string,
  template: string,
  suffix: string,
): Promise<CitusDatabase> {
  const nodes = await citusNodes(listsNodes);
  const from = new URL(template).pathname.slice(1);
  const name = `${from}_${suffix}`;
  await Promise.all(nodes.map((node) => cloneOn(urlOn(listsNodes, node), from, name)));
  return {
    connectionString: inDatabase(template, name),
    drop: () => dropOnAll(listsNodes, nodes, name),
  };
}

async function dropLeftovers(url: string): Promise<void> {
  const found = await run(
    url,
    `select datname, substring(datname from '^${prefix}([0-9]+)') as pid from pg_database`,
  );
  for (const { datname = "", pid } of found)
    if (pid && !existsSync(`/proc/${pid}`)) await dropOn(url, datname);
}

async function dropOnAll(
  listsNodes: string,
  nodes: readonly CitusNode[],
  name: string,
): Promise<void> {
  await Promise.all(nodes.map((node) => dropOn(urlOn(listsNodes, node), name)));
}

/** A process of Citus works on each database that has the extension; it must leave the template. */
async function cloneOn(url: string, template: string, name: string): Promise<void> {
  await run(
    url,
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where datname = '${template}'`,
    `create database ${name} template ${template}`,
  );
}

/** The process of Citus that works on the database may come back before it is dropped. */
function dropOn(url: string, name: string): Promise<unknown> {
  return until(
    `${name} is dropped`,
    () =>
      run(url, `drop database if exists ${name} with (force)`).catch((error: unknown) => {
        if (error instanceof DatabaseError && error.code === IN_USE) return null;
        throw error;
      }),
    DROP_MS_MAX,
  );
}

function inDatabase(url: string, name: string): string {
  const inIt = new URL(url);
  inIt.pathname = name;
  return inIt.href;
}

/** Returns the rows of the last statement. */
async function run(
  url: string,
  ...statements: readonly string[]
): Promise<readonly Readonly<Record<string, string>>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    let rows: readonly Readonly<Record<string, string>>[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}
