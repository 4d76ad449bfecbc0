// Assembles the control plane over a store: creates scheduler, dispatch and supervisor, and
// connects them. What reads and writes runs exists once for each shard of the store, and works
// within that shard; polls, and what the process knows of lanes, circuits and agents, exist once.
// `main.ts` passes the real store, clock and ports; a test may pass others.
import type { Logger } from "pino";
import {
  circuitWatchOf,
  consistencyOf,
  createDurationLearning,
  createUndeliveredHandler,
  deliveriesOf,
  failuresOf,
  housekeepingOf,
  inboxOf,
  pollTickOf,
  rateLimitOf,
  triggeringOf,
} from "./background/background.ts";
import { publisherOf } from "./background/publisher.ts";
import { createSubject } from "./background/subject.ts";
import type { Clock, Random } from "./clock.ts";
import { SUPERVISOR_DEFAULTS, type SupervisorConfig } from "./config.ts";
import type { EpochMs } from "./core/model/attempt.ts";
import type { CircuitSettings } from "./core/model/circuit.ts";
import { createAdmission } from "./dispatch/admission.ts";
import { createAgentRegistry } from "./dispatch/agent-registry.ts";
import { createAttemptCounter } from "./dispatch/attempt-counts.ts";
import { type Claims, createClaims } from "./dispatch/claims.ts";
import { createDispatch } from "./dispatch/dispatch.ts";
import type { Dispatcher, LogAppends } from "./dispatch/dispatcher.ts";
import { createHeartbeats } from "./dispatch/heartbeats.ts";
import { createLanes, createVersionLanes, refreshLanes } from "./dispatch/lanes.ts";
import { createLogAppends, NO_LOGS } from "./dispatch/log-appends.ts";
import { createLostPolls } from "./dispatch/lost-polls.ts";
import { createOutcomeCounts } from "./dispatch/outcome-counts.ts";
import { heartbeatsOfShards, lostPollsOfShards } from "./dispatch/shard-sessions.ts";
import type { UndeliveredLease } from "./dispatch/task-delivery.ts";
import { createWaiters, type Waiters } from "./dispatch/waiters.ts";
import { createWatermarks } from "./dispatch/watermarks.ts";
import { evaluatorOf } from "./expressions/evaluator.ts";
import type { TriggerWork } from "./integrations/triggers/trigger-work.ts";
import type { Triggering } from "./integrations/triggers/triggering.ts";
import { lifeCycleOf } from "./life-cycle.ts";
import type { Loop } from "./loop.ts";
import {
  type Advance,
  type AdvanceOptions,
  countBatches,
  createAdvance,
} from "./scheduler/advance.ts";
import type { CommitSummary } from "./scheduler/commit-summary.ts";
import { createScheduler } from "./scheduler/create-scheduler.ts";
import { createOccurrences, type Occurrences } from "./scheduler/cron/start-occurrences.ts";
import { createKeyPlaces } from "./scheduler/key-places.ts";
import type { RateLimit } from "./scheduler/rate-limit.ts";
import { routeEvents } from "./scheduler/route-events.ts";
import { createPlaceOfKey, newRunId } from "./scheduler/run-id.ts";
import { createRunWatchers } from "./scheduler/run-watchers.ts";
import {
  createRunStarts,
  createSchedule,
  KEY_RETENTION_MS,
  type Schedule,
} from "./scheduler/schedule.ts";
import type { Scheduler } from "./scheduler/scheduler.ts";
import { createTypicalDurations } from "./scheduler/typical-durations.ts";
import type { AllShards } from "./store/all-shards.ts";
import type { CircuitSnapshot } from "./store/circuits.ts";
import type { Outside } from "./store/due.ts";
import type { HandlerLogs } from "./store/handler-logs.ts";
import type { InboxRows } from "./store/inbox.ts";
import { shardOf } from "./store/partition.ts";
import { createPlans, type Plans } from "./store/plans.ts";
import { allotQueues } from "./store/queue-shares.ts";
import type { Shards } from "./store/shards.ts";
import type { EngineStore, SessionLease, Tx } from "./store/store.ts";
import type { CircuitWatch } from "./supervisor/circuits.ts";
import type { ConsistencyCheck } from "./supervisor/consistency.ts";
import { recordFailing } from "./supervisor/failing.ts";
import { createOwnership, type Ownership, type Supervision } from "./supervisor/ownership.ts";
import { createQueueAllotting, type QueueAllotting } from "./supervisor/queue-allotting.ts";
import { createTimerScan, type TimerScan } from "./supervisor/timers.ts";
import type { Deliveries, Post } from "./supervisor/webhook-deliveries.ts";
import type { Measures } from "./telemetry/measures.ts";
import { spanLines } from "./telemetry/span-lines.ts";
import type { SpanSink } from "./telemetry/spans.ts";
import { createTracing, type Tracing } from "./telemetry/traces/tracing.ts";
import { randomUuid } from "./uuid.ts";

