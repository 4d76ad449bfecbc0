// The store as one server process reaches it: over a connection that is slow and breaks, before and
// after the commit, with rows that others hold, and with notifications that get lost.
//
// A call that has started is carried out even if its process crashes; only its answer is then
// dropped. Transactions need theirs (store-transactions.ts).

import type { DueRange } from "../../server/store/due.ts";
import type { MemoryStore } from "../../server/store/memory/memory-store.ts";
import type { StoredRows } from "../../server/store/memory/rows.ts";
import type { PollQuery, PollQueryResult } from "../../server/store/poll-query.ts";
import { rolledBack } from "../../server/store/postgres/failure.ts";
import type { DueScan, EngineStore, TaskFacts } from "../../server/store/store.ts";
import type { VirtualProcess } from "../../simulator/virtual-process.ts";
import type { CircuitWatch } from "./circuit-watch.ts";
import { ALWAYS_FAILS, type Faults } from "./faults.ts";
import { type SimulatedLists, simulatedLists } from "./lists.ts";
import { faultyAgents, faultyPartitions } from "./store-sessions.ts";
import { away, transact } from "./store-transactions.ts";
import type { StoreWitness } from "./store-witness.ts";

/** To one shard. */
export interface StoreWire {
  readonly store: MemoryStore;
  readonly shard: number;
  readonly process: VirtualProcess;
  readonly faults: Faults;
  readonly witness: StoreWitness;
  /** Whether this process reaches the store now. */
  readonly isReachable: () => boolean;
  /** The process is suspended for a while. */
  readonly freeze: () => void;
  /** The same; it resumes once another process has taken over its partitions. */
  readonly freezeUntilRelieved: () => void;
  /** This process has taken over the partitions of these processes. */
  readonly relieve: (processes: readonly string[]) => void;
  /** Its server is asked to end. */
  readonly stop: () => void;
  readonly circuits: CircuitWatch;
  /** A defect of the server came to light. */
  readonly onDefect: (what: string) => void;
  /** How many partitions each region of the world has. */
  readonly partitions: number;
}

/** Published causes are spread over all partitions of the region, where the world has few. */
const PARTITIONS_OF_REGION = 256;

export function spread(partitions: readonly number[], of: number): readonly number[] {
  return partitions.flatMap((partition) =>
    Array.from({ length: PARTITIONS_OF_REGION / of }, (_, index) => partition + of * index),
  );
}

export function createFaultyStore(wire: StoreWire): EngineStore {
  const { store } = wire;
  const call = <T>(name: string, work: () => Promise<T>): Promise<T> => overWire(wire, name, work);
  const read = <T>(name: string, work: () => Promise<T>): Promise<T> =>
    overWire(wire, name, work, false);
  // While a transaction is open these are asked too, and it must not take time.
  const atOnce = <T>(work: () => Promise<T>): Promise<T> =>
    wire.isReachable() ? work() : Promise.reject(away());
  return Object.freeze({
    reads: faultyReads(store, read),
    partitions: faultyPartitions(wire, call),
    outbox: Object.freeze({
      ...store.outbox,
      due: (partitions, limit) =>
        call("due", () => store.outbox.due(spread(partitions, wire.partitions), limit)),
      settle: (tried) => call("settle", () => store.outbox.settle(tried)),
    } satisfies EngineStore["outbox"]),
    queues: faultyQueues(store, call),
    // No queue of what is simulated is pinned.
    pins: store.pins,
    schedules: faultySchedules(store, call, read),
    triggers: Object.freeze({
      ...store.triggers,
      ended: (partitions, limit) =>
        call("ended", () => store.triggers.ended(spread(partitions, wire.partitions), limit)),
      refuse: (refused) => call("refuse", () => store.triggers.refuse(refused)),
      settle: (settled) => call("settle ends", () => store.triggers.settle(settled)),
    } satisfies EngineStore["triggers"]),
    circuits: faultyCircuits(wire, call, read),
    namespaces: store.namespaces,
    ...faultyAgents(store, call),
    transact: (options, work) => transact(wire, options, work),
    namespace: (name) => atOnce(() => store.namespace(name)),
    createNamespace: (name) => call("createNamespace", () => store.createNamespace(name)),
    internDefinition: (...asked) =>
      call("internDefinition", async () => {
        const id = await store.internDefinition(...asked);
        wire.witness.defined(id, asked[1]);
        return id;
      }),
    definition: (id) => atOnce(() => store.definition(id)),
    registerWorkflow: (workflow) =>
      call("registerWorkflow", () => store.registerWorkflow(workflow)),
    setDefaultVersion: (...asked) =>
      call("setDefaultVersion", () => store.setDefaultVersion(...asked)),
    workflowVersion: (...asked) => atOnce(() => store.workflowVersion(...asked)),
    lanes: (keys) => atOnce(() => store.lanes(keys)),
    lanesOfQueues: (...asked) => atOnce(() => store.lanesOfQueues(...asked)),
    incarnation: () => store.incarnation(),
    onIncarnation: (listener) => store.onIncarnation(() => whileAlive(wire, listener)),
    ...faultyClaims(store, call),
    recordIntervention: (...of) =>
      afterFreeze(wire, () => call("intervention", () => store.recordIntervention(...of))),
    taskFacts: (tasks) => read("taskFacts", () => taskFacts(wire, tasks)),
    facts: (wanted) => read("facts", () => store.facts(wanted)),
    heartbeat: (heartbeats) =>
      call("heartbeat", async () => {
        const { answers, forgotten, foreign } = await store.heartbeat(heartbeats);
        wire.witness.heartbeatsAnswered(heartbeats, answers);
        const delivered = answers.map((of) =>
          of.map((answer) =>
            wire.faults.strikes("row held by another") ? ({ kind: "busy" } as const) : answer,
          ),
        );
        return { answers: delivered, forgotten, foreign };
      }),
    durations: {
      add: (seen) => call("durations", () => store.durations.add(seen)),
      learned: (ids) => read("durations", () => store.durations.learned(ids)),
    },
    undelivered: (...asked) => read("undelivered", () => store.undelivered(...asked)),
    forgetOld: (...asked) => call("forgetOld", () => store.forgetOld(...asked)),
    pollQuery: (asked) => read("pollQuery", () => pollQuery(wire, asked)),
    dueRows: (...asked) => call("dueRows", () => dueRows(wire, ...asked)),
    differingRuns: (...asked) => read("differingRuns", () => store.differingRuns(...asked)),
    overdue: (...asked) => read("overdue", () => store.overdue(...asked)),
    ready: () => read("ready", () => store.ready()),
    close: () => Promise.resolve(),
  } satisfies EngineStore);
}

