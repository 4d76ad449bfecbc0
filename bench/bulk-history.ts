// A history in bulk: runs that the server itself has brought to where they are, copied by SQL under
// ids of the last weeks, with all rows that they have in any table. A copy's times are as long ago
// by its id, those in the JSON of its pages too; its key is one of its own. What one waits for
// is earlier, too: it must be further away than the history is long.
import type pg from "pg";

export interface Original {
  /** A run as the copies shall be. */
  readonly runId: string;
  readonly copies: number;
}

export interface History {
  readonly of: readonly Original[];
  /** From so many days ago until the present, evenly. */
  readonly days: number;
  /** Called after each slice: how many of all have been copied. */
  readonly log: (done: number, all: number) => void;
}

/** Copies of one slice of time, which are written together, as those of one time would be. */
const SLICE = 50_000;

interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly isTime: boolean }[];
  /** Milliseconds since 1970 that its JSON has, as they are there. */
  readonly times: readonly string[];
}

/** Columns that are JSON of pages, or of parts of them. */
const JSON_COLUMNS = ["run_page.state", "attempt_log.attempt"];

/** Resolves to the seconds that it took. */
export async function loadHistory(db: pg.Client, { of, days, log }: History): Promise<number> {
  const startedAt = performance.now();
  const all = of.reduce((sum, { copies }) => sum + copies, 0);
  const slices = Math.max(1, Math.ceil(all / SLICE));
  await db.query("set synchronous_commit = off; set work_mem = '256MB'");
  const tables = await tablesOfRuns(db);
  const originals = [];
  for (const original of of)
    originals.push({
      ...original,
      tables: await copyOriginal(db, tables, originals.length, original),
    });
  let done = 0;
  for (let slice = 0; slice < slices; slice++) {
    for (const [index, { copies, tables }] of originals.entries()) {
      const from = Math.floor((copies * slice) / slices);
      const to = Math.floor((copies * (slice + 1)) / slices);
      if (from === undefined || to === undefined || from === to) continue;
      await db.query("begin");
      await numberCopies(db, { index, from, to, copies, days });
      for (const table of tables) await copyRows(db, table, index);
      await db.query("commit");
      done += to - from;
    }
    log(done, all);
  }
  await db.query("reset synchronous_commit; reset work_mem");
  return (performance.now() - startedAt) / 1_000;
}

async function tablesOfRuns(db: pg.Client): Promise<readonly Table[]> {
  const { rows } = await db.query<{ table: string; name: string; is_time: boolean }>(
    `select c.relname as table, a.attname as name, a.atttypid = 'timestamptz'::regtype as is_time
     from pg_class as c
     join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'drover'::regnamespace and c.relkind in ('r', 'p')
       and not c.relispartition and a.attidentity = ''
       and (c.relname = 'run' or exists (
         select from pg_attribute as o where o.attrelid = c.oid and o.attname = 'run_id'
       ))
     order by c.relname = 'run' desc, c.relname, a.attnum`,
  );
  return [...Map.groupBy(rows, ({ table }) => table)].map(([name, columns]) => ({
    name,
    columns: columns.map((row) => ({ name: row.name, isTime: row.is_time })),
    times: [],
  }));
}

/** Copies the rows of one, and returns of which tables: not every key begins with the run. */
async function copyOriginal(
  db: pg.Client,
  tables: readonly Table[],
  index: number,
  { runId }: Original,
) {
  const found: Table[] = [];
  for (const table of tables) {
    const { rowCount } = await db.query(
      `create temp table ${copyOf(table, index)} as
       select * from drover.${table.name} where ${idOf(table)} = '${runId}'`,
    );
    if (rowCount !== 0) found.push({ ...table, times: await timesIn(db, table, index) });
  }
  return found;
}

async function timesIn(db: pg.Client, table: Table, index: number): Promise<readonly string[]> {
  const [column] = table.columns.filter((one) => isJson(table, one));
  if (!column) return [];
  const { rows } = await db.query<{ found: string }>(
    `select distinct m[1] as found
     from ${copyOf(table, index)} as t
     cross join lateral regexp_matches(t.${column.name}, '\\m1\\d{12}\\M', 'g') as m`,
  );
  return rows.map(({ found }) => found);
}

function isJson({ name }: Table, column: { readonly name: string }): boolean {
  return JSON_COLUMNS.includes(`${name}.${column.name}`);
}

function copyOf({ name }: Table, index: number): string {
  return `original_${index}_${name}`;
}

function idOf({ name }: Table): string {
  return name === "run" ? "id" : "run_id";
}

/** Their ids are UUIDv7 of their time, and chance that is the same each time. */
async function numberCopies(
  db: pg.Client,
  copy: {
    readonly index: number;
    readonly from: number;
    readonly to: number;
    readonly copies: number;
    readonly days: number;
  },
): Promise<void> {
  await db.query(
    `create temp table copied on commit drop as
     select id, key, ago, (extract(epoch from ago) * 1000)::bigint as ago_ms, ('x' || right(id::text, 2))::bit(8)::integer::smallint as partition
     from (
       select ago, md5(chance || 'key')::uuid::text as key,
         (lpad(to_hex((extract(epoch from now() - ago) * 1000)::bigint), 12, '0')
           || '7' || substr(chance, 1, 3) || '8' || substr(chance, 4, 15))::uuid as id
       from (
         select (1 - (n - 0.5) / ${copy.copies}) * ${copy.days} * interval '1 day' as ago,
           md5(n || ' of ' || ${copy.index}) as chance
         from generate_series(${copy.from + 1}, ${copy.to}) as n
       ) as numbered
     ) as made`,
  );
}

/** Each time only once: what replaces it is none of the others. */
function earlier(json: string, times: readonly string[]): string {
  return times
    .toSorted()
    .reduce((text, at) => `replace(${text}, '${at}', (${at} - c.ago_ms)::text)`, json);
}

async function copyRows(db: pg.Client, table: Table, index: number): Promise<void> {
  const names = table.columns.map(({ name }) => name);
  const values = table.columns.map((column) => {
    const { name, isTime } = column;
    if (isJson(table, column)) return earlier(`t.${name}`, table.times);
    if (name === idOf(table)) return "c.id";
    if (name === "partition") return "c.partition";
    if (name === "key") return "case when t.key is not null then c.key end";
    return isTime ? `t.${name} - c.ago` : `t.${name}`;
  });
  await db.query(
    `insert into drover.${table.name} (${names.join(", ")})
     select ${values.join(", ")}
     from ${copyOf(table, index)} as t cross join copied as c order by c.id`,
  );
}
