// The schema of the database that contains all of Drover: tables, views and functions. Locks and
// channels depend on it too, so that two Drovers in two schemas of one database never affect each
// other.

/** The schema of the database that contains all of Drover, if no other is named. */
export const DATABASE_SCHEMA = "drover";

/** Schemas in which others have their tables; "public" is for all users. */
const OTHERS_SCHEMAS: readonly string[] = Object.freeze(["public", "information_schema"]);

/** The name, if a schema of the database may have it. Throws an Error that says what is wrong. */
export function databaseSchema(name: string): string {
  const isPlain = /^[a-z_][a-z0-9_]{0,62}$/.test(name);
  if (isPlain && !name.startsWith("pg_") && !OTHERS_SCHEMAS.includes(name)) return name;
  throw new Error(
    `"${name}" cannot be the schema of Drover: name one of its own, of at most 63 small letters, ` +
      "digits and underscores, which begins with no digit and not with pg_, and is not " +
      `${OTHERS_SCHEMAS.join(" or ")}`,
  );
}
