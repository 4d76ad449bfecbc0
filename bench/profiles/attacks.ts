// What a good client notices of a hostile peer: its calls, one after the other, while another
// process attacks the same server, and before that.
import { createClient } from "../../sdk/typescript/index.ts";
import { FLOODS } from "../../test/support/http2-bytes.ts";
import { type Measured, spreadOf, type Wish } from "../profile.ts";
import { type BenchWorld, openWorld, startWorker } from "../world.ts";

const LONG = { warmS: 2, measureS: 5 };
const SHORT = { warmS: 1, measureS: 3 };
const ATTACKS = [
  ...Object.keys(FLOODS),
  ...["rapid reset", "silent connections", "slow headers", "new connections"],
  ...["gzip bomb", "deep JSON"],
];

export async function attacks({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const world = await openWorld();
  try {
    await good(world, form.warmS);
    const rows = [];
    for (const attack of ATTACKS) {
      log(attack);
      rows.push(await measure(world, attack, form.measureS));
    }
    return { settings: form, columns: Object.keys(rows[0] ?? {}), rows };
  } finally {
    await world.stop();
  }
}

async function measure(world: BenchWorld, attack: string, seconds: number) {
  const quiet = await good(world, seconds);
  const attacker = await startWorker("attacker.ts", [world.address, attack]);
  const attacked = await good(world, seconds);
  await attacker.kill();
  const { serverRssMiB } = await world.used();
  return {
    attack,
    quiet_p50_ms: quiet.p50,
    quiet_p99_ms: quiet.p99,
    attacked_p50_ms: attacked.p50,
    attacked_p99_ms: attacked.p99,
    p99_ratio: attacked.p99 / quiet.p99,
    failed_calls: attacked.failed,
    server_rss_mib: Math.round(serverRssMiB),
  };
}

/** Calls that read the database, for so long. */
async function good({ address }: Pick<BenchWorld, "address">, seconds: number) {
  const client = createClient({ address, patience: "0s" });
  const took: number[] = [];
  let failed = 0;
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    const begun = performance.now();
    await client.namespaces.list().catch(() => {
      failed++;
    });
    took.push(performance.now() - begun);
  }
  client.close();
  return { ...spreadOf(took), failed };
}
