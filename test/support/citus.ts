/**
 * Databases on a Citus cluster: with DROVER_CITUS set, every test file gets its database there.
 *
 *     DROVER_CITUS=postgres://postgres@127.0.0.1:9700/drover npx vitest run test/contract
 *
 * The URL leads to the coordinator, to a database that lists the nodes (pg_dist_node). The role may
 * create databases and the extension on each node. A template is made once for each test run:
 * migrated, distributed, and owned by a worker. A test database is a clone of it on every node, and
 * its URL leads to the owner. It then has all rows of Citus, which name no database.
 */
import { Client } from "pg";
import {
  type CitusNode,
  citusNodes,
  distributeSchema,
} from "../../server/store/postgres/distribute.ts";
import { migrate } from "../../server/store/postgres/migrate.ts";
import { urlOn } from "../../server/store/postgres/shard-address.ts";

/** undefined: tests run on plain PostgreSQL. */
export const citusUrl = process.env.DROVER_CITUS;

const templateDatabase = "drover_citus_template";

/** Returns the URL of the template on the node that owns its schema. */
export async function makeCitusTemplate(listsNodes: string, folder: string): Promise<string> {
  const nodes = await citusNodes(listsNodes);
  const coordinatorUrl = inDatabase(listsNodes, templateDatabase);
  await Promise.all(
    nodes.map(async (node) => {
      await dropOn(urlOn(listsNodes, node), templateDatabase);
      await run(urlOn(listsNodes, node), `create database ${templateDatabase}`);
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
  await migrate(coordinatorUrl, { folder });
  return urlOn(coordinatorUrl, await distributeSchema(coordinatorUrl));
}

/** `owner`: the URL of the template on the node that owns it. Returns that of the clone there. */
export async function cloneCitus(
  listsNodes: string,
  owner: string,
  name: string,
): Promise<{ readonly connectionString: string; drop(): Promise<void> }> {
  const nodes = await citusNodes(listsNodes);
  await Promise.all(nodes.map((node) => cloneOn(urlOn(listsNodes, node), name)));
  return {
    connectionString: inDatabase(owner, name),
    drop: () => dropOnAll(listsNodes, nodes, name),
  };
}

async function dropOnAll(
  listsNodes: string,
  nodes: readonly CitusNode[],
  name: string,
): Promise<void> {
  await Promise.all(nodes.map((node) => dropOn(urlOn(listsNodes, node), name)));
}

/** A process of Citus works on each database that has the extension; it must leave the template. */
async function cloneOn(url: string, name: string): Promise<void> {
  await run(
    url,
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where datname = '${templateDatabase}'`,
    `create database ${name} template ${templateDatabase}`,
  );
}

function dropOn(url: string, name: string): Promise<void> {
  return run(url, `drop database if exists ${name} with (force)`);
}

function inDatabase(url: string, name: string): string {
  const inIt = new URL(url);
  inIt.pathname = name;
  return inIt.href;
}

async function run(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
