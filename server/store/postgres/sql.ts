// Reads the .sql files: each `-- name: x` begins a statement, and the comment under it is its
// contract. Statements are prepared under their name, once for each connection.
//
// All SQL names the schema of its tables, as `drover`. If the schema has another name, that name
// replaces it here; a search_path would not last behind a transaction pooler.
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { DATABASE_SCHEMA } from "../../database-schema.ts";

export interface Statement {
  readonly name: string;
  readonly text: string;
}

export type Statements = ReadonlyMap<string, Statement>;

const FOLDER = new URL("./sql/", import.meta.url);
const loaded = new Map<string, Statements>();

/** The text with the schema's own name. */
export function inSchema(text: string, schema: string): string {
  if (schema === DATABASE_SCHEMA) return text;
  return text.replaceAll(/\bdrover\.(?=[a-z_%])/g, `${pg.escapeIdentifier(schema)}.`);
}

/** Every named statement of the folder. A name may be used once. */
export function loadStatements(schema: string = DATABASE_SCHEMA): Statements {
  const found = loaded.get(schema);
  if (found) return found;
  const statements = new Map<string, Statement>();
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".sql"))) {
    const parts = readFileSync(new URL(file, FOLDER), "utf8").split(/^-- name: (\w+)$/m);
    for (let part = 1; part < parts.length; part += 2) {
      const name = parts[part] ?? "";
      if (statements.has(name)) throw new Error(`statement ${name} is defined twice (${file})`);
      const text = (parts[part + 1] ?? "").replaceAll(/^--.*\n/gm, "").trim();
      statements.set(name, { name, text: inSchema(text.replace(/;$/, ""), schema) });
    }
  }
  loaded.set(schema, statements);
  return statements;
}

export function statement(name: string, schema: string = DATABASE_SCHEMA): Statement {
  const found = loadStatements(schema).get(name);
  if (!found) throw new Error(`there is no statement "${name}" in ${FOLDER.pathname}`);
  return found;
}
