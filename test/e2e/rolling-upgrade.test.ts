/**
 * Servers of two versions on one store under load: new ones beside old ones, the old ones stop, and
 * back again on the newer schema. No call fails, no run is lost, no task is done twice. With
 * DROVER_SHARDS the store has several shards, and with DROVER_CITUS they are on a cluster:
 *
 *     DROVER_CITUS=... DROVER_SHARDS=4 npx vitest run test/e2e/rolling-upgrade.test.ts
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient } from "../../sdk/typescript/client.ts";
import { citusNodes } from "../../server/store/postgres/distribute.ts";
import { withConnection } from "../../server/store/postgres/one-connection.ts";
import { urlOn } from "../../server/store/postgres/shard-address.ts";
import { citusUrl } from "../support/citus.ts";
import { type DroverProcess, drover, type Ended, startDrover } from "../support/drover-process.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { makeNextVersion } from "../support/next-version.ts";
import { createShardsDatabase } from "../support/opened-postgres.ts";
import type { TestDatabase } from "../support/postgres.ts";
import { type ReadyBalancer, startBalancer } from "../support/ready-balancer.ts";
import { runSchemas, selectRunIds, testShards } from "../support/test-shards.ts";
import { until } from "../support/until.ts";

const AGENT = fileURLToPath(new URL("../support/steady-agent.ts", import.meta.url));
const CALLERS = 4;
const RUNS_BETWEEN = 100;
const isOnCitus = citusUrl !== undefined;

let folder: string;
let database: TestDatabase;
let admin: Client;
let balancer: ReadyBalancer | null = null;
const servers: DroverProcess[] = [];
const agents: ChildProcess[] = [];
beforeEach(async () => {
  folder = makeTestFolder();
  database = await createShardsDatabase(testShards);
  admin = new Client({ connectionString: database.connectionString });
  await admin.connect();
});
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.kill("SIGKILL");
  for (const server of servers.splice(0)) {
    server.signal("SIGKILL");
    await server.ended;
  }
  await balancer?.close();
  await admin.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

interface Server {
  readonly address: string;
  /** Stops it as an operator does; it must end by itself and without an error. */
  stop(): Promise<void>;
}

async function serve(program?: string): Promise<Server> {
  const args = ["server", "--address", "127.0.0.1:0", "--lame-duck", "1s"];
  const env = { DATABASE_URL: database.connectionString };
  const server = startDrover(args, program === undefined ? { env } : { env, program });
  servers.push(server);
  const output = await server.wrote("next: drover run list");
  const address = /server +([\d.:]+): /.exec(output)?.[1] ?? "";
  balancer?.add(address);
  await until("the balancer has it", () => (balancer?.ready().includes(address) ?? true) || null);
  return {
    address,
    async stop() {
      server.signal("SIGTERM");
      expect(await server.ended).toMatchObject({ code: 0 });
    },
  };
}

const definition = {
  workflow: "rolling",
  steps: [
    { id: "a", task: "work" },
    { id: "b", task: "work", needs: ["a"] },
  ],
} as const;

/** Starts runs without a pause until `end`, which returns their ids. */
function startLoad(address: string) {
  const client = createClient({ address });
  const runs: string[] = [];
  const failed: unknown[] = [];
  let over = false;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!over)
      await client
        .schedule({ workflow: definition })
        .then(({ runId }) => runs.push(runId))
        .catch((error: unknown) => failed.push(error));
  });
  return {
    failed,
    more: () => {
      const wanted = runs.length + RUNS_BETWEEN;
      return until("more runs start", () => (runs.length >= wanted ? true : null), 60_000);
    },
    async end() {
      over = true;
      await Promise.all(callers);
      client.close();
      return runs;
    },
  };
}

/** In all shards. `from`: a table of each, and what is wanted of its rows. */
async function count(from: string): Promise<number> {
  const counts = runSchemas.map((schema) => `(select count(*) from ${schema}.${from})`);
  const { rows } = await admin.query<{ n: string }>(`select ${counts.join(" + ")} as n`);
  return Number(rows[0]?.n);
}