/** A process asks this first on each new connection, so it knows at once. */
function whileAlive({ process }: StoreWire, notify: () => void): void {
  if (process.state() !== "dead") notify();
}

/** What is published outside is about partitions that runs of a simulation do not have. */
async function dueRows(
  { store, partitions: count }: StoreWire,
  partitions: readonly number[],
  ...asked: [limit: number, range?: DueRange]
): Promise<DueScan> {
  const [found, outside] = await Promise.all([
    store.dueRows(partitions, ...asked),
    store.outside(spread(partitions, count)),
  ]);
  return { ...found, outside };
}

/**
 * What lies before a watermark is gone for good: with it a server sees all that is ready without
 * it. A store that lost its tail gives numbers out again, and reports so with its answer.
 */
async function pollQuery(
  { store, faults, onDefect }: StoreWire,
  asked: PollQuery,
): Promise<PollQueryResult> {
  // Both at once: nothing comes between them.
  const [found, all] = await Promise.all([
    store.pollQuery(asked),
    store.pollQuery({ lanes: asked.lanes, runs: [], watermarks: [] }),
  ]);
  const passed = all.lanes.filter((lane) => !found.lanes.includes(lane));
  if (passed.length > 0 && !faults.counts.has("store lost its tail"))
    onDefect(`a mark passes over what is ready in the lanes ${passed.join(", ")}`);
  return found;
}

