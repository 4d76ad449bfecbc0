// Rows in bulk: one run that the server itself has brought into a state, copied by SQL under other
// ids. So a copy has whatever columns the schema has, and whatever the rules wrote into them.
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";

export interface Copies {
  /** A run in the state that is wanted. */
  readonly of: string;
  readonly count: number;
  /** Copies with a lease come due within so long from now, in milliseconds, and then no more. */
  readonly leaseWithinMs: number;
  /** Leases of one session. */
  readonly leasesOfSession: number;
}

const TABLES = ["run", "run_page", "lease"];

export async function copyRun(db: pg.Client, copies: Copies): Promise<void> {
  await db.query("drop table if exists copied");
  await db.query(
    `create temp table copied as
     select n, id, ('x' || right(id::text, 2))::bit(8)::integer::smallint as partition
     from (
       select n, (left(uuidv::text, 14) || '7' || substr(md5(n::text || $2), 1, 3) || '-8'
         || substr(md5($2 || n::text), 4, 3) || '-' || substr(md5($2 || n::text), 8, 12))::uuid as id
       from (select n, $2::uuid as uuidv from generate_series(1, $1::integer) as n) as numbered
     ) as made`,
    [copies.count, copies.of],
  );
  await db.query(
    `insert into drover.agent_session (session, namespace_id, agent_id, agent_version, last_heartbeat_at,
       heartbeat_ms)
     select sha256(n::text::bytea), 1, 'copied', '1', now(),
       (select min(l.heartbeat_ms) from drover.lease as l where l.run_id = $2)
     from generate_series(0, $1::integer) as n on conflict do nothing`,
    [Math.ceil(copies.count / copies.leasesOfSession), copies.of],
  );
  // At once: a lease without its page is an error.
  await db.query("begin");
  for (const table of TABLES) await copyTable(db, table, copies);
  await db.query("commit");
}

/**
 * Leaves the database as one that was filled in its own time: vacuumed, on disk, and with nothing
 * that is overdue because the load took the machine.
 */
export async function settle(db: pg.Client): Promise<void> {
  await db.query("vacuum analyze");
  await db.query("checkpoint");
  for (;;) {
    const { rows } = await db.query(
      "select from drover.run_page where wake_at < now() - interval '1 second' limit 1",
    );
    if (rows.length === 0) return;
    await wait(200);
  }
}

async function copyTable(db: pg.Client, table: string, copies: Copies): Promise<void> {
  const { rows } = await db.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_schema = 'drover' and table_name = $1 order by ordinal_position`,
    [table],
  );
  const id = table === "run" ? "id" : "run_id";
  const instead: Readonly<Record<string, string>> = {
    [id]: "c.id",
    partition: "c.partition",
    key: "null",
    ...(table === "lease" ? { session: sessionOf(copies) } : {}),
    ...(table === "run_page" ? await ofPage(db, copies) : {}),
  };
  const names = rows.map(({ name }) => name);
  const values = names.map((name) => instead[name] ?? `t.${name}`);
  await db.query(
    `insert into drover.${table} (${names.join(", ")})
     select ${values.join(", ")} from drover.${table} as t cross join copied as c where t.${id} = $1`,
    [copies.of],
  );
}

function sessionOf({ leasesOfSession }: Copies): string {
  return `sha256((c.n / ${leasesOfSession})::text::bytea)`;
}

/** A page names the session of its lease. Its supervisor checks it and finds it too early. */
async function ofPage(db: pg.Client, copies: Copies): Promise<Readonly<Record<string, string>>> {
  const { rows } = await db.query<{ session: string }>(
    "select encode(session, 'hex') as session from drover.lease where run_id = $1 limit 1",
    [copies.of],
  );
  const [lease] = rows;
  if (!lease) return {};
  return {
    state: `replace(t.state, '${lease.session}', encode(${sessionOf(copies)}, 'hex'))`,
    wake_at: `clock_timestamp() + c.n % ${copies.leaseWithinMs} * interval '1 ms'`,
  };
}
