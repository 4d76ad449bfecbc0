// A world by script: real servers on the virtual clock, and one exact interleaving played on it.
//
//   play(script): servers start and distribute their partitions; then the script acts, step by
//   step; once it is over, every run must end or wait, and the checker evaluates the history
//
// There is one partition, so exactly one server watches all runs. Whatever a script does not break
// works, and takes a millisecond.
import { expect } from "vitest";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { Step } from "../../../server/core/model/model.ts";
import { createChance } from "../../../simulator/chance.ts";
import type { VirtualProcess } from "../../../simulator/virtual-process.ts";
import { createVirtualTime } from "../../../simulator/virtual-time.ts";
import { workflow } from "../../support/core-world.ts";
import { startAgent } from "../agent.ts";
import { checkHistory } from "../checker/check-history.ts";
import { createDatabaseClock, jumpClock } from "../database-clock.ts";
import { createEdges } from "../edges.ts";
import { atRest, finalRows } from "../final-rows.ts";
import { createNetwork } from "../network.ts";
import { putHooks } from "../receivers.ts";
import { createRecorder } from "../recorder.ts";
import { createRemote } from "../remote.ts";
import { createServerProcess, type ServerProcess } from "../server-process.ts";
import { createSimulatedStore, type SimulatedStore } from "../simulated-store.ts";
import { spread } from "../store-faults.ts";
import { createStoreWitness, type StoreWitness } from "../store-witness.ts";
import { unhandledRejections } from "../unhandled-rejections.ts";
import type { World } from "../world.ts";
import { type AgentOptions, createScriptedAgent, type ScriptedAgent } from "./scripted-agent.ts";
import {
  createScriptedClient,
  type ScheduleOptions,
  type ScriptedClient,
  type ScriptedTarget,
} from "./scripted-client.ts";
import { createScriptedFaults, type ScriptedFaults } from "./scripted-faults.ts";
import { createScriptedPeople, type ScriptedPeople } from "./scripted-people.ts";

export interface Stage {
  readonly servers: readonly ServerProcess[];
  readonly faults: ScriptedFaults;
  readonly remote: World["remote"];
  readonly client: ScriptedClient;
  readonly people: ScriptedPeople;
  /** Milliseconds since the begin of the script. */
  now(): number;
  /** Resolves so long after the begin of the script. */
  at(ms: number): Promise<void>;
  pass(ms: number): Promise<void>;
  /** The time in so many milliseconds, by the database's clock. */
  startsIn(ms: number): number;
  /** The server that watches all runs, and one that does not. */
  watching(): ServerProcess;
  other(): ServerProcess;
  agent(name: string, options?: AgentOptions): ScriptedAgent;
  /** An agent that works by itself and succeeds with every task. */
  worker(name: string, tasks?: readonly string[]): void;
  /** The id of a run that was acknowledged. */
  schedule(target: ScriptedTarget, options?: ScheduleOptions): Promise<string>;
  inspect(runId: string): Promise<RunSummary>;
  crash(server: ServerProcess): void;
  start(server: ServerProcess): void;
  /** As at SIGTERM. */
  stop(server: ServerProcess): Promise<void>;
  freeze(process: VirtualProcess | ServerProcess): void;
  resumes(process: VirtualProcess | ServerProcess): void;
  storeAway(isAway: boolean): void;
  jumpClock(byMs: number): void;
}

/** What the rows hold of a run, in short. */
export interface RunSummary {
  /** "COMPLETED DONE" */
  readonly run: string;
  /** By the id of the step: "SUCCEEDED", with its undo where it has one: "SUCCEEDED, undo DONE". */
  readonly steps: Readonly<Record<string, string>>;
  /** In the order in which they ended: "a perform 2/1 success", fence before attempt. */
  readonly attempts: readonly string[];
  /** "lease a" or "deadline". */
  readonly interventions: readonly string[];
  /** Questions that are open: "poison a". */
  readonly questions: readonly string[];
}

export interface PlayOptions {
  /** Default 2. */
  readonly servers?: number;
  /** How long the receiver of a webhook takes to answer, in ms; left out: none are received. */
  readonly webhookMs?: number;
}

export const HEARTBEAT_MS = 3_000;

const START_MS = 1_700_000_000_000;
const NAMESPACES = ["default"];
/** Until every server has joined and the partition is where it belongs. */
const SETTLING_MS = 3_000;
const SCRIPT_MS_MAX = 3_600_000;
const REST_MS_MAX = 120_000;

