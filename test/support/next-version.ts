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

/** Tables that each run writes, so that the migrations meet all locks and prepared plans. */
const TABLES = ["run", "run_page", "ready", "lease", "agent_session", "agent", "idempotency"];
const EXPANSIONS = [
  ...TABLES.map((table) => `alter table drover.${table} add column written_by text;`),
  "create table drover.only_for_the_next (id integer primary key);",
];
const EXPANDED = 1 + EXPANSIONS.length;
const CONTRACTION = "drop table drover.only_for_the_next;";

export interface NextVersion {
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
  const runs = join(folder, "server/store/postgres/sql/runs.sql");
  const before = readFileSync(runs, "utf8");
  const after = before
    .replace(
      "parent_until, traceparent, tracestate)\n",
      "parent_until, traceparent, tracestate, written_by)\n",
    )
    .replace("  u.tracestate\nfrom", "  u.tracestate, 'next'\nfrom");
  if (after.length !== before.length + ", written_by".length + ", 'next'".length)
    throw new Error(`the statement that inserts runs in ${runs} has another form`);
  writeFileSync(runs, after);
  return {
    program: join(folder, "cli/bin/drover.js"),
    contract: () => add(EXPANDED + 1, "contract", EXPANDED, CONTRACTION),
  };
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
