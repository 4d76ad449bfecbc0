// Everything that takes part, started: the database, the processes behind their proxies, and what
// faults and clients need to know of them.
//
//   agents, clients → recording proxy → fault proxy → server → fault proxy → database
//                                                 supervisor → fault proxy → database
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "../../sdk/typescript/index.ts";
import { type Chance, createChance } from "../../simulator/chance.ts";
import { createDatabaseClock, jumpClock } from "../simulation/database-clock.ts";
import type { TaskSeen } from "../simulation/history.ts";
import { createRecorder, type Recorder } from "../simulation/recorder.ts";
import { citusUrl } from "../support/citus.ts";
import { freeAddress } from "../support/free-address.ts";
import { until } from "../support/until.ts";
import { openCitusDatabase } from "./citus-database.ts";
import { type Clients, createClients } from "./clients.ts";
import { createDatabase, type Database } from "./database.ts";
import { type EffectsService, startEffectsService } from "./effects-service.ts";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import type { AgentCommand } from "./languages.ts";
import { type Preload, type Preloaded, preloadedWith } from "./preloaded.ts";
import { type Managed, manage, type Spec } from "./processes.ts";
import { type Misfortune, startRecordingProxy } from "./recording-proxy.ts";
import { TASKS } from "./workload.ts";

export interface Stage {
  readonly recorder: Recorder;
  readonly database: Database;
  readonly servers: readonly Managed[];
  readonly supervisors: readonly Managed[];
  readonly agents: readonly Managed[];
  /** By the name of the server or supervisor; empty without a library to preload. */
  readonly preloaded: ReadonlyMap<string, Preloaded>;
  /** To the database, by the name of the server or supervisor. */
  readonly toDatabase: ReadonlyMap<string, FaultProxy>;
  /** To the servers, by the names of the caller and the server. */
  readonly toServers: readonly {
    readonly caller: string;
    readonly server: string;
    readonly proxy: FaultProxy;
  }[];
  readonly misfortune: Misfortune;
  readonly service: EffectsService;
  readonly clients: readonly Clients[];
  /** Ends of processes that nobody asked for. */
  readonly unexpectedEnds: readonly string[];
  /** By the database's clock. */
  now(): number;
  /** Moves the database's clock, by whole seconds. */
  jumpClock(byMs: number): void;
  stop(): Promise<void>;
}

export interface StageOptions {
  readonly folder: string;
  readonly seed: number;
  readonly agents: readonly AgentCommand[];
  readonly preload: Preload;
  /** Open runs of each namespace. */
  readonly openMax: number;
}

export const NAMESPACES = ["default", "other"] as const;
const SERVERS = 2;
const SUPERVISORS = 3;
/** How a poison task ends its agent. */
const DIED = 77;
const BINARY = join(import.meta.dirname, "../../cli/bin/drover.js");
/** No circuit opens: a task that always fails is a part of the workload. */
const NO_CIRCUITS = ["--circuit-ends", "1000000"];

/** So that no text of one namespace is a part of one of another. */
export function canaryOf(namespace: string): string {
  return `canary-${namespace}`;
}

/** What the parts are started with, and what ends them. */
interface Opening extends StageOptions {
  readonly chance: Chance;
  readonly recorder: Recorder;
  readonly stops: (() => Promise<unknown>)[];
  run(spec: Spec): Promise<Managed>;
}

interface ServerAddress {
  readonly server: string;
  readonly address: string;
}