async function storedRuns(): Promise<readonly string[]> {
  const { rows } = await admin.query<{ id: string }>(`${selectRunIds} order by id`);
  return rows.map(({ id }) => id);
}

/** Of a table that all shards share. */
async function rowsOnNodes(table: string): Promise<ReadonlySet<number>> {
  const url = database.connectionString;
  const nodes = isOnCitus ? (await citusNodes(url)).map((node) => urlOn(url, node)) : [url];
  const counts = await Promise.all(
    nodes.map((node) =>
      withConnection({ connectionString: node }, (client) => client.query(`select from ${table}`)),
    ),
  );
  return new Set(counts.map(({ rowCount }) => rowCount ?? 0));
}

function migrate(program: string): Promise<Ended> {
  const args = isOnCitus ? ["migrate", "--distribute"] : ["migrate"];
  return drover(args, { env: { DATABASE_URL: database.connectionString }, program });
}

test("an upgrade and a rollback under load lose nothing", { timeout: 300_000 }, async (context) => {
  if (isOnCitus && testShards === 1)
    context.skip("set DROVER_SHARDS: its URL is the coordinator's");
  const next = makeNextVersion(join(folder, "next"));
  const ledger = join(folder, "ledger");
  writeFileSync(ledger, "");
  const old = [await serve(), await serve()];
  balancer = await startBalancer(old.map(({ address }) => address));
  const address = `127.0.0.1:${balancer.port}`;
  for (let nth = 0; nth < 2; nth++)
    agents.push(spawn(process.execPath, [AGENT, address, ledger], { stdio: "inherit" }));
  const load = startLoad(address);
  await load.more();

  // Of one database the first new server migrates, while the old ones work. Of a cluster a person
  // does, and until then new servers refuse to start.
  if (isOnCitus) {
    const env = { DATABASE_URL: database.connectionString };
    const args = ["server", "--address", "127.0.0.1:0"];
    const early = await drover(args, { env, program: next.program });
    expect(early.stderr).toContain("apply it with 'drover migrate --distribute'");
    expect(await migrate(next.program)).toMatchObject({ code: 0 });
  }
  const renewed = [await serve(next.program), await serve(next.program)];
  await load.more();
  for (const server of old) await server.stop();
  await load.more();
  expect(await rowsOnNodes(`drover.${next.newShared}`)).toEqual(new Set([1]));
  const byNext = await count("run where written_by = 'next'");
  expect(byNext).toBeGreaterThan(0);

  // And back, on the schema as it is now.
  const again = [await serve(), await serve()];
  await load.more();
  for (const server of renewed) await server.stop();
  const byOld = await count("run where written_by is null");
  await load.more();
  expect(await count("run where written_by is null")).toBeGreaterThan(byOld);

  const runs = await load.end();
  expect(load.failed).toEqual([]);
  await until(
    "all runs have ended",
    async () => ((await count("run_view where ended_at is null")) === 0 ? true : null),
    60_000,
  );
  expect(await count("run_view where state <> 'COMPLETED'")).toBe(0);
  expect(await storedRuns()).toEqual(runs.toSorted());
  const keys = readFileSync(ledger, "utf8").trim().split("\n");
  expect(new Set(keys).size).toBe(2 * runs.length);
  expect(keys).toHaveLength(2 * runs.length);
  expect(await count("intervention where rule in (0, 1, 19, 20)")).toBe(0);
  for (const agent of agents) {
    agent.kill("SIGTERM");
    await once(agent, "exit");
  }

  // Outside of the window the old program refuses to start.
  next.contract();
  const env = { DATABASE_URL: database.connectionString };
  expect(await migrate(next.program)).toMatchObject({ code: 0 });
  const refused = await drover(["server", "--address", "127.0.0.1:0"], { env });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/_contract\.sql, which works with programs that know migration/);
  for (const server of again) await server.stop();
});
