// The server of a scenario: the real control plane and the real handlers over the memory store,
// without a port. It may be killed, and started again over the same store.
//
//   down → up → killed: its open calls fail UNAVAILABLE, its partitions are free → up
import {
  create,
  type DescMethodUnary,
  isMessage,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { createDrain } from "@drover/server/api/calls/drain.ts";
import { createMount, type Mounted } from "@drover/server/api/calls/mount.ts";
import { createNamespaces } from "@drover/server/api/calls/namespace-names.ts";
import { createRequestCheck } from "@drover/server/api/calls/request-check.ts";
import { engineMethods } from "@drover/server/api/drover-methods.ts";
import { sleepBy } from "@drover/server/clock.ts";
import { SUPERVISOR_DEFAULTS } from "@drover/server/config.ts";
import { type ControlPlane, createControlPlane } from "@drover/server/control-plane.ts";
import type { EpochMs } from "@drover/server/core/model/attempt.ts";
import { DroverError } from "@drover/server/errors.ts";
import { checkDefinition } from "@drover/server/expressions/definition-expressions.ts";
import { RPC_DEFAULTS } from "@drover/server/rpc-config.ts";
import { WHOLE_RANGE } from "@drover/server/store/due.ts";
import { createMemoryStore, type MemoryStore } from "@drover/server/store/memory/memory-store.ts";
import type { NodeInfo, PartitionSession } from "@drover/server/store/partition-session.ts";
import { shardsOf } from "@drover/server/store/shards.ts";
import type { EngineStore } from "@drover/server/store/store.ts";
import { pino } from "pino";
import type { Chance } from "./chance.ts";
import { createVirtualProcess, type VirtualProcess } from "./virtual-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface SimulatedServer {
  readonly store: MemoryStore;
  isUp(): boolean;
  start(): Promise<void>;
  kill(): void;
  /**
   * Announces the next due time to the server. A server in a cluster queries every second for times
   * that other servers, or its own claims, have set; this one sleeps until the announced time.
   */
  announceNextDue(): Promise<void>;
  /**
   * Rejects with the DroverError that a caller gets; STORE_UNAVAILABLE while the server is down.
   */
  call<M extends DescMethodUnary>(
    method: M,
    request: MessageInitShape<M["input"]>,
    gone?: AbortSignal,
  ): Promise<MessageShape<M["output"]>>;
}

interface SimulatedServerOptions {
  readonly time: VirtualTime;
  readonly chance: Chance;
  /** Called when the server reports a defect. */
  readonly onDefect: (what: string) => void;
}

const NEVER_MS = 1_000 * 86_400_000;
/** It is the only server, so no other server sets due times. */
const ALONE = Object.freeze({
  ...SUPERVISOR_DEFAULTS,
  scanEveryMs: 6 * 3_600_000,
  gapMs: NEVER_MS,
  jumpMs: NEVER_MS,
  ownerLostMs: NEVER_MS,
});
/** All runs of a scenario are in partition 0: the last byte of their ids is 0. */
const PARTITIONS = Object.freeze([0]);
/** Its supervisor has watched from the beginning, so a scan after a restart may come too early. */
const ALWAYS_WATCHED: ReadonlyMap<number, EpochMs> = new Map([[0, 0]]);

/** Most rows that are due already; the next due time is the one after them. */
const DUE_MAX = 10_000;

/** Compiled once for all scenarios; it retains nothing of a request. */
const check = createRequestCheck(RPC_DEFAULTS);

