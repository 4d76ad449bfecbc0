// Reads the .sql files: each `-- name: x` begins a statement, and the comment under it is its
// contract. Statements are prepared under their name, once for each connection. Parameters have
// names (`:run_id`), which become numbers in the order in which the text first names them. Codes
// that stand for words in the tables are written as words (`:run_state.FAILED`, see codes.ts).
//
// All SQL names the schema of its tables, as `drover`. If the schema has another name, that name
// replaces it here; a search_path would not last behind a transaction pooler.
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { CODES } from "./codes.ts";
import { DATABASE_SCHEMA, schemaOf } from "./database-schema.ts";

interface Statement {
  readonly name: string;
  /** With `$1`, `$2`, ... for its parameters. */
  readonly text: string;
  /** Names of the parameters, in the order of their numbers. */
  readonly params: readonly string[];
}

/** A value for each parameter of a statement, by its name. */
export type Values = Readonly<Record<string, unknown>>;

type Statements = ReadonlyMap<string, Statement>;

const FOLDER = new URL("./sql/", import.meta.url);
const loaded = new Map<string, Statements>();

/** The text with the schema's own name, and for a shard that of the tables that all shards read. */
export function inSchema(text: string, schema: string): string {
  if (schema === DATABASE_SCHEMA) return text;
  return text.replaceAll(
    /\bdrover\.(?=([a-z_%]\w*\(?))/g,
    (_, name: string) => `${pg.escapeIdentifier(schemaOf(name, schema))}.`,
  );
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
      statements.set(name, { name, ...numbered(inSchema(text.replace(/;$/, ""), schema)) });
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

/** The statement with these values, in the form that the driver takes. */
export function bind(name: string, values: Values, schema: string = DATABASE_SCHEMA) {
  const { text, params } = statement(name, schema);
  if (Object.keys(values).length !== params.length || params.some((param) => !(param in values)))
    throw new Error(
      `statement ${name} takes ${params.join(", ")}, and was given ${Object.keys(values).join(", ")}`,
    );
  return { name, text, values: params.map((param) => values[param]) };
}

function withCodes(text: string): string {
  return text.replaceAll(/(?<![:\w]):([a-z_]+)\.([A-Za-z-]+)/g, (_, list: string, word: string) => {
    const words = CODES.get(list);
    if (!words) throw new Error(`there is no list of codes "${list}" in codes.ts`);
    const code = words.indexOf(word);
    if (code === -1) throw new Error(`"${word}" is none of ${words.join(", ")}`);
    return String(code);
  });
}

function numbered(text: string): Pick<Statement, "text" | "params"> {
  const params: string[] = [];
  const withNumbers = withCodes(text).replaceAll(/(?<![:\w]):([a-z_]+)\b/g, (_, param: string) => {
    if (!params.includes(param)) params.push(param);
    return `$${params.indexOf(param) + 1}`;
  });
  return { text: withNumbers, params };
}
