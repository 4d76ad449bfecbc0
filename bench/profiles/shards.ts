// What shards cost: the work of `chain` on a store of one, two and four shards, all of them on one
// PostgreSQL; and, if DROVER_CITUS names a cluster, on its workers. Everything shares the cores of
// this machine, so more shards add no speed here. The figures are the CPU of a step, and how many
// statements one node has sent to another.

import { openCitusWorld } from "../citus-world.ts";
import type { Measured, Wish } from "../profile.ts";
import { openWorld } from "../world.ts";
import { BATCHES, ROOMY, saturated } from "./chain.ts";

const SHARDS = [1, 2, 4];
const LONG = { warmS: 10, measureS: 30 };
const SHORT = { warmS: 3, measureS: 5 };

export async function shards({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const rows: Record<string, number | string | null>[] = [];
  for (const count of SHARDS) {
    log(`${count} of ${SHARDS.at(-1)} shards on PostgreSQL`);
    const world = await openWorld(ROOMY, count);
    try {
      const reached = await saturated(world, form, BATCHES);
      rows.push({ shards: count, on: "PostgreSQL", ...reached, between_nodes_per_step: null });
    } finally {
      await world.stop();
    }
  }
  const citus = process.env.DROVER_CITUS;
  if (citus === undefined) log("DROVER_CITUS names no cluster: Citus is not measured");
  for (const count of citus === undefined ? [] : SHARDS) {
    log(`${count} of ${SHARDS.at(-1)} shards on Citus`);
    const world = await openCitusWorld(citus ?? "", count);
    try {
      const sentBefore = await world.betweenNodes();
      const reached = await saturated(world, form, BATCHES);
      const sent = (await world.betweenNodes()) - sentBefore;
      const steps = reached.steps_per_s * (form.warmS + form.measureS);
      rows.push({ shards: count, on: "Citus", ...reached, between_nodes_per_step: sent / steps });
    } finally {
      await world.stop();
    }
  }
  return {
    settings: { ...BATCHES, ...form },
    columns: Object.keys(rows[0] ?? {}),
    rows,
    figures: { rows },
  };
}
