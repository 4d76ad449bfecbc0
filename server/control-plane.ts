// Assembles the control plane over a store: creates scheduler, dispatch and supervisor, and
// connects them. What reads and writes runs exists once for each shard of the store, and works
// within that shard; polls, and what the process knows of lanes, circuits and agents, exist once.
// `main.ts` passes the real store, clock and ports; a test may pass others.
import { circuitWatchOf, createDurationLearning, pollTickOf } from "./background/background.ts";
import type { Dispatcher, LogAppends } from "./dispatch/dispatcher.ts";
import { refreshLanes } from "./dispatch/lanes.ts";
import type { TriggerWork } from "./integrations/triggers/trigger-work.ts";
import type { Triggering } from "./integrations/triggers/triggering.ts";
import { lifeCycleOf } from "./life-cycle.ts";
import type { Loop } from "./loop.ts";
import { callsOf, logAppendsOf } from "./plane/calls.ts";
import { type Engine, engineOf, scheduleOf } from "./plane/engine.ts";
import type { ControlPlaneOptions } from "./plane/options.ts";
import { type DispatchParts, dispatchOf, type World, worldOf } from "./plane/process-parts.ts";
import { type Supervisor, subscribe, supervisorOf, wakeAll, wakeOf } from "./plane/supervision.ts";
import type { Advance } from "./scheduler/advance.ts";
import { createScheduler } from "./scheduler/create-scheduler.ts";
import { createOccurrences, type Occurrences } from "./scheduler/cron/start-occurrences.ts";
import type { RateLimit } from "./scheduler/rate-limit.ts";
import { routeEvents } from "./scheduler/route-events.ts";
import type { Scheduler } from "./scheduler/scheduler.ts";
import type { CircuitSnapshot } from "./store/circuits.ts";
import { allotQueues } from "./store/queue-shares.ts";
import type { Shards } from "./store/shards.ts";
import type { CircuitWatch } from "./supervisor/circuits.ts";
import type { ConsistencyCheck } from "./supervisor/consistency.ts";
import type { Ownership } from "./supervisor/ownership.ts";
import { createQueueAllotting, type QueueAllotting } from "./supervisor/queue-allotting.ts";
import type { TimerScan } from "./supervisor/timers.ts";
import type { Deliveries } from "./supervisor/webhook-deliveries.ts";

/** What a control plane has once for each shard. */
export interface ShardParts {
  readonly advance: Advance;
  readonly beginDue: Occurrences["beginDue"];
  readonly ownership: Ownership;
  readonly timers: TimerScan;
  readonly consistency: ConsistencyCheck;
  /** null: this process sends no webhooks. */
  readonly deliveries: Deliveries | null;
  readonly triggers: Triggering;
}

