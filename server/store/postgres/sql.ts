// Reads the .sql files: each `-- name: x` begins a statement, and the comment under it is its
// contract. Statements are prepared under their name, once for each connection.
import { readdirSync, readFileSync } from "node:fs";

export interface Statement {
  readonly name: string;
  readonly text: string;
}

const FOLDER = new URL("./sql/", import.meta.url);

/** Every named statement of the folder. A name may be used once. */
export function loadStatements(): ReadonlyMap<string, Statement> {
  const statements = new Map<string, Statement>();
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".sql"))) {
    const parts = readFileSync(new URL(file, FOLDER), "utf8").split(/^-- name: (\w+)$/m);
    for (let part = 1; part < parts.length; part += 2) {
      const name = parts[part] ?? "";
      if (statements.has(name)) throw new Error(`statement ${name} is defined twice (${file})`);
      const text = (parts[part + 1] ?? "").replaceAll(/^--.*\n/gm, "").trim();
      statements.set(name, { name, text: text.replace(/;$/, "") });
    }
  }
  return statements;
}

const statements = loadStatements();

export function statement(name: string): Statement {
  const found = statements.get(name);
  if (!found) throw new Error(`there is no statement "${name}" in ${FOLDER.pathname}`);
  return found;
}
