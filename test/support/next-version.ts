// The next version of the program: a copy of this one with further migrations, and a statement that
// writes a column which they add.
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const PARTS = ["server", "cli", "proto", "sdk/typescript", "agents", "dev-postgres", "simulator"];
const MODULES = join(ROOT, "node_modules");
const OURS = "@drover";

/**
 * Tables that each run writes, so that the migrations meet all locks and prepared plans, and one of
 * those that all shards share.
 */
const TABLES = ["run", "run_page", "ready", "lease", "agent_session", "agent", "idempotency"];
const SHARED = "workflow";
/** New tables: one that each shard has for itself, and one that they share. */
const NEW = "only_for_the_next";
const NEW_SHARED = "shared_by_the_next";
const EXPANSIONS = [
  ...[...TABLES, SHARED].map((table) => `alter table drover.${table} add column written_by text;`),
  `create table drover.${NEW} (id integer primary key);`,
  `create table drover.${NEW_SHARED} (id integer primary key);
   insert into drover.${NEW_SHARED} values (1);`,
];
const EXPANDED = 1 + EXPANSIONS.length;
const CONTRACTION = `drop table drover.${NEW};`;

export interface NextVersion {
  /** A table with one row, which all shards share. */
  readonly newShared: string;
  /** Its command line. */
  readonly program: string;
  /** Adds a migration after which this version, and no older one, works. */
  contract(): void;
}

export function makeNextVersion(folder: string): NextVersion {
  mkdirSync(folder);
  for (const part of [...PARTS, "migrations", "package.json"])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  linkModules(join(folder, "node_modules"));
  const migrations = join(folder, "migrations");
  const add = (number: number, what: string, oldest: number, sql: string) =>
    writeFileSync(
      join(migrations, `${digits(number)}_${what}.sql`),
      `-- Oldest program: ${digits(oldest)}\n${sql}\n`,
    );
  for (const [index, sql] of EXPANSIONS.entries()) add(2 + index, "expand", 1, sql);
  replaceIn(join(folder, "server/store/postgres/sql/runs.sql"), {
    "parent_until, traceparent, tracestate)\n":
      "parent_until, traceparent, tracestate, written_by)\n",
    "  u.tracestate\nfrom": "  u.tracestate, 'next'\nfrom",
  });
  replaceIn(join(folder, "server/store/postgres/database-schema.ts"), {
    '  "workflow",\n': `  "workflow",\n  "${NEW_SHARED}",\n`,
  });
  return {
    newShared: NEW_SHARED,
    program: join(folder, "cli/bin/drover.js"),
    contract: () => add(EXPANDED + 1, "contract", EXPANDED, CONTRACTION),
  };
}

function replaceIn(path: string, replacements: Readonly<Record<string, string>>): void {
  let text = readFileSync(path, "utf8");
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`${path} does not contain ${JSON.stringify(from)}`);
    text = text.replace(from, to);
  }
  writeFileSync(path, text);
}

function digits(number: number): string {
  return String(number).padStart(4, "0");
}

/** The packages of others are shared; ours are linked as here, and so lead to the copy. */
function linkModules(modules: string): void {
  mkdirSync(join(modules, OURS), { recursive: true });
  for (const name of readdirSync(MODULES))
    if (name !== OURS && !name.startsWith("."))
      symlinkSync(join(MODULES, name), join(modules, name));
  for (const name of readdirSync(join(MODULES, OURS)))
    symlinkSync(readlinkSync(join(MODULES, OURS, name)), join(modules, OURS, name));
}
