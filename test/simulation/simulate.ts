// One seed: a world with servers, agents and clients. For some time there are faults, then none:
// every run must end, or wait for a person, and all promises must hold.
import { createHash } from "node:crypto";
import { type Chance, createChance } from "../../simulator/chance.ts";
import { createVirtualProcess, type VirtualProcess } from "../../simulator/virtual-process.ts";
import { createVirtualTime } from "../../simulator/virtual-time.ts";
import type { AgentShape } from "./agent.ts";
import { type Callbacks, createCallbacks } from "./callbacks.ts";
import { createChaos } from "./chaos.ts";
import { checkHistory } from "./checker/check-history.ts";
import { type Clients, startClients } from "./client.ts";
import { createDatabaseClock } from "./database-clock.ts";
import { compareDerivedRows } from "./derived-rows.ts";
import { createEdges, type EdgeName } from "./edges.ts";
import { createFaults, type FaultKind } from "./faults.ts";
import { atRest, deliveriesOf, finalRows } from "./final-rows.ts";
import { type History, type HistoryRecord, historyText, type Watcher } from "./history.ts";
import { drawLayout, PARTITIONS_PER_REGION, watcherOf } from "./layout.ts";
import { createNetwork } from "./network.ts";
import { putHooks, receiversFor } from "./receivers.ts";
import { createRecorder } from "./recorder.ts";
import { createRemote } from "./remote.ts";
import { createServerProcess } from "./server-process.ts";
import { createSimulatedStore, type SimulatedStore } from "./simulated-store.ts";
import { spread } from "./store-faults.ts";
import { createStoreWitness, type StoreWitness } from "./store-witness.ts";
import { endTriggers, putTriggers } from "./triggers.ts";
import { unhandledRejections } from "./unhandled-rejections.ts";
import { QUEUES } from "./workload.ts";
import type { World } from "./world.ts";

export interface Simulated {
  readonly seed: number;
  readonly history: History;
  readonly violations: readonly string[];
  readonly runs: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly edges: ReadonlyMap<EdgeName, number>;
}

/** Circuits open by themselves. In the other seeds ready work is to be handed out at once. */
const TRIPPING_SHARE = 0.3;
const QUICK_TO_TRIP = Object.freeze({
  minOutcomes: 3,
  share: 0.5,
  windowMs: 10_000,
  cooldownMs: 300,
  cooldownMsMax: 1_200,
});
const SHORT_QUEUES_SHARE = 0.4;
/** Shorter than the longest call: that one is never accepted, and its reports go in others. */
const SHORT_QUEUE_MIN = 1;
const SHORT_QUEUE_MAX = 6;
const START_MS = 1_700_000_000_000;
const NAMESPACES: readonly string[] = ["default", "other"];
const CANARIES = NAMESPACES.map((namespace) => ({ namespace, word: `canary-of-${namespace}` }));
const TRIGGERS = CANARIES.flatMap(endTriggers);
const RUNS_PER_NAMESPACE = 12;
/** Requests are checked by the rules of the contract in one of so many seeds. */
const CHECKED_SEEDS = 20;
/** Every webhook is waited for in one of so many seeds: they have longer pauses than all else. */
const WEBHOOK_SEEDS = 10;
/** Faults for so long; runs are scheduled in the first part of it. */
const FAULTS_MS_MIN = 9_000;
const FAULTS_MS_MAX = 20_000;
/** Until lost sessions are known as lost and their partitions are watched again. */
const SETTLING_MS = 5_000;
/**
 * After the heal every run must be settled within so long. The longest that is known waits 30 s in
 * a queue that no agent polls, is retried by a person, and so on for four child runs: about 210 s.
 */
const DRAIN_MS_MAX = 300_000;
const SCAN_EVERY_MS = 1_000;