export function createSimulatedServer(options: SimulatedServerOptions): SimulatedServer {
  const { time, chance, onDefect } = options;
  const store = createMemoryStore({ now: time.now, times: { ownerLostMs: NEVER_MS } });
  let life: Life | null = null;

  return Object.freeze({
    store,
    isUp: () => life !== null,
    async start() {
      if (life) return;
      const process = createVirtualProcess("server", time, chance.fork());
      const started = beginLife(process, { time, store, onDefect });
      life = started;
      await started.plane.start();
    },
    kill() {
      life?.end();
      life = null;
    },
    async announceNextDue() {
      if (!life) return;
      const range = { ...WHOLE_RANGE, silenceCountsSince: ALWAYS_WATCHED };
      const { nextAt } = await store.dueRows(PARTITIONS, DUE_MAX, range);
      if (nextAt !== null) life.plane.shards.home.timers.announce(nextAt);
    },
    async call<M extends DescMethodUnary>(
      method: M,
      request: MessageInitShape<M["input"]>,
      signal: AbortSignal = NEVER_ABORTED,
    ) {
      const mounted = life?.methods.get(method.name);
      const process = life?.process;
      if (!mounted || !process) throw gone();
      if (mounted.kind !== "unary") throw new Error(`${method.name} is no unary method`);
      const call = {
        signal,
        deadlineMs: null,
        peer: "simulator",
        header: () => null,
        certificate: () => null,
      };
      const asked = create(method.input, request);
      return await new Promise<MessageShape<M["output"]>>((resolve, reject) => {
        const forget = process.onCrash(() => reject(gone()));
        mounted
          .run(asked, call)
          .then((answer: unknown) => {
            if (isMessage<M["output"]>(answer, method.output)) resolve(answer);
            else reject(new Error(`${method.name} was answered with another message`));
          }, reject)
          .finally(forget);
      });
    },
  } satisfies SimulatedServer);
}

const NEVER_ABORTED = new AbortController().signal;
const gone = () => new DroverError("STORE_UNAVAILABLE", "The server is down.");

interface Life {
  readonly process: VirtualProcess;
  readonly plane: ControlPlane;
  readonly methods: ReadonlyMap<string, Mounted>;
  end(): void;
}

interface LifeDeps {
  readonly time: VirtualTime;
  readonly store: MemoryStore;
  readonly onDefect: (what: string) => void;
}

function beginLife(process: VirtualProcess, { time, store: shared, onDefect }: LifeDeps): Life {
  const { clock, chance } = process;
  const sessions: PartitionSession[] = [];
  const store = recordingSessions(shared, sessions);
  const later = (ms: number, fn: () => void) =>
    time.patient(ms, () => {
      if (process.state() === "up") fn();
    });
  const plane = createControlPlane({
    store,
    shards: shardsOf([store]),
    clock,
    random: chance,
    log: planeLog(process, onDefect),
    address: process.name,
    patient: { ...clock, after: later, sleep: sleepBy(later) },
    isRetryable: () => false,
    partitions: PARTITIONS,
    settings: ALONE,
  });
  const { scheduler, dispatcher } = plane;
  const drain = createDrain();
  const log = callLog(onDefect);
  const mount = createMount({ check, drain, log, clock, ...RPC_DEFAULTS });
  const service = {
    scheduler,
    dispatcher,
    logs: plane.logs,
    store,
    drain,
    clock,
    check,
    log,
    random: chance,
    namespaces: createNamespaces(store),
    definitionCheck: checkDefinition,
  };
  const methods = engineMethods(service, mount);
  return {
    process,
    plane,
    methods: new Map(methods.map((one) => [one.method.name, one])),
    end() {
      process.crash();
      // The process's database connection breaks, and with it the session that owns its partitions.
      for (const session of sessions) void session.leave();
    },
  };
}

/** The store, with a record of the sessions that the process has joined. */
function recordingSessions(store: MemoryStore, sessions: PartitionSession[]): EngineStore {
  return {
    ...store,
    partitions: {
      async join(node: NodeInfo) {
        const session = await store.partitions.join(node);
        sessions.push(session);
        return session;
      },
    },
  };
}

/** Without faults the control plane logs no warnings, so each warning counts as a defect. */
function planeLog(process: VirtualProcess, onDefect: (what: string) => void) {
  const write = (line: string): void => {
    if (process.state() === "up" && !/partitions\.|circuit\.moved/.test(line))
      onDefect(line.trim());
  };
  return pino({ level: "warn", base: null, timestamp: false }, { write });
}

function callLog(onDefect: (what: string) => void) {
  return {
    info: () => undefined,
    warn: () => undefined,
    error: (fields: object, text: string) =>
      onDefect(`${text}: ${"err" in fields ? String(fields.err) : ""}`),
  };
}
