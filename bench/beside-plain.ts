// The work of `chain` in a database that holds something, beside the same work in one that holds
// nothing: measured before and after it, so that a machine that drifts is seen.
import { settle } from "./bulk-rows.ts";
import { BATCHES, type Reached, ROOMY, saturated } from "./profiles/chain.ts";
import { type BenchWorld, openWorld } from "./world.ts";

export const LONG = { warmS: 10, measureS: 30 };
export const SHORT = { warmS: 3, measureS: 5 };

/** Two of the same kind, one of which shall stay plain; one is idle while the other works. */
export async function withTwoWorlds<Result>(
  use: (plain: BenchWorld, loaded: BenchWorld) => Promise<Result>,
): Promise<Result> {
  const plain = await openWorld(ROOMY);
  try {
    const loaded = await openWorld(ROOMY);
    try {
      return await use(plain, loaded);
    } finally {
      await loaded.stop();
    }
  } finally {
    await plain.stop();
  }
}

export async function rateOf(world: BenchWorld, form: typeof LONG): Promise<Reached> {
  await settle(world.database);
  return await saturated(world, form, BATCHES);
}

/** Ratios of rates, and of what server and database have used for a step. */
export function besidePlain(reached: Reached, before: Reached, after: Reached) {
  const mean = (of: (one: Reached) => number) => (of(before) + of(after)) / 2;
  const rate = ({ steps_per_s }: Reached) => steps_per_s;
  const cpu = (one: Reached) => one.server_cpu_us_per_step + one.db_cpu_us_per_step;
  return {
    ratio_to_plain: rate(reached) / mean(rate),
    cpu_ratio_to_plain: cpu(reached) / mean(cpu),
    plain_before_steps_per_s: rate(before),
    plain_after_steps_per_s: rate(after),
    ...reached,
  };
}
