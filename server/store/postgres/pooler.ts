// Detects a transaction pooler (PgBouncer and the like). A lock or a LISTEN of a session means
// something only as long as the connection has a server process of its own; behind a pooler each
// transaction gets any free process. No server process ever serves two open connections, and no
// connection changes its process, so a pooler that is detected here is certain. If it is not
// detected, because other clients were faster, the next `poll` detects it (`watchBackend`).
import pg from "pg";
import { DroverError } from "../../errors.ts";

const PID = "select pg_backend_pid() as pid";

/** The server process of this session. Throws NOT_SUPPORTED if it has none of its own. */
export async function ownBackend(session: pg.Client, pool: pg.Pool): Promise<number> {
  const own = await backendOf(session);
  const client = await pool.connect();
  try {
    const seen: number[] = [];
    const theirs = await backendOf(client, "begin;");
    // Not asked if they are equal: a pooler with a single process would wait for the rollback.
    if (theirs !== own) seen.push(await backendOf(session));
    await client.query("rollback");
    // A pooler gives out first the process that it got back last, or each in turn: then one of two
    // queries in a row is answered by another process.
    seen.push(await backendOf(session), await backendOf(session));
    if (theirs === own || seen.some((pid) => pid !== own)) throw pooled();
    return own;
  } finally {
    client.release();
  }
}

/** Throws NOT_SUPPORTED if the session has got another process. */
export function watchBackend(own: number, now: number): void {
  if (now !== own) throw pooled();
}

async function backendOf(client: pg.ClientBase, before = ""): Promise<number> {
  const results: unknown = await client.query(`${before}${PID}`);
  const last: unknown = Array.isArray(results) ? results.at(-1) : results;
  const row: unknown = last instanceof pg.Result ? last.rows[0] : null;
  if (typeof row === "object" && row !== null && "pid" in row && typeof row.pid === "number")
    return row.pid;
  throw new Error("the database did not name its process");
}

function pooled(): DroverError {
  return new DroverError(
    "NOT_SUPPORTED",
    "the database is reached through a transaction pooler, where no session holds the locks that " +
      "assign partitions to supervisors: give a second URL that leads to PostgreSQL itself, by " +
      "DROVER_DIRECT_URL or --direct-database. Everything else goes on through the pooler; a " +
      "server without supervisor (--supervisor none) needs no second URL",
  );
}