export async function play(
  script: (stage: Stage) => Promise<void>,
  { servers: count = 2, webhookMs }: PlayOptions = {},
): Promise<void> {
  const time = createVirtualTime(START_MS);
  const databaseClock = createDatabaseClock(time);
  const store = createSimulatedStore({ now: databaseClock.now, elapsedMs: time.now }, [0]);
  const recorder = createRecorder(databaseClock.now);
  const faults = createScriptedFaults(recorder);
  const edges = createEdges();
  const witness = createStoreWitness(time, recorder, edges);
  const chance = createChance(1, 0);
  const defects: string[] = [];
  if (webhookMs !== undefined) await putHooks(store, NAMESPACES);
  let isStoreUp = true;
  const servers = Array.from({ length: count }, (_, index) =>
    createServerProcess(`server-${index + 1}`, {
      time,
      store,
      faults,
      witness,
      partitions: [0],
      isChecked: true,
      chance: chance.fork(),
      isStoreUp: () => isStoreUp,
      postOf: (process) => async () => {
        await process.clock.sleep(webhookMs ?? 0);
        return { kind: "failed", why: "it has not understood" };
      },
      onDefect: (what) => defects.push(what),
    }),
  );
  const canaries = [{ namespace: "default", word: "canary" }];
  const world = {
    time,
    databaseClock,
    chance,
    faults,
    recorder,
    servers,
    canaries,
    network: createNetwork(time, faults),
    remote: createRemote(recorder),
    callbacks: new Map(),
    silentRuns: [],
    silentUndos: [],
  } satisfies World;
  const stage = stageOf(world, store, witness, (up) => {
    isStoreUp = up;
  });

  for (const server of servers) server.start();
  await time.run(START_MS + SETTLING_MS, () => false);
  await played(world, () => script(stage));
  const rest = await untilAtRest(world, store);
  defects.push(...(await unhandledRejections()));
  const ending = {
    namespaces: NAMESPACES,
    at: databaseClock.now(),
    drained: rest === "",
    deliveriesMade: new Set<string>(),
    triggers: [],
  };
  const dueTimes = new Map<string, number>();
  // Makes deliveries of outbox rows that no server has read yet.
  await store.shards.home.outbox.due(spread([0], 1), 0);
  const { rows, broken } = await finalRows(store, witness, ending, dueTimes);
  const meta = { source: "simulation", seed: null, canaries } as const;
  const violations = checkHistory({ meta, records: recorder.records, final: rows });
  const { strange } = edges;
  expect({ unused: faults.unused(), rest, defects, broken, strange, violations }).toEqual({
    unused: [],
    rest: "",
    defects: [],
    broken: [],
    strange: [],
    violations: [],
  });
}

/** Lets time pass until the script is over. */
async function played({ time }: World, script: () => Promise<void>): Promise<void> {
  let over = false;
  const playing = script().finally(() => {
    over = true;
  });
  // A script that fails is reported below; it must not end the process meanwhile.
  playing.catch(() => undefined);
  await time.run(time.now() + SCRIPT_MS_MAX, () => over);
  if (!over) throw new Error(`the script still waits after ${SCRIPT_MS_MAX} ms`);
  await playing;
}

/** A workflow with short times: silence of 3 s ends a lease. */
export function flow(
  steps: Parameters<typeof workflow>[0],
  more: { readonly timeoutMs?: number } = {},
): Definition {
  const timeouts = { heartbeatMs: HEARTBEAT_MS, settleMs: 1_000, cancelMs: 1_000 };
  const retry = [{ attempts: 3, initialMs: 500, jitter: 0 }];
  const quick = Object.entries(steps).map(([id, step]) => {
    const isTask = step.kind === undefined || step.kind === "task";
    const short = { retry, ...step, timeouts: { ...timeouts, ...step.timeouts } };
    return [id, isTask ? short : step] as const;
  });
  return workflow(Object.fromEntries(quick), { timeoutMs: 300_000, ...more });
}

/** "", or what has neither ended nor is with a person. */
async function untilAtRest({ time }: World, store: SimulatedStore): Promise<string> {
  const untilMs = time.now() + REST_MS_MAX;
  for (;;) {
    const { unsettled } = await atRest(store, NAMESPACES, []);
    if (unsettled.length === 0 || time.now() >= untilMs) return unsettled.join(", ");
    await time.run(time.now() + 1_000, () => false);
  }
}

