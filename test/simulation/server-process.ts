// A server of the simulation: the real control plane and the real handlers, in a process that may
// crash, pause and start again. A crash loses its memory.
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { pino } from "pino";
import { createDrain } from "../../server/api/calls/drain.ts";
import { createFailOvers } from "../../server/api/calls/fail-overs.ts";
import { createMount, type Mounted } from "../../server/api/calls/mount.ts";
import { createNamespaces } from "../../server/api/calls/namespace-names.ts";
import { createRequestCheck, type RequestCheck } from "../../server/api/calls/request-check.ts";
import { engineMethods } from "../../server/api/drover-methods.ts";
import { listEscalations } from "../../server/api/operator/escalation-calls.ts";
import { listRuns } from "../../server/api/run/run-list.ts";
import { createRunLookup } from "../../server/api/run/run-lookup.ts";
import { createTriggerActions } from "../../server/api/trigger/trigger-actions.ts";
import { createTriggerRoute } from "../../server/api/trigger/trigger-route.ts";
import { SUPERVISOR_DEFAULTS } from "../../server/config.ts";
import { createControlPlane } from "../../server/control-plane.ts";
import type { CircuitSettings } from "../../server/core/model/circuit.ts";
import { checkDefinition } from "../../server/expressions/definition-expressions.ts";
import { RPC_DEFAULTS } from "../../server/rpc-config.ts";
import type { MemoryStore } from "../../server/store/memory/memory-store.ts";
import { regionOf } from "../../server/store/partition.ts";
import { isRetryable } from "../../server/store/postgres/failure.ts";
import type { Shards } from "../../server/store/shards.ts";
import type { Supervision } from "../../server/supervisor/ownership.ts";
import type { Post } from "../../server/supervisor/webhook-deliveries.ts";
import type { Chance } from "../../simulator/chance.ts";
import { createVirtualProcess, type VirtualProcess } from "../../simulator/virtual-process.ts";
import type { VirtualTime } from "../../simulator/virtual-time.ts";
import type { Strikes } from "./chaos.ts";
import { watchCircuits } from "./circuit-watch.ts";
import { ALWAYS_FAILS, type Faults } from "./faults.ts";
import { callOf, type HttpCall, type HttpHandler, type HttpReply } from "./http-call.ts";
import { type SimulatedStore, together } from "./simulated-store.ts";
import { createFaultyStore, faultyLists, type StoreWire } from "./store-faults.ts";
import type { StoreWitness } from "./store-witness.ts";

/** A seed lasts half a minute and runs a workflow a few times: slow attempts are to be met. */
const QUICK_TO_LEARN = {
  ...SUPERVISOR_DEFAULTS,
  slowFactor: 1,
  slowSamples: 2,
  slowMs: 50,
  learnEveryMs: 2_000,
};

export interface ServerProcess {
  readonly name: string;
  /** The present incarnation; null while it is down. */
  process(): VirtualProcess | null;
  method(name: string): Mounted;
  /** A call over HTTP. */
  post(message: HttpCall): Promise<HttpReply>;
  cutOff: boolean;
  start(): void;
  crash(): void;
  /** As at SIGTERM: drains, hands over and ends. Resolves then; never, if it crashes meanwhile. */
  stop(): Promise<void>;
}

export interface ServerDeps {
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly store: SimulatedStore;
  readonly faults: Faults;
  readonly witness: StoreWitness;
  readonly partitions: readonly number[];
  /** Left out: it watches all. */
  readonly supervision?: Supervision | undefined;
  /** When circuits open by themselves; left out: hardly ever. */
  readonly circuits?: CircuitSettings | undefined;
  /** Calls and events that may wait for the store; left out: as many as in earnest. */
  readonly waitingMax?: number | undefined;
  /** By the number of a shard. */
  readonly isStoreUp: (shard: number) => boolean;
  /** Left out: no fault strikes it in the middle of an action. */
  readonly strikes?: Strikes | undefined;
  /** How a process sends webhooks. */
  readonly postOf: (process: VirtualProcess) => Post;
  /** Whether requests go through the rules of the contract. */
  readonly isChecked: boolean;
  /** A defect of the server came to light. */
  readonly onDefect: (what: string) => void;
}

/** Its rules are compiled once, for all servers of all seeds; it retains nothing of a request. */
const checking = createRequestCheck(RPC_DEFAULTS);
/** The rules take a third of the time, and all that is sent here obeys them. */
const trusting: RequestCheck = Object.freeze({ ...checking, check: () => new Map() });

export function createServerProcess(name: string, deps: ServerDeps): ServerProcess {
  let process: VirtualProcess | null = null;
  let booted: Booted = { methods: new Map(), hooks: () => false, stop: async () => undefined };
  const server: ServerProcess = {
    name,
    cutOff: false,
    process: () => process,
    method(wanted) {
      const found = booted.methods.get(wanted);
      if (!found) throw new Error(`no method ${wanted} is mounted`);
      return found;
    },
    post: (message) => callOf(booted.hooks, message),
    start() {
      if (process) return;
      const created = createVirtualProcess(name, deps.time, deps.chance.fork());
      process = created;
      booted = boot(created, deps, (shard) => !server.cutOff && deps.isStoreUp(shard));
    },
    crash() {
      process?.crash();
      process = null;
    },
    async stop() {
      const ending = process;
      await booted.stop();
      if (process === ending) server.crash();
    },
  };
  return server;
}