/** The supervision of a server: all regions, shared with all other nodes that supervise. */
const EMBEDDED: Supervision = Object.freeze({ regions: null, standby: false });

export interface ControlPlaneOptions {
  /** All shards together. */
  readonly store: AllShards;
  readonly shards: Shards<EngineStore>;
  readonly clock: Clock;
  /** For parts that only check whether something has happened, and may wait; left out: `clock`. */
  readonly patient?: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly address: string;
  readonly isRetryable: (error: unknown) => boolean;
  /** Sends webhooks; left out: this process sends none. */
  readonly post?: Post;
  /** Runs that users have scheduled by SQL; left out: they cannot. */
  readonly inbox?: InboxRows;
  /** Where the lines of handlers are stored; left out: none are. */
  readonly logs?: HandlerLogs;
  /** When circuits open, and for how long; left out: as CIRCUIT_DEFAULTS. */
  readonly circuits?: CircuitSettings;
  /** Where spans are sent, and of which share of the runs; left out: nothing is traced. */
  readonly spans?: { readonly sink: SpanSink; readonly ratio: number } | undefined;
  /** Records what was done; left out: no metrics. */
  readonly measures?: Measures;
  /** What this process watches; left out: all, as a server with its supervisor embedded. */
  readonly supervision?: Supervision;
  /** The partitions that exist; left out: all of every region. */
  readonly partitions?: readonly number[];
  /** Left out: the defaults. */
  readonly settings?: SupervisorConfig;
  /** Calls that begin runs, and events of runs, that may wait for the store; left out: 20,000. */
  readonly waitingMax?: number | undefined;
}

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
  const cron = engines.map(({ occurrenceOptions }) => {
    return { ...occurrenceOptions, beginElsewhere: schedule.submit };
  });
  const occurrences = cron.map(createOccurrences);
  const supervisors = engines.map((engine, number) =>
    supervisorOf(world, engine, schedule, occurrences.of(number).beginDue),
  );
  for (const [number, engine] of engines.all.entries()) {
    const supervisor = supervisors.of(number);
    subscribe(world, dispatch, engine, supervisor);
  }
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
  return Object.freeze({
    scheduler: createScheduler({
      store: options.store,
      plans: world.plans,
      advance,
      schedule,
      rateLimit,
      typical: world.typical,
      shards: cron,
      placeOfKey: world.placeOfKey,
      runWatchers: dispatch.runWatchers,
      wake: wakeAll(engines, supervisors),
      refresh: circuits.runOnce,
    }),
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
      idle: [
        ...engines.all.map(({ claims }) => claims),
        ...calls.parts,
        logs,
        schedule,
        advance,
        ...occurrences.all,
      ],
      traces,
    }),
  } satisfies ControlPlane);
}

/** What every part may use. */
function worldOf(options: ControlPlaneOptions) {
  const { clock, patient = clock } = options;
  const shards = options.shards.map((store) => changingAtHome(store, options.shards.home));
  const settings = options.settings ?? SUPERVISOR_DEFAULTS;
  const plans = createPlans(shards.home, evaluatorOf);
  const failures = failuresOf(options);
  const { onError } = failures;
  return {
    options,
    shards,
    settings,
    /** By which it is known in all shards. */
    process: shards.all.length > 1 ? randomUuid(options.random) : undefined,
    placeOfKey: createPlaceOfKey(options.partitions),
    /** The same options with the patient clock. */
    patient: { ...options, clock: patient },
    plans,
    rateLimit: rateLimitOf({ ...options, clock: patient }),
    typical: createTypicalDurations({
      durations: shards.home.durations,
      limits: settings,
      onError,
    }),
    traces: tracingOf(options, plans),
    ...failures,
  };
}

