// A server of the edge alone, on a real port, in front of scripted twins of scheduler, dispatch and
// store. What is not scripted is stored in memory, or where a test asks for it in a database:
// lists, tokens and what operators read are there alone. Clients for both transports are in
// rpc-clients.ts.

import { randomBytes } from "node:crypto";
import { pino } from "pino";
import type { Log } from "../../../server/api/calls/mount.ts";
import { createRpcServer, type RpcServer, type RpcServerDeps } from "../../../server/api/server.ts";
import type { Refusal } from "../../../server/api/transport/connection-guard.ts";
import type { TransportLimits } from "../../../server/api/transport/limits.ts";
import { type Clock, systemClock, systemRandom } from "../../../server/clock.ts";
import { HEALTH_DEFAULTS } from "../../../server/config.ts";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { RunState } from "../../../server/core/model/model.ts";
import type { Dispatcher, HandedTask } from "../../../server/dispatch/dispatcher.ts";
import { NO_LOGS } from "../../../server/dispatch/log-appends.ts";
import {
  formatCallbackToken,
  formatTaskToken,
  type TaskToken,
} from "../../../server/dispatch/token.ts";
import { evaluatorOf } from "../../../server/expressions/evaluator.ts";
import { createMappings } from "../../../server/integrations/triggers/mappings.ts";
import { RPC_DEFAULTS, type RpcConfig } from "../../../server/rpc-config.ts";
import {
  createScheduleControl,
  type ScheduleControl,
} from "../../../server/scheduler/cron/schedule-control.ts";
import type { OccurrenceOptions } from "../../../server/scheduler/cron/start-occurrences.ts";
import { createPlaceOfKey } from "../../../server/scheduler/run-id.ts";
import type { Scheduler } from "../../../server/scheduler/scheduler.ts";
import type { Lists } from "../../../server/store/lists.ts";
import { createMemoryStore } from "../../../server/store/memory/memory-store.ts";
import { createPlans } from "../../../server/store/plans.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Reads, RunDetail, RunRecord } from "../../../server/store/reads.ts";
import { shardsOf } from "../../../server/store/shards.ts";
import type { EngineStore, Store } from "../../../server/store/store.ts";
import { NO_TYPICAL_DURATIONS } from "../../support/no-typical-durations.ts";

export const RUN_ID = "0198c0de-0000-7000-8000-00000000002a";
export const SECRET = "ab".repeat(16);
export const SESSION = new Uint8Array(16).fill(7);
export const AGENT = { id: "agent-1", session: SESSION, version: "1.0" };

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export interface World {
  readonly scheduler: Mutable<Scheduler>;
  readonly dispatcher: Mutable<Dispatcher>;
  readonly reads: Mutable<Reads>;
  readonly lists: Mutable<Lists>;
  readonly store: Mutable<RpcServerDeps["store"]>;
  /** What the servers of the namespace have published of agents. */
  readonly markAgents: EngineStore["markAgents"];
  readonly logged: string[];
  /** Why the transport has refused or cut something. */
  readonly refused: Refusal[];
  readonly server: RpcServer;
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly config?: Partial<RpcConfig>;
  readonly clock?: Clock;
  readonly overdueMs?: number;
  readonly transportLimits?: Partial<TransportLimits>;
  /** The folder of a dashboard; left out: none is served. */
  readonly dashboard?: string;
  /** Left out: memory, and no test asks for what only a database stores. */
  readonly stored?: StoredNamespace;
}

export const DEFINITION: Definition = {
  workflow: "holiday",
  steps: [
    { id: "flight", needs: [], task: "book-flight" },
    { id: "hotel", needs: ["flight"], task: "book-hotel", queue: "slow" },
  ],
};