interface Booted {
  readonly methods: ReadonlyMap<string, Mounted>;
  readonly hooks: HttpHandler;
  readonly stop: () => Promise<void>;
}

/** The connections of a process to the shards of the store. */
function wiresOf(
  process: VirtualProcess,
  deps: ServerDeps,
  isReachable: (shard: number) => boolean,
): Shards<StoreWire> {
  const { faults, witness, strikes, onDefect } = deps;
  const circuits = watchCircuits({ clock: process.clock, faults, onDefect });
  return deps.store.shards.map(
    (store, shard): StoreWire => ({
      store,
      shard,
      process,
      faults,
      witness,
      isReachable: () => isReachable(shard),
      partitions: deps.partitions.filter((one) => regionOf(one) === 0).length,
      freeze: () => strikes?.freeze(process),
      freezeUntilRelieved: () => strikes?.freezeUntilRelieved(process),
      relieve: (processes) => strikes?.relieve(processes),
      stop: () => strikes?.stop(process.name),
      circuits,
      onDefect,
    }),
  );
}

function boot(
  process: VirtualProcess,
  deps: ServerDeps,
  isReachable: (shard: number) => boolean,
): Booted {
  const { clock, chance } = process;
  const { onDefect } = deps;
  const check = deps.isChecked ? checking : trusting;
  const wires = wiresOf(process, deps, isReachable);
  const shards = wires.map(createFaultyStore);
  const lists = faultyLists(wires.home, deps.store.rows);
  const store = { ...together(shards, deps.partitions), lists };
  const plane = createControlPlane({
    store,
    shards,
    clock,
    random: chance,
    log: planeLog(store, onDefect),
    address: process.name,
    isRetryable,
    post: deps.postOf(process),
    partitions: deps.partitions,
    ...(deps.supervision && { supervision: deps.supervision }),
    ...(deps.circuits && { circuits: deps.circuits }),
    settings: QUICK_TO_LEARN,
    waitingMax: deps.waitingMax,
  });
  const { scheduler, dispatcher } = plane;
  const drain = createDrain();
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error(fields: object, text: string) {
      const err = "err" in fields ? stackOf(fields.err) : "";
      if (!err.includes(ALWAYS_FAILS)) onDefect(`${text}: ${err}`);
    },
  };
  const failOvers = createFailOvers(store);
  const mount = createMount({ check, drain, log, clock, ...RPC_DEFAULTS, failOvers });
  const common = { scheduler, dispatcher, store, namespaces: createNamespaces(store) };
  const { triggers } = plane;
  const shared = { ...common, logs: plane.logs, drain, clock, log, check, triggers };
  const service = { ...shared, random: chance, definitionCheck: checkDefinition };
  const runs = createRunLookup(store, common.namespaces);
  const actions = createTriggerActions({ ...shared, runs });
  const hooks = { ...shared, failOvers, actions, config: RPC_DEFAULTS };
  const mounted = [
    ...engineMethods(service, mount),
    ...mount.some(SchedulerService, { listRuns: (request) => listRuns(shared, request) }),
    ...mount.some(OperatorService, {
      listEscalations: (request) => listEscalations(common, request),
    }),
  ];
  plane.start().catch((error: unknown) => onDefect(`start: ${stackOf(error)}`));
  return {
    methods: new Map(mounted.map((one) => [one.method.name, one])),
    hooks: createTriggerRoute(hooks).handle,
    // In the order of main.ts: the port drains, then the control plane stops.
    async stop() {
      drain.begin();
      await Promise.race([drain.idle(), clock.sleep(RPC_DEFAULTS.drainMs)]);
      await plane.stop().catch((error: unknown) => onDefect(`stop: ${stackOf(error)}`));
    },
  };
}

/** An event of its timer scan, which no caller would repeat. */
const SCAN_REFUSED = /"timers\.event-failed".*calls wait for the store/;

/**
 * A warning of the control plane is a defect, unless the store was away, a run had to fail, or a
 * fail-over has lost what the server knew.
 */
function planeLog(store: Pick<MemoryStore, "onIncarnation">, onDefect: (what: string) => void) {
  let hasFailedOver = false;
  store.onIncarnation(() => {
    hasFailedOver = true;
  });
  return pino(
    { level: "warn", base: null, timestamp: false },
    {
      write(line: string) {
        if (SCAN_REFUSED.test(line)) onDefect(`refused itself: ${line.trim()}`);
        else if (
          !line.includes(ALWAYS_FAILS) &&
          !(hasFailedOver && line.includes("there is no definition")) &&
          !/STORE_UNAVAILABLE|does not answer|connection to the database was lost|another transaction|calls wait for the store|has failed over since|join under a new id|partitions\.|circuit\.moved/.test(
            line,
          )
        )
          onDefect(`warned: ${line.trim()}`);
      },
    },
  );
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