export interface ControlPlane {
  readonly scheduler: Scheduler;
  readonly dispatcher: Dispatcher;
  /** Polls that wait in this process. */
  parked(): number;
  readonly shards: Shards<ShardParts>;
  /** Of all shards. */
  readonly advance: Advance;
  readonly ownership: Pick<Ownership, "owned" | "unwatched" | "partitions"> & {
    /** Its node in each shard; null while it has not joined all of them. */
    nodes(): readonly string[] | null;
  };
  /** Timers that have failed, of all shards. */
  failedTimers(): number;
  /** Since when the consistency check of a shard has not begun anew, at most, in milliseconds. */
  consistencyAgeMs(): number;
  /** What calls over HTTP begin. */
  readonly triggers: TriggerWork;
  readonly pollTick: Loop;
  /** Reads open circuits and cordons, and changes the circuits of our lanes. */
  readonly circuits: CircuitWatch;
  /** Saves what was learned of durations, and reads what is in use. */
  readonly learning: Loop;
  /** Most bytes of one payload in a namespace; null: the limit of the server. */
  readonly payloadBytesMax: RateLimit["payloadBytesMax"];
  /** Limits the calls of a namespace. */
  readonly admitCall: RateLimit["admitCall"];
  /** The parts of namespaces in the calls that this server processes at the same time. */
  readonly weights: RateLimit["weights"];
  /** Takes the lines that handlers log. */
  readonly logs: LogAppends;
  start(): Promise<void>;
  /** Finishes what is in flight and hands the partitions back. */
  stop(): Promise<void>;
}

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const world = worldOf(options);
  const dispatch = dispatchOf(world);
  const engines = world.shards.map((store, number) => engineOf(world, dispatch, store, number));
  const advance = routeEvents(engines.map((one) => one.advance));
  const schedule = scheduleOf(world, engines);
  const cron = engines.map(({ occurrenceOptions }) => occurrenceOptions);
  const occurrences = cron.map(createOccurrences);
  const supervisors = engines.map((engine, number) =>
    supervisorOf(world, engine, schedule, occurrences.of(number).beginDue),
  );
  for (const [number, engine] of engines.all.entries())
    subscribe(world, dispatch, engine, supervisors.of(number));
  const circuits = circuitsOf(world, dispatch, engines, supervisors.home.ownership);
  const allotting = allottingOf(world, dispatch, engines, supervisors);
  const calls = callsOf(world, dispatch, engines, advance);
  const logs = logAppendsOf(world);
  const learning = createDurationLearning(world.patient, world.typical, world.settings);
  const pollTick = pollTickOf(world.patient, {
    ...dispatch,
    circuits,
    shards: engines.map(({ store, claims, watermarks }) => ({ store, claims, watermarks })),
  });
  const { rateLimit, traces } = world;
  const claims = engines.all.map((one) => one.claims);
  const scheduler = createScheduler({
    ...world,
    store: options.store,
    advance,
    schedule,
    shards: cron,
    runWatchers: dispatch.runWatchers,
    wake: wakeAll(engines, supervisors),
    refresh: circuits.runOnce,
  });
  return Object.freeze({
    scheduler,
    dispatcher: options.measures?.dispatcher(calls.dispatcher) ?? calls.dispatcher,
    parked: dispatch.waiters.count,
    shards: supervisors.map((supervisor, number) => {
      const { beginDue } = occurrences.of(number);
      return { ...supervisor, advance: engines.of(number).advance, beginDue };
    }),
    advance,
    ownership: ownershipOf(supervisors),
    failedTimers: () => supervisors.all.reduce((sum, { timers }) => sum + timers.failedRows(), 0),
    consistencyAgeMs: () =>
      Math.max(...supervisors.all.map(({ consistency }) => consistency.roundAgeMs())),
    triggers: supervisors.home.triggers,
    pollTick,
    circuits,
    learning,
    payloadBytesMax: rateLimit.payloadBytesMax,
    admitCall: rateLimit.admitCall,
    weights: rateLimit.weights,
    logs,
    ...lifeCycleOf({
      circuits,
      rateLimit,
      shards: supervisors.all,
      learning,
      loops: [pollTick, rateLimit, learning, ...allotting],
      idle: [...claims, ...calls.parts, logs, schedule, advance, ...occurrences.all],
      traces,
    }),
  } satisfies ControlPlane);
}

/** Circuits are kept, and changed by their owners, in one shard; they hold in all of them. */
function circuitsOf(
  { options, patient }: World,
  dispatch: DispatchParts,
  engines: Shards<Engine>,
  ownership: Ownership,
): CircuitWatch {
  const { admission, versions, lanes, waiters, outcomeCounts } = dispatch;
  const learn = async (snapshot: CircuitSnapshot): Promise<void> => {
    const made = versions.learn(snapshot.pinned);
    if (made.length > 0) await refreshLanes(waiters, lanes, waiters.all());
    const freed = [...admission.learn(snapshot), ...made];
    for (const { claims } of engines.all) void claims.scan(freed);
  };
  return circuitWatchOf(
    { ...patient, log: options.log },
    {
      owner: () => ({
        node: ownership.node(),
        owned: ownership.owned(),
        partitions: ownership.partitions(),
      }),
      counted: outcomeCounts.take,
      learn,
    },
  );
}

/** Nothing, unless there are several shards. */
function allottingOf(
  { options, patient, shards, failed }: World,
  { fullQueues }: DispatchParts,
  engines: Shards<Engine>,
  supervisors: Shards<Supervisor>,
): readonly QueueAllotting[] {
  if (shards.all.length === 1) return [];
  const wakes = engines.all.map((engine, number) => wakeOf(engine, supervisors.of(number)));
  const { owned } = supervisors.home.ownership;
  const [first = 0] = options.partitions ?? [];
  const allotting = createQueueAllotting({
    clock: patient.clock,
    allot: () => allotQueues(shards, null, (shard, lanes) => wakes[shard]?.(lanes)),
    isOwner: () => owned().some(({ partition }) => partition === first),
    onError(error) {
      failed("queue-shares")();
      options.log.warn({ event: "queue-shares.failed", err: String(error) });
    },
  });
  fullQueues.subscribe(allotting.wanted);
  return [allotting];
}

/** What this process owns of all shards together. */
function ownershipOf({ all }: Shards<Supervisor>): ControlPlane["ownership"] {
  const each = <T>(read: (one: Ownership) => readonly T[]): readonly T[] =>
    all.flatMap(({ ownership }) => read(ownership));
  return {
    owned: () => each((one) => one.owned()),
    unwatched: () => each((one) => one.unwatched()),
    partitions: () => each((one) => one.partitions()),
    nodes() {
      const nodes = all.flatMap(({ ownership }) => ownership.node() ?? []);
      return nodes.length === all.length ? nodes : null;
    },
  };
}
