// What an item of a map costs, beside a step of a chain in the same world: maps of several sizes,
// one after the other, and many at once. The items do nothing.
import { setTimeout as wait } from "node:timers/promises";
import { type Client, createClient } from "../../sdk/typescript/index.ts";
import type { Measured, Wish } from "../profile.ts";
import { type BenchWorld, openWorld, startWorker, type Worker } from "../world.ts";
import { BATCHES, ROOMY, saturated } from "./chain.ts";

/** Of one map: the most that a definition may have, so that its agent never waits for work. */
const CONCURRENCY = 1_000;
const LONG = {
  warmS: 10,
  measureS: 30,
  manyMaps: 100,
  manyItems: 1_000,
  alone: [
    { items: 1_000, times: 30 },
    { items: 3_000, times: 10 },
    { items: 10_000, times: 3 },
  ],
};
const SHORT = {
  warmS: 3,
  measureS: 5,
  manyMaps: 10,
  manyItems: 200,
  alone: [
    { items: 100, times: 30 },
    { items: 300, times: 10 },
    { items: 1_000, times: 3 },
  ],
};
/** The interval in milliseconds at which the agent reports its progress. */
const REPORT_MS = 200;

interface Crowd {
  readonly world: BenchWorld;
  readonly client: Client;
  readonly agent: Worker;
}

export async function fan({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const world = await openWorld(ROOMY);
  try {
    log("the chain");
    const chain = await saturated(world, form, BATCHES);
    const stepCpuUs = chain.server_cpu_us_per_step + chain.db_cpu_us_per_step;
    const crowd = await openCrowd(world);
    // What compiles at its first use is not measured.
    await oneByOne(crowd, { items: form.alone.at(-1)?.items ?? 1, times: 1 });
    const rows = [];
    for (const { items, times } of form.alone) {
      log(`maps of ${items} items, one after the other, ${times} times`);
      const used = await measured(crowd, items * times, () => oneByOne(crowd, { items, times }));
      rows.push({ maps_at_a_time: 1, items_each: items, maps: times, ...used });
    }
    log(`${form.manyMaps} maps of ${form.manyItems} items at once`);
    const many = { maps: form.manyMaps, items: form.manyItems };
    const used = await measured(crowd, many.maps * many.items, () => atOnce(crowd, many));
    rows.push({
      maps_at_a_time: many.maps,
      items_each: many.items,
      maps: many.maps,
      ...used,
    });
    crowd.client.close();
    await crowd.agent.kill();
    return report(form, { stepsPerS: chain.steps_per_s, stepCpuUs, rows });
  } finally {
    await world.stop();
  }
}

type Row = Used & { readonly maps_at_a_time: number; readonly items_each: number };
type Used = Awaited<ReturnType<typeof measured>>;

function report(
  form: typeof LONG,
  { stepsPerS, stepCpuUs, rows }: { stepsPerS: number; stepCpuUs: number; rows: Row[] },
): Measured {
  const cpuUs = (row: Row | undefined) =>
    row ? row.server_cpu_us_per_item + row.db_cpu_us_per_item : Number.NaN;
  const withRatios = rows.map((row) => ({ ...row, cost_ratio_to_chain: cpuUs(row) / stepCpuUs }));
  const alone = rows.filter(({ maps_at_a_time: at }) => at === 1);
  const many = withRatios.at(-1);
  const widest = withRatios[alone.length - 1];
  return {
    settings: {
      ...BATCHES,
      concurrency: CONCURRENCY,
      warmS: form.warmS,
      measureS: form.measureS,
      chain_steps_per_s: stepsPerS,
      chain_server_and_db_cpu_us_per_step: stepCpuUs,
    },
    columns: Object.keys(withRatios[0] ?? {}),
    rows: withRatios,
    figures: {
      chain: { steps_per_s: stepsPerS, server_and_db_cpu_us_per_step: stepCpuUs },
      one: widest,
      many,
      cost_ratio_to_chain: widest?.cost_ratio_to_chain,
      many_cost_ratio_to_chain: many?.cost_ratio_to_chain,
      growth: alone.map((row) => ({
        items: row.items_each,
        server_and_db_cpu_us_per_item: cpuUs(row),
        ratio_to_smallest: cpuUs(row) / cpuUs(alone[0]),
      })),
    },
  };
}

async function openCrowd(world: BenchWorld): Promise<Crowd> {
  const client = createClient({ address: world.address });
  await client.registerWorkflow({
    workflow: "fan",
    steps: [
      {
        id: "all",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
        map: { over: "${input.items}", task: "nothing", concurrency: CONCURRENCY },
        // As large as what a step of the chain gets.
        // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
        input: { order: "${item}", to: "Lisbon", seats: 2 },
      },
    ],
  });
  const agent = await startWorker("chain-agent.ts", [
    world.address,
    BATCHES.how,
    String(BATCHES.many),
  ]);
  return { world, client, agent };
}

async function oneByOne(crowd: Crowd, { items, times }: { items: number; times: number }) {
  for (let no = 0; no < times; no++) await atOnce(crowd, { items, maps: 1 });
}

async function atOnce({ client }: Crowd, { items, maps }: { items: number; maps: number }) {
  const spec = { workflow: "fan", input: { items } };
  const begun = await client.scheduleBatch(Array.from({ length: maps }, () => spec));
  const runs = begun.map((one) => {
    if ("error" in one) throw new Error(`a run was refused: ${JSON.stringify(one.error)}`);
    return one.runId;
  });
  const ended = await Promise.all(runs.map((run) => client.waitRun(run)));
  const bad = ended.find(({ state }) => state !== "COMPLETED");
  if (bad) throw new Error(`a run ended ${bad.state}`);
}

async function measured({ world, agent }: Crowd, items: number, work: () => Promise<void>) {
  // The tail of what was before, and of the reports of the agent.
  await wait(REPORT_MS);
  const sample = async () => ({ ...(await world.used()), agentCpuS: agent.cpuS() });
  const before = await sample();
  const startedAt = performance.now();
  await work();
  const wholeS = (performance.now() - startedAt) / 1_000;
  const after = await sample();
  const each = (of: "serverCpuS" | "databaseCpuS" | "agentCpuS") =>
    ((after[of] - before[of]) / items) * 1_000_000;
  return {
    items_per_s: items / wholeS,
    whole_s: wholeS,
    server_cpu_us_per_item: each("serverCpuS"),
    db_cpu_us_per_item: each("databaseCpuS"),
    agent_cpu_us_per_item: each("agentCpuS"),
    wal_bytes_per_item: (after.walBytes - before.walBytes) / items,
    full_pages_per_item: (after.walFullPages - before.walFullPages) / items,
    commits_per_item: (after.commits - before.commits) / items,
    statements_per_item: (after.statements - before.statements) / items,
    server_rss_mib: after.serverRssMiB,
  };
}
