// The work of `chain` in a database that keeps the finished runs of four weeks of it.
import { besidePlain, LONG, rateOf, SHORT, withTwoWorlds } from "../beside-plain.ts";
import { loadHistory } from "../bulk-history.ts";
import type { Measured, Wish } from "../profile.ts";
import type { BenchWorld } from "../world.ts";
import { BATCHES, saturated } from "./chain.ts";

const RUNS = { long: 10_000_000, short: 200_000 };
const DAYS = 28;
/** For the one run that is copied. */
const FIRST = { warmS: 1, measureS: 1 };

export async function history({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const runs = short ? RUNS.short : RUNS.long;
  return await withTwoWorlds(async (plain, loaded) => {
    for (const world of [plain, loaded]) await saturated(world, FIRST, BATCHES);
    const runId = await finishedRun(loaded);
    const loadS = await loadHistory(loaded.database, {
      of: [{ runId, copies: runs }],
      days: DAYS,
      log: (done, all) => log(`${done.toLocaleString("en")} of ${all.toLocaleString("en")} runs`),
    });
    log(`loaded in ${Math.round(loadS)} s`);
    const before = await rateOf(plain, form);
    const reached = await rateOf(loaded, form);
    const after = await rateOf(plain, form);
    const { kept, gib } = await sizeOf(loaded);
    const row = {
      kept_runs: kept,
      database_gib: gib,
      load_s_per_million: loadS / (runs / 1_000_000),
      ...besidePlain(reached, before, after),
    };
    return {
      settings: { ...BATCHES, ...form, runs, days: DAYS },
      columns: Object.keys(row),
      rows: [row],
      figures: row,
    };
  });
}

async function finishedRun({ database }: BenchWorld): Promise<string> {
  const { rows } = await database.query<{ id: string }>(
    "select run_id as id from drover.run_page where ended_at is not null order by ended_at limit 1",
  );
  const [found] = rows;
  if (!found) throw new Error("no run of the chain has ended: there is nothing to copy");
  return found.id;
}

async function sizeOf({ database }: BenchWorld): Promise<{ kept: number; gib: number }> {
  const { rows } = await database.query<{ kept: number; gib: number }>(
    `select (select count(*)::integer from drover.run_page where ended_at is not null) as kept,
       pg_database_size(current_database()) / 1073741824.0::float8 as gib`,
  );
  return rows[0] ?? { kept: 0, gib: 0 };
}