export function runRecord(over: Partial<RunRecord> = {}): RunRecord {
  return {
    runId: RUN_ID,
    namespaceId: 1,
    key: "trip-1",
    workflow: "holiday",
    version: 3,
    definitionId: 9,
    state: "RUNNING",
    reason: null,
    cancelNote: null,
    stateVersion: 1,
    priority: 5,
    labels: { team: "blue" },
    input: { kind: "json", json: '{"to":"Rome"}' },
    createdAt: 1_700_000_000_000,
    endedAt: null,
    deadlineAt: 1_700_000_600_000,
    startAt: null,
    concurrency: null,
    warnings: 0,
    failure: null,
    undone: 0,
    substates: { waits: {}, isWorking: false, waitsForAgent: false },
    rerunOf: null,
    parent: null,
    ...over,
  };
}

export function runDetail(over: Partial<RunDetail> = {}): RunDetail {
  const run = over.run ?? runRecord();
  return {
    run,
    state: stateOf(run),
    pivoted: false,
    steps: new Map(),
    attempts: [],
    interventions: [],
    escalations: [],
    signals: [],
    decisions: [],
    reused: new Map(),
    totals: { attempts: over.attempts?.length ?? 0, interventions: 0 },
    ...over,
  };
}

/** A state that fits the record; of an ESCALATED run, that it was RUNNING. */
function stateOf({ state, reason }: RunRecord): RunState {
  const stopReason = { reason: "STEP_FAILED", undo: true } as const;
  switch (state) {
    case "PENDING":
      return { kind: state, on: "start", until: 1_700_000_060_000 };
    case "RUNNING":
      return { kind: state, deadline: null };
    case "PAUSED":
      return {
        kind: state,
        leftMs: null,
        since: 0,
        stopReason: reason === null ? null : stopReason,
      };
    case "STOPPING":
      return { kind: state, stopReason, settleUntil: null };
    case "COMPENSATING":
      return { kind: state, stopReason };
    case "FINISHING":
      return { kind: state, end: { kind: "COMPLETED", reason: "DONE" } };
    case "ESCALATED":
      return { kind: state, from: { kind: "RUNNING", leftMs: null, since: 0 } };
    default:
      return { kind: state, reason: reason ?? "DONE" };
  }
}

export function handedTask(over: Partial<HandedTask> = {}): HandedTask {
  return {
    token: token(),
    callbackToken: "callback",
    runId: RUN_ID,
    stepId: "flight",
    item: null,
    attempt: 1,
    workflow: "holiday",
    version: 3,
    kind: "perform",
    task: "book-flight",
    queue: "default",
    input: { kind: "json", json: "1" },
    lastDetails: null,
    output: null,
    idempotencyKey: "key-1",
    effectKey: "",
    fence: 1,
    leaseMs: 30_000,
    attemptMs: 900_000,
    heartbeatIntervalMs: 10_000,
    labels: { team: "blue" },
    trace: null,
    storesLogs: true,
    ...over,
  };
}

const TOKEN: TaskToken = {
  namespace: "default",
  runId: RUN_ID,
  step: 0,
  task: "perform",
  fence: 1,
  secret: SECRET,
};

export function token(over: Partial<TaskToken> = {}): string {
  return formatTaskToken({ ...TOKEN, ...over });
}

export function callbackToken(over: Partial<TaskToken> = {}): string {
  return formatCallbackToken({ ...TOKEN, ...over });
}