type World = ReturnType<typeof worldOf>;

/** What all shards share is changed through the first one: lanes are made as they are needed. */
function changingAtHome(store: EngineStore, home: EngineStore): EngineStore {
  return store === home ? store : { ...store, lanes: home.lanes };
}

/** Polls that wait, and what the process knows of those who poll. Shared by all shards. */
function dispatchOf({ options: { clock }, shards }: World) {
  const versions = createVersionLanes();
  return {
    waiters: createWaiters(),
    admission: createAdmission(clock),
    versions,
    lanes: createLanes(shards.home, versions),
    runWatchers: createRunWatchers(),
    outcomeCounts: createOutcomeCounts(clock),
    attemptCounter: createAttemptCounter(clock),
    agentRegistry: createAgentRegistry(clock),
    nextBatch: countBatches(),
    /** A queue has reached a limit. */
    fullQueues: createSubject<void>(),
  };
}

type DispatchParts = ReturnType<typeof dispatchOf>;

/** What parts of one shard publish for parts that are created after them. */
function createSubjects() {
  return {
    commits: createSubject<CommitSummary>(),
    undelivered: createSubject<UndeliveredLease>(),
    /** Times at which something will be due in our partitions. */
    dueTimes: createSubject<EpochMs>(),
    takenPartitions: createSubject<readonly number[]>(),
  };
}

/** What begins and moves the runs of a shard, and hands out their tasks. */
function engineOf(world: World, dispatch: DispatchParts, store: EngineStore, number: number) {
  const { options, plans, typical, traces, rateLimit, shards, placeOfKey, onError } = world;
  const { clock, random, isRetryable, measures, waitingMax, spans } = options;
  const { admission, versions, waiters, nextBatch, fullQueues } = dispatch;
  const { home } = shards;
  const shard = { number, count: shards.all.length };
  const subjects = createSubjects();
  const watermarks = createWatermarks(clock);
  const claims = createClaims({
    store,
    plans,
    clock,
    random,
    onError,
    waiters,
    admission,
    watermarks,
    weightOf: rateLimit.weights.of,
    taskTrace: spans && traces?.task,
    takeProbes: store === home ? undefined : probesAt(home),
    onFull: fullQueues.publish,
    onGranted(leases, ms) {
      measures?.granted(leases);
      traces?.granted(leases, ms);
    },
    onUndelivered: subjects.undelivered.publish,
  });
  const shared: AdvanceOptions & Pick<World, "plans"> = {
    store,
    plans,
    clock,
    random,
    onError,
    typical,
    isRetryable,
    waitingMax,
    nextBatch,
    onFlushed: measures?.onFlushed,
    onOutdated: measures?.outdated,
    handOver: claims,
    publish: subjects.commits.publish,
    suspensions: { ...versions, ...admission },
    traces: spans && traces,
  };
  const starting = {
    ...shared,
    shard,
    placeOfKey,
    incarnation: options.store.incarnation,
    admitRun: rateLimit.admit,
    runRefusal: rateLimit.refusal,
  };
  const { incarnation } = options.store;
  const announce = subjects.dueTimes.publish;
  const occurrenceOptions = { ...shared, shard, placeOfKey, incarnation, announce };
  return {
    store,
    shard,
    subjects,
    watermarks,
    claims,
    shared,
    occurrenceOptions,
    advance: createAdvance(shared),
    starts: createRunStarts(starting),
  };
}

type Engine = ReturnType<typeof engineOf>;

/** The state of circuits is in one shard, whose database decides which task is a probe. */
function probesAt(home: EngineStore): Tx["takeProbes"] {
  return (probes) => home.transact({ name: "probes" }, (tx) => tx.takeProbes(probes));
}

