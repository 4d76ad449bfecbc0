// The files of migrations: read in their order, with what each says about the programs beside it.
// Names and numbers that would be applied out of order, or not at all, are refused.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Migration {
  readonly number: number;
  /** The file's name, as people see it. */
  readonly name: string;
  readonly checksum: string;
  /** The number of the last file that a program must know to work with the schema after this. */
  readonly oldestProgram: number;
  readonly sql: string;
}

const fileName = /^(\d{4})_[a-z0-9_]+\.sql$/;
/** Written from the catalogue, see schema-dump.ts. */
const dumpName = "schema.sql";

/** In order; refuses names and numbers that would be applied out of order or not at all. */
export function readMigrations(folder: string): Migration[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".sql") && name !== dumpName)
    .sort();
  return names.map((name, index) => {
    const number = Number(fileName.exec(name)?.[1]);
    if (Number.isNaN(number)) {
      throw new Error(
        `${join(folder, name)} is no name for a migration. Call it like 0001_what_it_does.sql: ` +
          "four digits, then small letters, digits and underscores.",
      );
    }
    if (number !== index + 1)
      throw new Error(outOfOrder(folder, name, names[index - 1], index + 1));
    const sql = readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n");
    refuseTransactions(name, sql);
    const checksum = createHash("sha256").update(sql).digest("hex");
    return { number, name, checksum, oldestProgram: oldestProgramOf(name, sql, number), sql };
  });
}

/** Left out: no older program works beside the file. */
function oldestProgramOf(name: string, sql: string, number: number): number {
  const found = /^-- Oldest program: (\d+)$/m.exec(sql);
  if (found === null) return number;
  const oldest = Number(found[1]);
  if (oldest >= 1 && oldest <= number) return oldest;
  throw new Error(
    `Migration ${name} says 'Oldest program: ${found[1]}'. Name the number of a migration from 0001 ` +
      `to ${String(number).padStart(4, "0")}: the last one that the oldest program beside it knows.`,
  );
}

function outOfOrder(folder: string, name: string, before: string | undefined, expected: number) {
  const wanted = String(expected).padStart(4, "0");
  return (
    `Migration ${wanted} is missing in ${folder}: ${before ?? "the beginning"} is followed by ` +
    `${name}. Numbers start at 0001 and have no gaps and no doubles; give it ${wanted}.`
  );
}

/** A commit inside a file would keep half of it if the rest fails. */
function refuseTransactions(name: string, sql: string): void {
  const found = /^\s*(begin|start transaction|commit|rollback)\s*;/im.exec(
    sql.replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, ""),
  );
  if (found === null) return;
  throw new Error(
    `Migration ${name} contains '${found[1]}'. Each file is one transaction already: remove it.`,
  );
}
