// The work of `chain` while many runs are in flight and wait: for a time that is hours away, and
// for a signal that does not come.
import { createClient } from "../../sdk/typescript/index.ts";
import { besidePlain, LONG, rateOf, SHORT, withTwoWorlds } from "../beside-plain.ts";
import { copyRun } from "../bulk-rows.ts";
import type { Measured, Wish } from "../profile.ts";
import type { BenchWorld } from "../world.ts";
import { BATCHES } from "./chain.ts";

const PARKED = { long: [1_000, 100_000, 1_000_000], short: [1_000, 20_000] };
const WAITS = [{ wait: "48h" }, { signal: "never" }] as const;

type Wait = (typeof WAITS)[number];

export async function inflight({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  return await withTwoWorlds(async (plain, loaded) => {
    log("nothing in flight");
    let before = await rateOf(plain, form);
    const rows = [];
    let parked = 0;
    for (const wanted of short ? PARKED.short : PARKED.long) {
      for (const step of WAITS) await park(loaded, step, (wanted - parked) / WAITS.length);
      parked = await waiting(loaded);
      log(`${parked.toLocaleString("en")} in flight`);
      const reached = await rateOf(loaded, form);
      log("nothing in flight");
      const after = await rateOf(plain, form);
      rows.push({ parked, ...besidePlain(reached, before, after) });
      before = after;
    }
    return {
      settings: {
        ...BATCHES,
        ...form,
        waits: WAITS.map((step) => JSON.stringify(step)).join(", "),
      },
      columns: Object.keys(rows[0] ?? {}),
      rows,
      figures: Object.fromEntries(rows.map((row) => [`parked_${row.parked}`, row])),
    };
  });
}

/** One run that the server has started, and copies of it. */
async function park({ address, database }: BenchWorld, step: Wait, runs: number): Promise<void> {
  const client = createClient({ address });
  const workflow = { workflow: "parked", steps: [{ id: "wait", ...step }] };
  const { runId } = await client.schedule({ workflow, input: { order: 4711 } });
  await client.close();
  const copies = { of: runId, count: runs - 1, leaseWithinMs: 1, leasesOfSession: 1 };
  await copyRun(database, copies);
}

async function waiting({ database }: BenchWorld): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "select count(*)::integer as count from drover.run as r join drover.run_page as p on p.run_id = r.id and p.no = 0 where r.workflow = 'parked' and p.ended_at is null",
  );
  return rows[0]?.count ?? 0;
}
