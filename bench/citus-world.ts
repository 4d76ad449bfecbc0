// A store on a Citus cluster whose nodes are on this machine, with a server beside it.
import { once } from "node:events";
import { Client } from "pg";
import { DATABASE_SCHEMA, shardSchema } from "../server/store/postgres/database-schema.ts";
import {
  type CitusNode,
  citusNodes,
  distributeStore,
} from "../server/store/postgres/distribute.ts";
import { urlOn } from "../server/store/postgres/shard-address.ts";
import { cpuSeconds, memoryMiB } from "./machine.ts";
import { type BenchWorld, MIGRATIONS, SERVER_PROGRAM, startProgram } from "./world.ts";

interface CitusWorld extends Pick<BenchWorld, "address" | "used"> {
  /** Statements that one node has sent to another so far. */
  betweenNodes(): Promise<number>;
  stop(): Promise<void>;
}

const DATABASE = "drover_bench";

/** `listsNodes`: a database of the coordinator in which the nodes are known. */
export async function openCitusWorld(listsNodes: string, shards: number): Promise<CitusWorld> {
  const nodes = await citusNodes(listsNodes);
  const url = await makeDatabase(listsNodes, nodes);
  await distributeStore(url, { folder: MIGRATIONS, schema: DATABASE_SCHEMA, shards });
  const clients = await Promise.all(
    nodes.map(async (node) => {
      const client = new Client({ connectionString: urlOn(url, node) });
      await client.connect();
      return client;
    }),
  );
  const sum = async (text: string): Promise<number> => {
    const found = await Promise.all(clients.map((client) => client.query<{ value: string }>(text)));
    return found.reduce((total, { rows }) => total + Number(rows[0]?.value ?? 0), 0);
  };
  const betweenNodes = () =>
    sum(
      `select sum(connection_establishment_succeeded + connection_reused) as value
       from citus_stat_counters where name = current_database()`,
    );
  await requireCounted(betweenNodes, url, shards);
  const postmasters = await Promise.all(
    clients.map(async (client) => {
      const { rows } = await client.query<{ pid: string }>(
        "select split_part(pg_read_file('postmaster.pid'), chr(10), 1) as pid",
      );
      return Number(rows[0]?.pid);
    }),
  );
  const server = await startProgram(SERVER_PROGRAM, [url]);
  const pid = server.child.pid ?? 0;
  return Object.freeze({
    address: server.firstLine,
    async used() {
      return {
        serverCpuS: cpuSeconds(pid),
        serverRssMiB: memoryMiB(pid),
        databaseCpuS: postmasters.reduce((total, one) => total + cpuSeconds(one), 0),
        walBytes: await sum("select wal_bytes as value from pg_stat_wal"),
        walFullPages: await sum("select wal_fpi as value from pg_stat_wal"),
        commits: await sum(
          "select xact_commit as value from pg_stat_database where datname = current_database()",
        ),
        statements: 0,
      };
    },
    betweenNodes,
    async stop() {
      server.child.kill("SIGTERM");
      await once(server.child, "exit");
      await Promise.all(clients.map((client) => client.end()));
      for (const node of nodes)
        await send(urlOn(listsNodes, node), `drop database if exists ${DATABASE} with (force)`);
    },
  } satisfies CitusWorld);
}

/** On all nodes; they know each other, and count what they send to each other. */
async function makeDatabase(listsNodes: string, nodes: readonly CitusNode[]): Promise<string> {
  for (const node of nodes) {
    await send(urlOn(listsNodes, node), `drop database if exists ${DATABASE} with (force)`);
    await send(urlOn(listsNodes, node), `create database ${DATABASE}`);
  }
  const coordinator = new URL(listsNodes);
  coordinator.pathname = `/${DATABASE}`;
  const url = coordinator.href;
  for (const node of nodes) {
    await send(urlOn(url, node), "create extension citus");
    await send(urlOn(url, node), `alter database ${DATABASE} set citus.enable_stat_counters = on`);
  }
  for (const { host, port, isCoordinator } of nodes)
    await send(
      url,
      isCoordinator
        ? `select citus_set_coordinator_host('${host}', ${port})`
        : `select citus_add_node('${host}', ${port})`,
    );
  return url;
}

/** A count that stays 0 would say nothing: the coordinator asks a worker, and that must count. */
async function requireCounted(
  betweenNodes: () => Promise<number>,
  coordinatorUrl: string,
  shards: number,
): Promise<void> {
  const before = await betweenNodes();
  const schema = shards === 1 ? DATABASE_SCHEMA : shardSchema(DATABASE_SCHEMA, 0);
  await send(coordinatorUrl, `select count(*) from ${schema}.run`);
  if ((await betweenNodes()) > before) return;
  throw new Error(
    "Citus counted no statement between nodes where there was one: it needs version 13.1 or newer, " +
      "and citus.enable_stat_counters.",
  );
}

async function send(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}
