/**
 * One PostgreSQL for a whole test run: started before the first file, ended after the last.
 *
 * It holds a template database with all migrations applied, of which each file clones its own
 * (postgres.ts). Its folder carries the number of the process that made it, so that a run can clear
 * away what an earlier one left behind when it was killed.
 */
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import type { TestProject } from "vitest/node";
import { createEmbeddedPostgres, stopAbandonedPostgres } from "../../dev-postgres/postgres.ts";
import { migrate } from "../../server/store/postgres/migrate.ts";
import { type CitusDatabase, citusUrl, makeCitusTemplate } from "./citus.ts";
import { createViewsOverShards, testShards } from "./test-shards.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A role that may create databases, in a database that tests leave alone. */
    readonly testServerUrl: string;
    /** The superuser, for what Drover itself must never need. */
    readonly testAdminUrl: string;
    /** Of the template on Citus, if DROVER_CITUS is set. */
    readonly citusTemplateUrl: string | undefined;
    /** Of the one with several shards, if DROVER_SHARDS is set, too. */
    readonly citusShardsUrl: string | undefined;
  }
}

export const templateDatabase = "drover_template";
/** Of a store with several shards, if DROVER_SHARDS asks for them. */
export const shardsTemplateDatabase = "drover_template_shards";
const prefix = "drover-test-";
/**
 * Where databases of tests are: in memory where there is room. They are thousands of files that are
 * created and deleted again, which took a file system without a journal half a second each time.
 */
const IN_MEMORY = "/dev/shm";
const ROOM_BYTES = 4 * 1024 ** 3;
const migrationsFolder = join(import.meta.dirname, "../../migrations");

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await clearLeftovers();
  const folder = makeTestFolder();
  const postgres = createEmbeddedPostgres({
    dataDir: join(folder, "data"),
    durable: false,
    log: () => undefined,
    settings: { log_checkpoints: "off" },
  });
  const onCitus: CitusDatabase[] = [];
  const teardown = async () => {
    await Promise.all(onCitus.map((template) => template.drop()));
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { connectionString, adminConnectionString } = await postgres.start();
    await makeTemplate(connectionString, templateDatabase, 1);
    if (testShards > 1) await makeTemplate(connectionString, shardsTemplateDatabase, testShards);
    project.provide("testServerUrl", connectionString);
    project.provide("testAdminUrl", adminConnectionString);
    if (citusUrl !== undefined)
      for (const shards of new Set([1, testShards]))
        onCitus.push(await makeCitusTemplate(citusUrl, migrationsFolder, shards));
    project.provide("citusTemplateUrl", onCitus[0]?.connectionString);
    project.provide("citusShardsUrl", onCitus[1]?.connectionString);
  } catch (error) {
    await teardown();
    throw error;
  }
  return teardown;
}

/**
 * A folder for files of a test, which the test removes. An embedded PostgreSQL goes to `data` in
 * it: there a later run finds and ends it if this one is killed.
 */
export function makeTestFolder(): string {
  const folder = mkdtempSync(join(hasRoom() ? IN_MEMORY : tmpdir(), `${prefix}${process.pid}-`));
  // PostgreSQL may have to run under another account, which must be able to pass.
  chmodSync(folder, 0o711);
  return folder;
}

function hasRoom(): boolean {
  if (!existsSync(IN_MEMORY)) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize >= ROOM_BYTES;
}

async function makeTemplate(serverUrl: string, name: string, shards: number): Promise<void> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = name;
  await migrate(url.href, { folder: migrationsFolder, shards });
  if (shards > 1) await createViewsOverShards(url.href, shards);
}

/** Folders of ours whose process is gone. A number that is used again only delays this. */
async function clearLeftovers(): Promise<void> {
  const places = [tmpdir(), IN_MEMORY].filter((place) => existsSync(place));
  const found = places.flatMap((place) => readdirSync(place).map((name) => ({ place, name })));
  for (const { place, name } of found) {
    const maker = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (maker === undefined || existsSync(`/proc/${maker}`)) continue;
    const folder = join(place, name);
    if (statSync(folder, { throwIfNoEntry: false })?.uid !== process.getuid?.()) continue;
    await stopAbandonedPostgres(join(folder, "data"));
    rmSync(folder, { recursive: true, force: true });
  }
}
