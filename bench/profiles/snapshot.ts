// The work of `chain` while a transaction holds an old snapshot: what dies meanwhile cannot be
// cleared away. The load continues throughout, so the windows before, with and after it follow each
// other.
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import type { Measured, Wish } from "../profile.ts";
import { openWorld } from "../world.ts";
import { BATCHES, perStep, type Reached, ROOMY, saturate } from "./chain.ts";

const LONG = { warmS: 20, plainS: 60, windowS: 60, windows: 10, afterS: 20 };
const SHORT = { warmS: 3, plainS: 5, windowS: 5, windows: 4, afterS: 3 };

export async function snapshot({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const world = await openWorld(ROOMY);
  const holder = new Client({ connectionString: world.connectionString });
  try {
    await holder.connect();
    const { plain, held, released, dead } = await saturate(world, BATCHES, async (sample) => {
      const over = async (seconds: number): Promise<Reached> => {
        const before = await sample();
        await wait(seconds * 1_000);
        return perStep(before, await sample());
      };
      await wait(form.warmS * 1_000);
      const plain = await over(form.plainS);
      log(`without a snapshot: ${Math.round(plain.steps_per_s)} steps a second`);
      await hold(holder);
      const held: Reached[] = [];
      while (held.length < form.windows) {
        held.push(await over(form.windowS));
        log(`${held.length * form.windowS} s: ${Math.round(held.at(-1)?.steps_per_s ?? 0)}`);
      }
      const dead = await deadRows(world.database);
      await holder.query("commit");
      await wait(form.afterS * 1_000);
      return { plain, held, released: await over(form.plainS), dead };
    });
    const row = (name: string, reached: Reached) => ({
      window: name,
      ratio_to_plain: reached.steps_per_s / plain.steps_per_s,
      ...reached,
    });
    const rows = [
      row("before", plain),
      ...held.map((reached, at) => row(`${(at + 1) * form.windowS} s`, reached)),
      row("after", released),
    ];
    const rate = held.reduce((sum, { steps_per_s }) => sum + steps_per_s, 0) / held.length;
    return {
      settings: { ...BATCHES, ...form },
      columns: Object.keys(rows[0] ?? {}),
      rows,
      figures: {
        held_s: form.windows * form.windowS,
        steps_per_s: rate,
        plain_steps_per_s: plain.steps_per_s,
        ratio_to_plain: rate / plain.steps_per_s,
        last_ratio_to_plain: (held.at(-1)?.steps_per_s ?? Number.NaN) / plain.steps_per_s,
        steps_per_s_by_window: held.map(({ steps_per_s }) => steps_per_s),
        dead_rows: dead,
      },
    };
  } finally {
    await holder.end();
    await world.stop();
  }
}

/** As a forgotten session of psql does, or a backup that takes long. */
async function hold(holder: Client): Promise<void> {
  await holder.query("set idle_in_transaction_session_timeout = 0; set statement_timeout = 0");
  await holder.query("begin transaction isolation level repeatable read");
  await holder.query("select count(*) from drover.run_page");
}

/** By table, of those that have many: what the snapshot has prevented from being cleared away. */
async function deadRows(database: Client): Promise<Readonly<Record<string, number>>> {
  const { rows } = await database.query<{ name: string; dead: number }>(
    `select relname as name, n_dead_tup::float8 as dead from pg_stat_user_tables
     where n_dead_tup > 1000 order by n_dead_tup desc`,
  );
  return Object.fromEntries(rows.map(({ name, dead }) => [name, dead]));
}