function schedulerStub(
  { namespaceId, store: { queues, pins, circuits, lanes } }: StoredNamespace,
  schedules: ScheduleControl,
): Mutable<Scheduler> {
  return {
    ...schedules,
    registerWorkflow: async () => ({ version: 3, created: true }),
    learnedDurations: async () => [],
    setDefaultVersion: async (_namespace, name, version) =>
      name === "holiday" && version <= 3 ? 2 : null,
    schedule: async () => ({ runId: RUN_ID, created: true }),
    scheduleBatch: async (requests) =>
      requests.map(() => ({ kind: "scheduled", runId: RUN_ID, created: true })),
    openBulk: async ({ counted }) => ({ until: counted.now, repeated: false }),
    rerunRefusal: async () => null,
    stepInput: async () => null,
    rerun: async () => ({ runId: RUN_ID, created: true }),
    command: async () => ({ kind: "done" }),
    runChange: (_run, _version, signal) => aborted(signal),
    pauseQueue: queues.pause,
    pauseWorkflow: async ({ namespaceId, workflow }, reason) =>
      workflow === "holiday" ? queues.pause({ namespaceId, queue: workflow }, reason) : null,
    resumeWorkflow: async () => {},
    limitNamespace: async () => {},
    setNamespaceLogs: async () => {},
    limitQueue: async (...asked) => void (await queues.setLimits(...asked)),
    pinQueue: async (...asked) => (await pins.pin(...asked)) !== null,
    unpinQueue: async (of) => void (await pins.unpin(of)),
    resumeQueue: async (of) => void (await queues.resume(of)),
    setCircuit: async ({ queue, task }, agentId, setting) => {
      const [lane = 0] = await lanes([{ namespaceId, queue, task }]);
      return {
        ...(await circuits.setOverride({ lane, agentId }, setting)),
        queue,
        task,
        agentVersion: null,
      };
    },
    cordonAgent: circuits.cordon,
    uncordonAgent: circuits.uncordon,
  };
}

/** Where a world stores what is not scripted: in a namespace that it calls "default". */
export interface StoredNamespace {
  readonly store: Store;
  readonly namespaceId: number;
}

/** A namespace without hooks, webhooks, queues and schedules. */
export async function inNewNamespace(store: Store): Promise<StoredNamespace> {
  const { id: namespaceId } = await store.createNamespace(`ns-${randomBytes(6).toString("hex")}`);
  return { store, namespaceId };
}

/** No server listens there: whatever is asked of it fails. */
function withoutDatabase(): StoredNamespace {
  const nowhere = createPostgresStore({
    connectionString: "postgres://127.0.0.1:1/none",
    log: pino({ level: "silent" }),
  });
  const memory = createMemoryStore({ now: () => Date.UTC(2026, 0, 1) });
  return { store: { ...nowhere, ...memory }, namespaceId: 1 };
}

async function register({ store, namespaceId }: StoredNamespace): Promise<void> {
  const definitionId = await store.internDefinition(namespaceId, DEFINITION);
  const name = DEFINITION.workflow;
  await store.registerWorkflow({ namespaceId, name, definitionId, keepDefault: false });
}

function scheduleControl(store: EngineStore, clock: Clock): ScheduleControl {
  const options: OccurrenceOptions = {
    store,
    clock,
    random: systemRandom,
    plans: createPlans(store, evaluatorOf),
    handOver: { claim: async () => null, started: () => undefined, ended: () => undefined },
    publish: () => undefined,
    announce: () => undefined,
    typical: NO_TYPICAL_DURATIONS,
    placeOfKey: createPlaceOfKey(),
    isRetryable: () => false,
    onError: (error) => {
      throw error;
    },
  };
  return createScheduleControl(shardsOf([options]), options.placeOfKey);
}

const HOLIDAY = {
  name: "holiday",
  defaultVersion: 2,
  latestVersion: 3,
  createdAt: 1_700_000_000_000,
};