function stageOf(
  world: World & { readonly faults: ScriptedFaults },
  store: SimulatedStore,
  witness: StoreWitness,
  setStoreUp: (up: boolean) => void,
): Stage {
  const { time, faults, recorder, remote, servers } = world;
  const startedAtMs = time.now() + SETTLING_MS;
  const client = createScriptedClient(world, "client");
  const wait = (ms: number): Promise<void> => new Promise((go) => void time.after(ms, go));
  const isServer = (name: string): boolean => servers.some((server) => server.name === name);
  const record = (did: "crash" | "start" | "pause" | "resume" | "stop" | "exit", name: string) =>
    recorder.fault({ kind: "process", did }, name, isServer(name));
  const watchers = (): readonly string[] => {
    const nodes = new Set([...witness.owners.values()].map(({ node }) => node));
    return recorder.records.flatMap((one) =>
      one.kind === "owner" && nodes.has(one.node) ? [one.process] : [],
    );
  };
  const server = (isWatching: boolean): ServerProcess => {
    const names = watchers();
    const found = servers.find(({ name }) => names.includes(name) === isWatching);
    if (!found) throw new Error(isWatching ? "no server watches" : "there is no other server");
    return found;
  };

  return Object.freeze({
    servers,
    faults,
    remote,
    client,
    people: createScriptedPeople(client.send),
    now: () => time.now() - startedAtMs,
    at: (ms: number) => wait(Math.max(0, startedAtMs + ms - time.now())),
    pass: wait,
    startsIn: (ms: number) => world.databaseClock.now() + ms,
    watching: () => server(true),
    other: () => server(false),
    agent: (name: string, options?: AgentOptions) => createScriptedAgent(world, name, options),
    worker(name: string, tasks: readonly string[] = []) {
      startAgent(world, {
        id: name,
        namespace: "default",
        queues: ["default"],
        tasks,
        tasksMax: 3,
      });
    },
    async schedule(target: ScriptedTarget, options?: ScheduleOptions) {
      const answer = await client.schedule(target, options);
      if (answer.kind === "scheduled") return answer.runId;
      throw new Error(`the run was not scheduled: ${JSON.stringify(answer)}`);
    },
    inspect: (runId: string) => summaryOf(store, witness, runId),
    crash(which: ServerProcess) {
      record("crash", which.name);
      which.crash();
    },
    start(which: ServerProcess) {
      record("start", which.name);
      which.start();
    },
    async stop(which: ServerProcess) {
      record("stop", which.name);
      await which.stop();
      record("exit", which.name);
    },
    freeze(which: VirtualProcess | ServerProcess) {
      record("pause", which.name);
      processOf(which)?.pause();
    },
    resumes(which: VirtualProcess | ServerProcess) {
      record("resume", which.name);
      processOf(which)?.resume();
    },
    storeAway(isAway: boolean) {
      recorder.fault({ kind: "store", did: isAway ? "down" : "up" }, "store", false);
      setStoreUp(!isAway);
    },
    jumpClock: (byMs: number) => jumpClock(world.databaseClock, recorder, byMs),
  } satisfies Stage);
}

function processOf(which: VirtualProcess | ServerProcess): VirtualProcess | null {
  return "process" in which ? which.process() : which;
}

async function summaryOf(
  store: SimulatedStore,
  witness: StoreWitness,
  runId: string,
): Promise<RunSummary> {
  const all = { attempts: true, interventions: true, escalations: true };
  const detail = await store.reads.runDetail(runId, all);
  if (!detail) throw new Error(`there is no run ${runId}`);
  const { run, attempts, interventions, escalations } = detail;
  const definition = witness.definitions.get(run.definitionId);
  if (!definition) throw new Error(`definition ${run.definitionId} was never seen`);
  const idOf = (no: number): string => definition.steps[no]?.id ?? String(no);
  return {
    run: run.reason === null ? run.state : `${run.state} ${run.reason}`,
    steps: stepsOf(definition, detail.steps),
    attempts: attempts.map(({ step, kind, fence, attempt, outcome }) =>
      [idOf(step), kind, `${fence}/${attempt}`, "code" in outcome ? outcome.code : outcome.kind]
        .filter((word) => word !== "")
        .join(" "),
    ),
    interventions: interventions.map(({ step, rule }) =>
      step === null ? rule : `${rule} ${idOf(step)}`,
    ),
    questions: escalations.flatMap(({ step, reason, closedAt }) =>
      closedAt === null ? [`${reason} ${idOf(step)}`] : [],
    ),
  };
}

function stepsOf(definition: Definition, steps: ReadonlyMap<number, Step>): RunSummary["steps"] {
  const states = definition.steps.map(({ id }, no) => {
    const step = steps.get(no);
    const forward = step?.forward.kind ?? "BLOCKED";
    const undo = step?.undo.kind ?? "NONE";
    return [id, undo === "NONE" ? forward : `${forward}, undo ${undo}`] as const;
  });
  return Object.fromEntries(states);
}