/** `shards`: how many the store has. */
export async function simulate(seed: number, shards = 1): Promise<Simulated> {
  const chance = createChance(seed, PARTITIONS_PER_REGION - 1);
  const { region, partitions, supervision } = drawLayout(chance.fork());
  const time = createVirtualTime(START_MS);
  const databaseClock = createDatabaseClock(time);
  let databaseMs = databaseClock.now;
  const clocks = { now: () => databaseMs(), elapsedMs: time.now };
  const store = createSimulatedStore(clocks, partitions, shards);
  const recorder = createRecorder(databaseClock.now);
  const faults = createFaults(chance.fork(), recorder);
  const edges = createEdges();
  const witness = createStoreWitness(time, recorder, edges);
  const chaos = createChaos(chance.fork(), store.shards, witness);
  const defects: string[] = [];
  const isChecked = seed % CHECKED_SEEDS === 0;
  const onDefect = (what: string): void => void defects.push(`${time.now() - START_MS}: ${what}`);
  const seen = { onDefect, isChecked, witness };
  await prepare(store, witness, region);
  const postOf = (process: VirtualProcess) => receiversFor({ time, faults, recorder }, process);
  const strikes = chaos.strikes(() => world);
  const { isStoreUp } = chaos;
  const circuits = chance.happens(TRIPPING_SHARE) ? QUICK_TO_TRIP : undefined;
  const common = { circuits, time, store, faults, isStoreUp, postOf, strikes, partitions };
  const servers = Array.from({ length: chance.between(2, 3) }, (_, index) => {
    const own = { ...drawServer(chance), supervision: supervision[index] };
    return createServerProcess(`server-${index + 1}`, { ...seen, ...common, ...own });
  });
  const watchers = servers.map(({ name }, index) => watcherOf(name, supervision[index]));
  const network = createNetwork(time, faults);
  const remote = createRemote(recorder);
  const shared = { time, databaseClock, chance, faults, recorder, silentRuns: [], silentUndos: [] };
  const callbacks = new Map<string, Callbacks>();
  const world: World = { ...shared, network, remote, servers, canaries: CANARIES, callbacks };
  for (const namespace of NAMESPACES) callbacks.set(namespace, callbacksOf(world, namespace));
  for (const server of servers) server.start();
  compareDerivedRows(time, store.shards, partitions, onDefect);
  const shapes = NAMESPACES.flatMap((namespace) => agentShapes(chance, namespace));
  chaos.start(world, shapes);
  const faultsMs = chance.between(FAULTS_MS_MIN, FAULTS_MS_MAX);
  const clients = NAMESPACES.map((namespace) =>
    startClients(world, { namespace, runs: RUNS_PER_NAMESPACE, withinMs: faultsMs * 0.7 }),
  );
  await time.run(START_MS + faultsMs, () => false);
  faults.heal();
  chaos.heal();
  await time.run(time.now() + SETTLING_MS, () => false);

  const violations: string[] = [];
  const drained = await drain(time, async () => {
    if (!clients.every((client) => client.isDone())) return "clients still schedule";
    return leftToDo(store, lostKeys(recorder.records), seed % WEBHOOK_SEEDS === 0);
  });
  if (drained !== null)
    violations.push(`not at rest ${DRAIN_MS_MAX} ms after the heal: ${drained}`);

  databaseMs = () => Number.MAX_SAFE_INTEGER;
  const { deliveriesMade, dueTimes } = await allThatIsToCome(store, partitions);
  databaseMs = databaseClock.now;
  const at = databaseClock.now();
  const whose = { namespaces: NAMESPACES, triggers: TRIGGERS };
  const ending = { ...whose, at, drained: drained === null, deliveriesMade };
  const { rows, broken } = await finalRows(store, witness, ending, dueTimes);
  const history: History = {
    meta: metaOf(seed, watchers, shards),
    records: recorder.records,
    final: rows,
  };
  violations.push(...(await unhandledRejections()));
  violations.push(...defects, ...broken, ...edges.strange);
  violations.push(...checkHistory(history).map((violation) => JSON.stringify(violation)));
  const runs = runsOf(history, clients);
  return { seed, history, violations, runs, faults: faults.counts, edges: edges.taken };
}

function metaOf(seed: number, watchers: readonly Watcher[], shards: number): History["meta"] {
  const meta = { source: "simulation", seed, canaries: CANARIES, watchers } as const;
  return shards > 1 ? { ...meta, shards } : meta;
}

