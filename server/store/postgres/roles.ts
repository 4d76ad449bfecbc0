// Makes the roles of the database and row-level security (roles.sql), for `drover migrate --roles`.
import { readFileSync } from "node:fs";
import { Client, escapeIdentifier } from "pg";
import { DATABASE_SCHEMA } from "./database-schema.ts";
import { inSchema } from "./sql.ts";

const FILE = new URL("./roles.sql", import.meta.url);

/** The database is migrated. The role of the connection may create roles, and owns the tables. */
export async function createRoles(
  connectionString: string,
  schema: string = DATABASE_SCHEMA,
): Promise<void> {
  const text = readFileSync(FILE, "utf8").replaceAll(":schema", escapeIdentifier(schema));
  const client = new Client({ connectionString, application_name: "drover migrate" });
  await client.connect();
  try {
    // Several statements in one query are one transaction.
    await client.query(inSchema(text, schema));
  } finally {
    await client.end();
  }
}