export async function openStage(options: StageOptions): Promise<Stage> {
  const { folder, seed } = options;
  const logs = join(folder, "logs");
  mkdirSync(logs, { recursive: true });
  // The database runs on this machine, so its clock is this one, but for its jumps.
  const clock = createDatabaseClock({ now: machineNow });
  const { recorder, taskOf } = watchedRecorder(clock.now);
  const stops: (() => Promise<unknown>)[] = [];
  const unexpectedEnds: string[] = [];
  const run = async (spec: Spec): Promise<Managed> => {
    const managed = manage(spec, logs, recorder, (text) => unexpectedEnds.push(text));
    stops.push(managed.stop);
    await managed.start();
    return managed;
  };
  const stop = async (): Promise<void> => {
    for (const end of stops.reverse()) await end().catch(() => undefined);
  };
  const opening = { ...options, chance: createChance(seed), recorder, stops, run };
  try {
    const { addresses, ...control } = await openControlPlane(opening);
    const chance = opening.chance.fork();
    const service = await startEffectsService({ recorder, taskOf, canaryOf, chance });
    stops.push(service.stop);
    const callers = await openCallers(opening, addresses, service.url);
    const jump = (byMs: number): void => {
      control.database.jumpClock(byMs);
      jumpClock(clock, recorder, byMs);
    };
    const recorded = { recorder, service, unexpectedEnds, now: clock.now };
    return Object.freeze({ ...control, ...callers, ...recorded, jumpClock: jump, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The database, the servers and the supervisors. */
async function openControlPlane({ folder, chance, stops, run, preload }: Opening) {
  const database =
    citusUrl === undefined
      ? await createDatabase(folder, preload)
      : await openCitusDatabase(citusUrl, folder, preload);
  stops.push(database.stopAll);
  await database.standby?.add();
  const toDatabase = new Map<string, FaultProxy>();
  const throughProxy = async (name: string): Promise<string> => {
    const proxy = await open(database.address(), true, chance);
    stops.push(proxy.stop);
    toDatabase.set(name, proxy);
    return database.connectionString(proxy.address);
  };
  const preloaded = new Map<string, Preloaded>();
  const envOf = async (name: string): Promise<Spec["env"]> => {
    const url = await throughProxy(name);
    if (preload.kind === "missing") return { DATABASE_URL: url };
    const orders = preloadedWith(preload.library, join(folder, `${name}.orders`));
    preloaded.set(name, orders);
    return { DATABASE_URL: url, ...orders.env };
  };
  const addresses: ServerAddress[] = [];
  const specs: Spec[] = [];
  for (const server of names("server", SERVERS)) {
    const address = await freeAddress();
    addresses.push({ server, address });
    specs.push(serverSpec(server, address, await envOf(server)));
  }
  for (const name of names("supervisor", SUPERVISORS))
    specs.push(supervisorSpec(name, await envOf(name)));
  const starting = specs.map(run);
  // One that fails must not leave others behind that are not known yet.
  await Promise.allSettled(starting);
  const started = await Promise.all(starting);
  await makeNamespaces(addresses[0]?.address ?? "");
  return {
    database,
    addresses,
    preloaded,
    toDatabase,
    servers: started.filter(({ kind }) => kind === "server"),
    supervisors: started.filter(({ kind }) => kind === "supervisor"),
  };
}

/** The agents and the clients, each behind a recording proxy of its own. */
async function openCallers(opening: Opening, addresses: readonly ServerAddress[], url: string) {
  const { recorder, chance, stops, run, openMax } = opening;
  const misfortune: Misfortune = { lossShare: 0, replayShare: 0 };
  const toServers: { caller: string; server: string; proxy: FaultProxy }[] = [];
  const addressFor = async (caller: string): Promise<string> => {
    const upstreams = [];
    for (const { server, address } of addresses) {
      const proxy = await open(address, false, chance);
      stops.push(proxy.stop);
      toServers.push({ caller, server, proxy });
      upstreams.push({ server, address: proxy.address });
    }
    const canaries = NAMESPACES.map(canaryOf);
    const common = { recorder, canaries, misfortune, chance: chance.fork() };
    const proxy = await startRecordingProxy({ caller, upstreams, ...common });
    stops.push(proxy.stop);
    return proxy.address;
  };
  const agents: Managed[] = [];
  for (const [index, command] of opening.agents.entries()) {
    const name = `agent-${index + 1}-${command.language}`;
    const namespace = NAMESPACES[index % 2] ?? "default";
    const address = await addressFor(name);
    agents.push(await run(agentSpec({ name, command, namespace, address, url })));
  }
  const clients: Clients[] = [];
  for (const namespace of NAMESPACES) {
    const proxies = {
      clients: await addressFor(`clients-of-${namespace}`),
      people: await addressFor(`people-of-${namespace}`),
    };
    const common = { namespace, canary: canaryOf(namespace), openMax, chance: chance.fork() };
    const made = createClients({ ...common, addresses: proxies });
    stops.push(async () => made.stop());
    clients.push(made);
  }
  return { misfortune, toServers, agents, clients };
}

function names(kind: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${kind}-${index + 1}`);
}

let machineMs = 0;

/** By the clock of this machine; a step of it is no fault of this run. */
function machineNow(): number {
  machineMs = Math.max(machineMs, Date.now());
  return machineMs;
}

/** Knows each task that has gone to an agent, by its own key and its fence. */
function watchedRecorder(now: () => number) {
  const recorder = createRecorder(now);
  const tasks = new Map<string, TaskSeen>();
  const watched: Recorder = {
    ...recorder,
    answer(process, call, answer, canaries) {
      recorder.answer(process, call, answer, canaries);
      if (answer.kind === "polled" || answer.kind === "completed")
        for (const task of answer.tasks)
          tasks.set(`${task.idempotencyKey} ${task.token.fence}`, task);
    },
  };
  return {
    recorder: watched,
    taskOf: (key: string, fence: number) => tasks.get(`${key} ${fence}`),
  };
}

function open(target: string, isDatabase: boolean, chance: Chance): Promise<FaultProxy> {
  return startFaultProxy({ target, isDatabase, chance: chance.fork().fraction });
}

const NODE = ["--inspect=127.0.0.1:0", BINARY];

function serverSpec(name: string, address: string, env: Spec["env"]): Spec {
  return {
    name,
    kind: "server",
    command: process.execPath,
    args: [
      ...[...NODE, "server", "--address", address, "--supervisor", "none"],
      ...[...NO_CIRCUITS, "--log", "warn"],
    ],
    env,
    ready: /^server +127/m,
    expectedCodes: [],
  };
}

function supervisorSpec(name: string, env: Spec["env"]): Spec {
  return {
    name,
    kind: "supervisor",
    command: process.execPath,
    args: [...NODE, "supervisor", ...NO_CIRCUITS, "--log", "warn"],
    env,
    ready: /^supervisor +of/m,
    expectedCodes: [],
  };
}

interface AgentPlace {
  readonly name: string;
  readonly command: AgentCommand;
  readonly namespace: string;
  readonly address: string;
  readonly url: string;
}

function agentSpec({ name, command, namespace, address, url }: AgentPlace): Spec {
  return {
    name,
    kind: "agent",
    command: command.program,
    args: command.args,
    env: {
      ...command.env,
      DROVER_ADDRESS: address,
      DROVER_AGENT: name,
      DROVER_NAMESPACE: namespace,
      CHAOS_TASKS: TASKS.join(","),
      CHAOS_SERVICE: url,
    },
    ready: null,
    expectedCodes: [DIED],
  };
}

async function makeNamespaces(address: string): Promise<void> {
  const client = createClient({ address });
  try {
    for (const name of NAMESPACES) if (name !== "default") await client.namespaces.create(name);
    await until("the server answers", () => client.listRuns({}).then(() => true));
  } finally {
    client.close();
  }
}