function scheduleOf(world: World, engines: Shards<Engine>): Schedule {
  const { options, plans, rateLimit, shards, placeOfKey } = world;
  const { store, clock, random } = options;
  const newId = () => newRunId(clock.wallMs(), random);
  return createSchedule(
    { store, plans, admitRun: rateLimit.admit, runRefusal: rateLimit.refusal, placeOfKey },
    engines.map((one) => one.starts),
    createKeyPlaces(shards, placeOfKey, newId, KEY_RETENTION_MS),
  );
}

/** What acts without a caller: it owns partitions, scans their timers, and keeps house. */
function supervisorOf(
  world: World,
  engine: Engine,
  schedule: Schedule,
  beginDue: Occurrences["beginDue"],
) {
  const { options, settings, plans, failed, shards } = world;
  const { clock, log } = options;
  const { facts, incarnation } = options.store;
  const { store, shard, advance, shared, claims, subjects } = engine;
  const patient = { ...world.patient, store };
  const quiet = createQuiet();
  const ownership = createOwnership({
    ...patient,
    settings,
    shard,
    process: world.process,
    supervision: patient.supervision ?? EMBEDDED,
    partitions: patient.partitions?.filter((one) => shardOf(one, shard.count) === shard.number),
    onTaken: subjects.takenPartitions.publish,
    onLanes: (announced) => void claims.scan(announced),
    onDueTime: subjects.dueTimes.publish,
    quiet: quiet.wait,
  });
  const owner = () => ({ node: ownership.node(), owned: ownership.owned() });
  const deliveries = deliveriesOf(patient, plans, ownership.owned);
  const triggers = triggeringOf(
    { ...patient, shard, store: { triggers: store.triggers, facts, incarnation } },
    plans,
    schedule.schedule,
    ownership.owned,
  );
  // Users fill the inbox in one place.
  const inbox =
    store === shards.home
      ? inboxOf({ ...patient, store: options.store }, schedule.schedule, ownership.owned)
      : null;
  const outside: Readonly<Record<Outside, { announce(): void } | null>> = {
    inbox,
    deliveries,
    triggers,
  };
  const timers = createTimerScan({
    store,
    advance,
    beginDue,
    clock,
    log,
    settings,
    owner,
    onFailed: failed("timers"),
    onFailing: recordFailing({ store, clock, log }),
    onFenced: ownership.fenced,
    onOutside(what) {
      for (const one of what) outside[one]?.announce();
    },
  });
  const consistency = consistencyOf(patient, shared, { owner, settings });
  quiet.add(timers.quiet);
  quiet.add(consistency.quiet);
  return {
    ownership,
    deliveries,
    triggers,
    inbox,
    timers,
    consistency,
    housekeeping: housekeepingOf(patient, settings),
  };
}

type Supervisor = ReturnType<typeof supervisorOf>;

/** Work that must be over before a partition is handed back, in the order in which it was added. */
function createQuiet() {
  const parts: (() => Promise<void>)[] = [];
  return {
    add: (quiet: () => Promise<void>) => void parts.push(quiet),
    async wait() {
      for (const quiet of parts) await quiet();
    },
  };
}

/** Wakes the agents that wait for these lanes of a shard, here and on other servers. */
function wakeOf({ claims }: Engine, { ownership }: Supervisor) {
  return (lanes: Iterable<number>): void => {
    const filled = [...lanes];
    if (filled.length === 0) return;
    void claims.scan(filled);
    ownership.announceLanes(filled);
  };
}

function wakeAll(engines: Shards<Engine>, supervisors: Shards<Supervisor>) {
  const wakes = engines.all.map((engine, number) => wakeOf(engine, supervisors.of(number)));
  return (lanes: readonly number[]): void => {
    for (const wake of wakes) wake(lanes);
  };
}