/** Some servers have short queues, so that they refuse calls under load. */
function drawServer(chance: Chance) {
  const isShort = chance.happens(SHORT_QUEUES_SHARE);
  const waitingMax = isShort ? chance.between(SHORT_QUEUE_MIN, SHORT_QUEUE_MAX) : undefined;
  return { chance: chance.fork(), waitingMax };
}

function callbacksOf(world: World, namespace: string): Callbacks {
  const { time, chance } = world;
  const process = createVirtualProcess(`remote-of-${namespace}`, time, chance.fork());
  return createCallbacks(world, process, namespace);
}

async function prepare(
  store: SimulatedStore,
  witness: StoreWitness,
  region: string,
): Promise<void> {
  for (const name of NAMESPACES) await store.createNamespace(name, region);
  await putHooks(store, NAMESPACES);
  await putTriggers(store, witness, CANARIES);
  for (const shard of store.shards.all) shard.makeDurable();
}

/** Those that are there, and those that a client learned of before a fail-over forgot them. */
function runsOf({ final }: History, clients: readonly Clients[]): number {
  const known = clients.flatMap(({ runIds }) => runIds);
  return new Set([...final.runs.map(({ runId }) => runId), ...known]).size;
}

/** Keys whose runs a shard has lost. */
function lostKeys(records: readonly HistoryRecord[]): ReadonlySet<string> {
  const keys = records.flatMap((record) =>
    record.kind === "fault" && "did" in record.fault && record.fault.did === "tail-lost"
      ? (record.fault.lost.keys ?? [])
      : [],
  );
  return new Set(keys);
}

/** null: nothing. */
async function leftToDo(
  store: SimulatedStore,
  lost: ReadonlySet<string>,
  withWebhooks: boolean,
): Promise<string | null> {
  const { open } = await atRest(store, NAMESPACES, TRIGGERS, lost);
  if (open.length > 0) return open.join(", ");
  const deliveries = withWebhooks ? await deliveriesOf(store, NAMESPACES) : [];
  const pending = deliveries.filter(({ state }) => state === "pending").length;
  return pending === 0 ? null : `${pending} webhooks are to be sent`;
}

/** By a clock that is far ahead: due times of runs, and deliveries of unread outbox rows. */
async function allThatIsToCome(store: SimulatedStore, partitions: readonly number[]) {
  const made = await deliveriesOf(store, NAMESPACES);
  const due = [];
  for (const shard of store.shards.all) {
    const own = partitions.filter((one) => store.shards.of(one) === shard);
    due.push(...(await shard.dueRows(own, Number.MAX_SAFE_INTEGER)).due);
    await shard.outbox.due(spread(own, PARTITIONS_PER_REGION), 0);
  }
  const dueTimes = new Map(
    due.flatMap((row) => (row.kind === "run" ? [[row.runId, row.wakeAt] as const] : [])),
  );
  return { dueTimes, deliveriesMade: new Set(made.map(({ id }) => id)) };
}

/** Equal for equal histories, to the byte. */
export function digestOf(history: History): string {
  return createHash("sha256").update(historyText(history)).digest("hex");
}

/** null once nothing is left to do, else what it still waits for. */
async function drain(
  time: ReturnType<typeof createVirtualTime>,
  left: () => Promise<string | null>,
): Promise<string | null> {
  const untilMs = time.now() + DRAIN_MS_MAX;
  let open = await left();
  while (open !== null && time.now() < untilMs) {
    await time.run(time.now() + SCAN_EVERY_MS, () => false);
    open = await left();
  }
  return open;
}

/** One agent at least performs everything; some lanes may have no other. */
function agentShapes(chance: Chance, namespace: string): readonly AgentShape[] {
  return Array.from({ length: chance.between(2, 3) }, (_, index) => ({
    id: `agent-${index + 1}-of-${namespace}`,
    namespace,
    queues: index === 0 || chance.happens(0.5) ? QUEUES : [chance.pick(QUEUES)],
    tasks: index === 0 || chance.happens(0.6) ? [] : ["book", "undo"],
    tasksMax: chance.between(2, 6),
  }));
}