export async function startWorld({
  config = {},
  clock = systemClock,
  overdueMs = HEALTH_DEFAULTS.overdueMs,
  dashboard,
  transportLimits,
  stored = withoutDatabase(),
}: WorldOptions = {}) {
  const logged: string[] = [];
  const refused: Refusal[] = [];
  const setOverride = (_fields: object, text: string) => void logged.push(text);
  const log: Log = { info: setOverride, warn: setOverride, error: setOverride };
  await register(stored);
  const { namespaceId: defaultId } = stored;
  const reads: Mutable<Reads> = {
    findRun: async (namespaceId, by) => {
      const known = "runId" in by ? by.runId === RUN_ID : by.key === "trip-1";
      return known && namespaceId === defaultId ? runRecord() : null;
    },
    runDetail: async () => runDetail(),
    hosts: async (sessions) => new Map(sessions.map((session) => [session, "pc-7"])),
    runItems: async () => ({ steps: new Map(), attempts: [] }),
    changedInputs: async () => [],
    tracedRuns: async () => new Map(),
    runLiveness: async () => ({
      now: 1_700_000_060_000,
      polledMs: 60_000,
      leases: new Map(),
      polls: new Map(),
      pauses: new Map(),
      queues: new Map(),
      circuits: new Map(),
      cordoned: new Map(),
      agentVersions: new Map(),
      silent: new Set(),
      unwatched: null,
    }),
  };
  const lists: Mutable<Lists> = {
    ...stored.store.lists,
    countRuns: async () => ({ count: 1, now: 1_700_000_200_000 }),
    definitions: async () => [{ workflow: "holiday", version: 3, definitionId: 9 }],
    runs: async () => [runRecord()],
    escalations: async () => [],
    workflows: async () => [HOLIDAY],
    namespaces: async () => [],
    regions: async () => [],
    workflowPause: async () => null,
    versions: async (_namespaceId, names) =>
      names.map((name) => ({ name, version: 3, createdAt: 1_700_000_000_000, openRuns: 7 })),
  };
  const { outbox, schedules, triggers, namespaces, markAgents, operators, tokens, logs } =
    stored.store;
  const scheduler = schedulerStub(stored, scheduleControl(stored.store, clock));
  const dispatcher: Mutable<Dispatcher> = {
    poll: async () => ({ tasks: [handedTask()], waitedMs: 12 }),
    heartbeat: async ({ reports }) => reports.map(() => ({ kind: "carry-on", leaseMs: 30_000 })),
    complete: async ({ results, next }) => ({
      answers: results.map(() => ({ kind: "accepted", repeated: false })),
      tasks: next === null ? [] : [handedTask()],
      waitedMs: 0,
    }),
  };
  const store: Mutable<RpcServerDeps["store"]> = {
    reads,
    lists,
    namespace: async (name) => (name === "default" ? { id: defaultId, name, region: 0 } : null),
    createNamespace: async (name) => ({ id: 2, name, region: 0 }),
    definition: async () => DEFINITION,
    workflowVersion: async (_namespaceId, name, version) =>
      name === "holiday" && version !== "newest" && version <= 3
        ? { definitionId: 9, version: version || 2, createdAt: Date.UTC(2026, 0, 1) }
        : null,
    outbox,
    schedules,
    triggers,
    operators,
    tokens,
    logs,
    namespaces,
    claimEscalation: async () => null,
    releaseEscalation: async () => null,
    incarnation: () => 0,
    onIncarnation: () => undefined,
    ready: async () => {},
  };
  // As if expressions were checked: one that names nothing is wrong.
  const furtherProblems = ({ steps }: Definition) =>
    steps.flatMap(({ when }, no) =>
      when === "nothing"
        ? [{ path: `steps[${no}].when`, message: '"nothing" is unknown here' }]
        : [],
    );
  const server = createRpcServer({
    scheduler,
    dispatcher,
    logs: NO_LOGS,
    store,
    definitionCheck: (definition) => furtherProblems(definition),
    triggers: triggersStub,
    clock,
    random: systemRandom,
    log,
    config: { ...RPC_DEFAULTS, port: 0, drainMs: 5_000, ...config },
    overdueMs,
    onRefused: (reason) => void refused.push(reason),
    ...(transportLimits === undefined ? {} : { transportLimits }),
    ...(dashboard === undefined ? {} : { dashboard }),
  });
  const { host, port } = await server.start();
  const close = () => server.stop();
  const seen = { scheduler, dispatcher, reads, lists, store, markAgents, logged, refused };
  return { ...seen, server, host, port, close } as World;
}

/** No run has ended, and no call lists what was refused. */
const triggersStub: RpcServerDeps["triggers"] = {
  compile: createMappings(),
  factsOfEnd: () => Promise.reject(new Error("no run has ended")),
  refused: () => undefined,
};

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A promise and the function that settles it. */
export function signal<T = void>() {
  return Promise.withResolvers<T>();
}