/** Connects the parts of a shard with what others publish. */
function subscribe(
  { options, plans, traces, onError, shards }: World,
  dispatch: DispatchParts,
  engine: Engine,
  supervisor: Supervisor,
): void {
  const { lanes, agentRegistry, waiters } = dispatch;
  const { store, claims, advance, subjects } = engine;
  const { timers, ownership, deliveries, triggers } = supervisor;
  subjects.undelivered.subscribe(createUndeliveredHandler(advance, onError));
  subjects.dueTimes.subscribe(timers.announce);
  subjects.takenPartitions.subscribe(timers.taken);
  subjects.commits.subscribe(
    publisherOf(options, onError, {
      // A session calls all shards, and each of them has its row.
      markSilent: async (silent) =>
        void (await Promise.all(shards.all.map((one) => one.markSilent(silent)))),
      ...dispatch,
      traces,
      wake: wakeOf(engine, supervisor),
      timers,
      ownership,
      advance,
      outside: [deliveries, triggers],
    }),
  );
  forgetWith(store, [plans, lanes, claims, agentRegistry], waiters);
}

/** What agents call, with the batches behind it. */
function callsOf(
  { options, patient, onError }: World,
  { waiters, lanes, agentRegistry }: DispatchParts,
  engines: Shards<Engine>,
  advance: Advance,
) {
  const { clock, isRetryable, measures } = options;
  const onFlushed = measures?.onFlushed;
  // If it fails, the next heartbeat of the session reports the same.
  const onForgotten = (lease: SessionLease) =>
    void advance.submit(lease, { kind: "forgotten", ...lease }).catch(onError);
  const heartbeats = heartbeatsOfShards(
    engines.map(({ store }) =>
      createHeartbeats({ store, clock, isRetryable, onForgotten, onFlushed }),
    ),
  );
  const lostPolls = lostPollsOfShards(
    engines.map(({ store }) =>
      createLostPolls({ store, clock, advance, isRetryable, onError, onFlushed }),
    ),
  );
  const dispatcher = createDispatch({
    clock: patient.clock,
    advance,
    onError,
    heartbeats,
    lostPolls,
    waiters,
    lanes,
    scan: scanInTurn(engines.map(({ claims }) => claims)),
    agentRegistry,
  });
  return { dispatcher, parts: [heartbeats, lostPolls] };
}

/** Scans all shards, each time from the next one on: waiting polls are served by the first. */
function scanInTurn({ all }: Shards<Pick<Claims, "scan">>): Claims["scan"] {
  let first = 0;
  return async (lanes) => {
    const wanted = [...lanes];
    first = (first + 1) % all.length;
    const inTurn = [...all.slice(first), ...all.slice(0, first)];
    await Promise.all(inTurn.map((claims) => claims.scan(wanted)));
  };
}

/** Apart from dispatch: tasks do not wait for lines. */
function logAppendsOf({ options, plans, settings, rateLimit }: World): LogAppends {
  const { logs: store, clock, isRetryable, measures } = options;
  if (!store || settings.logRetentionMs === 0) return NO_LOGS;
  const onFlushed = measures?.onFlushed;
  const stores = rateLimit.storesLogs;
  return createLogAppends({ store, plans, clock, stores, isRetryable, onFlushed });
}

/**
 * Caches were read from one incarnation of the database: in the next one their content may be gone.
 * Parked polls wait at lanes of the last incarnation. They end, and their agents poll again.
 */
function forgetWith(
  store: Pick<EngineStore, "onIncarnation">,
  all: readonly { forget(): void }[],
  waiters: Pick<Waiters, "endAll">,
): void {
  store.onIncarnation(() => {
    for (const kept of all) kept.forget();
    waiters.endAll();
  });
}

/** Circuits are kept, and changed by their owners, in one shard; they hold in all of them. */
function circuitsOf(
  { options, patient, shards }: World,
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
      owner: () => ({ node: ownership.node(), owned: ownership.owned() }),
      shards: shards.all.length,
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

/** undefined: neither a receiver of traces nor the log wants spans. */
function tracingOf({ spans, store, log }: ControlPlaneOptions, plans: Plans): Tracing | undefined {
  const lines = spanLines(log);
  if (!spans && !lines) return undefined;
  const { sink = null, ratio = 0 } = spans ?? {};
  return createTracing({ reads: store.reads, plans, sink, lines, ratio, log });
}