/** A statement by itself: it is its own transaction. */
function overWire<T>(
  wire: StoreWire,
  name: string,
  work: () => Promise<T>,
  writes = true,
): Promise<T> {
  const { process, faults } = wire;
  return new Promise((resolve, reject) => {
    const { fate, toMs, backMs } = faults.store({ process: process.name, name, writes });
    const settle = (fn: () => void): void => void process.post(backMs, fn);
    wire.witness.after(toMs, () => {
      const isLost = fate === "before-commit" || fate === "before-commit, known";
      if (!wire.isReachable() || isLost) {
        settle(() => reject(away()));
        return;
      }
      if (fate === "repeatable") {
        settle(() => reject(rolledBack(new Error("chosen as the victim of a deadlock"))));
        return;
      }
      work().then(
        (result) => settle(() => (fate === "fine" ? resolve(result) : reject(away()))),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  });
}

/** Sent once its process is up: by then another one may own its partitions. */
function afterFreeze<T>(wire: StoreWire, send: () => Promise<T>): Promise<T> {
  if (!wire.faults.strikes("server relieved at a write")) return send();
  wire.freezeUntilRelieved();
  return new Promise((resolve, reject) => {
    wire.process.post(0, () => send().then(resolve, reject));
  });
}

/** A batch that makes a task of the facts of a run whose tasks cannot be made fails. */
async function taskFacts(
  { store, faults }: StoreWire,
  tasks: Parameters<EngineStore["taskFacts"]>[0],
): Promise<readonly TaskFacts[]> {
  const all = await store.taskFacts(tasks);
  return all.map((facts) => {
    if (!faults.cannotBeMade(facts.runId)) return facts;
    return Object.defineProperty({ ...facts }, "changedInput", {
      get() {
        throw new Error(ALWAYS_FAILS);
      },
    });
  });
}

type Called = <T>(name: string, work: () => Promise<T>) => Promise<T>;

function faultyClaims(
  store: EngineStore,
  call: Called,
): Pick<EngineStore, "claimEscalation" | "releaseEscalation"> {
  return {
    claimEscalation: (claim) => call("claimEscalation", () => store.claimEscalation(claim)),
    releaseEscalation: (claim) => call("releaseEscalation", () => store.releaseEscalation(claim)),
  };
}

/** The lists that people read here, over the same connection as the rest. */
export function faultyLists(wire: StoreWire, rows: StoredRows): SimulatedLists {
  const lists = simulatedLists(rows);
  const read: Called = (name, work) => overWire(wire, name, work, false);
  return Object.freeze({
    runs: (...asked) => read("listRuns", () => lists.runs(...asked)),
    searchedTo: lists.searchedTo,
    escalations: (...asked) => read("listEscalations", () => lists.escalations(...asked)),
  } satisfies SimulatedLists);
}

function faultyReads(store: EngineStore, read: Called): EngineStore["reads"] {
  return Object.freeze({
    findRun: (...asked) => read("findRun", () => store.reads.findRun(...asked)),
    runDetail: (...asked) => read("runDetail", () => store.reads.runDetail(...asked)),
    runLiveness: (...asked) => read("runSigns", () => store.reads.runLiveness(...asked)),
    runItems: (...asked) => read("runItems", () => store.reads.runItems(...asked)),
    hosts: (sessions) => read("hosts", () => store.reads.hosts(sessions)),
    tracedRuns: (runs) => read("tracedRuns", () => store.reads.tracedRuns(runs)),
    changedInputs: (...asked) => read("changedInputs", () => store.reads.changedInputs(...asked)),
  } satisfies EngineStore["reads"]);
}

function faultyQueues(store: EngineStore, call: Called): EngineStore["queues"] {
  const { shares } = store.queues;
  return Object.freeze({
    shares: {
      read: () => call("readShares", () => shares.read()),
      begin: (queues) => call("beginAllotment", () => shares.begin(queues)),
      lower: (orders) => call("lowerShares", () => shares.lower(orders)),
      raise: (orders) => call("raiseShares", () => shares.raise(orders)),
    },
    pause: (...asked) => call("pauseQueue", () => store.queues.pause(...asked)),
    setLimits: (...asked) => call("limitQueue", () => store.queues.setLimits(...asked)),
    resume: (...asked) => call("resumeQueue", () => store.queues.resume(...asked)),
    pauseWorkflow: (...asked) => call("pauseWorkflow", () => store.queues.pauseWorkflow(...asked)),
    resumeWorkflow: (...asked) =>
      call("resumeWorkflow", () => store.queues.resumeWorkflow(...asked)),
  } satisfies EngineStore["queues"]);
}

function faultySchedules(store: EngineStore, call: Called, read: Called): EngineStore["schedules"] {
  return Object.freeze({
    find: (...asked) => read("findSchedule", () => store.schedules.find(...asked)),
    byId: (...asked) => read("schedulesById", () => store.schedules.byId(...asked)),
    lastOccurrences: (...asked) =>
      read("lastFires", () => store.schedules.lastOccurrences(...asked)),
    delete: (...asked) => call("deleteSchedule", () => store.schedules.delete(...asked)),
  } satisfies EngineStore["schedules"]);
}

function faultyCircuits(
  { store: { circuits }, circuits: watch, faults, process, witness }: StoreWire,
  call: Called,
  read: Called,
): EngineStore["circuits"] {
  return Object.freeze({
    count: (ends) => call("countEnds", () => circuits.count(ends)),
    async snapshot(windowMs) {
      const snapshot = await read("circuitSnapshot", () => circuits.snapshot(windowMs));
      watch.learned(snapshot);
      return snapshot;
    },
    async learn(sign) {
      const snapshot = await read("circuitSnapshot", () => circuits.learn(sign));
      watch.learned(snapshot);
      return snapshot;
    },
    evidence: (...asked) => read("circuitEvidence", () => circuits.evidence(...asked)),
    change: (changes, actor) =>
      call("changeCircuits", async () => {
        const made = await circuits.change(changes, actor);
        for (const { lane, agentId } of made) {
          faults.count("circuit moved");
          const moved = changes.find((one) => one.lane === lane && one.agentId === agentId);
          if (moved) witness.circuit(process.name, moved);
        }
        return made;
      }),
    record: (...asked) => call("recordCircuits", () => circuits.record(...asked)),
    setOverride: (...asked) => call("setCircuit", () => circuits.setOverride(...asked)),
    cordon: (cordon) => call("cordon", () => circuits.cordon(cordon)),
    uncordon: (of) => call("uncordon", () => circuits.uncordon(of)),
  } satisfies EngineStore["circuits"]);
}
