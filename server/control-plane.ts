// Assembles the control plane over a store: creates scheduler, dispatch and supervisor, each once,
// and connects them. `main.ts` passes the real store, clock and ports; a test may pass others.
import type { Logger } from "pino";
import {
  circuitsOf,
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
import type { UndeliveredLease } from "./dispatch/task-delivery.ts";
import { createWaiters, type Waiters } from "./dispatch/waiters.ts";
import { createWatermarks } from "./dispatch/watermarks.ts";
import { evaluatorOf } from "./expressions/evaluator.ts";
import type { Triggering } from "./integrations/triggers/triggering.ts";
import { lifeCycleOf } from "./life-cycle.ts";
import type { Loop } from "./loop.ts";
import { type Advance, type AdvanceOptions, createAdvance } from "./scheduler/advance.ts";
import type { CommitSummary } from "./scheduler/commit-summary.ts";
import { createScheduler } from "./scheduler/create-scheduler.ts";
import { createOccurrences, type Occurrences } from "./scheduler/cron/start-occurrences.ts";
import type { RateLimit } from "./scheduler/rate-limit.ts";
import { createRunWatchers } from "./scheduler/run-watchers.ts";
import { createSchedule } from "./scheduler/schedule.ts";
import type { Scheduler } from "./scheduler/scheduler.ts";
import { createTypicalDurations } from "./scheduler/typical-durations.ts";
import type { CircuitSnapshot } from "./store/circuits.ts";
import type { Outside } from "./store/due.ts";
import type { HandlerLogs } from "./store/handler-logs.ts";
import type { InboxRows } from "./store/inbox.ts";
import { createPlans, type Plans } from "./store/plans.ts";
import type { EngineStore, SessionLease } from "./store/store.ts";
import type { CircuitWatch } from "./supervisor/circuits.ts";
import type { ConsistencyCheck } from "./supervisor/consistency.ts";
import { recordFailing } from "./supervisor/failing.ts";
import { createOwnership, type Ownership, type Supervision } from "./supervisor/ownership.ts";
import { createTimerScan, type TimerScan } from "./supervisor/timers.ts";
import type { Deliveries, Post } from "./supervisor/webhook-deliveries.ts";
import type { Measures } from "./telemetry/measures.ts";
import { spanLines } from "./telemetry/span-lines.ts";
import type { SpanSink } from "./telemetry/spans.ts";
import { createTracing, type Tracing } from "./telemetry/traces/tracing.ts";

/** The supervision of a server: all regions, shared with all other nodes that supervise. */
const EMBEDDED: Supervision = Object.freeze({ regions: null, standby: false });

export interface ControlPlaneOptions {
  readonly store: EngineStore;
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

export interface ControlPlane {
  readonly scheduler: Scheduler;
  readonly dispatcher: Dispatcher;
  /** Polls that wait in this process. */
  parked(): number;
  readonly advance: Advance;
  readonly beginDue: Occurrences["beginDue"];
  readonly ownership: Ownership;
  readonly timers: TimerScan;
  readonly consistency: ConsistencyCheck;
  /** null: this process sends no webhooks. */
  readonly deliveries: Deliveries | null;
  readonly triggers: Triggering;
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
  const scheduler = schedulerOf(world, dispatch);
  const supervisor = supervisorOf(world, dispatch, scheduler);
  const wake = wakeOf(dispatch.claims, supervisor.ownership);
  subscribe(world, dispatch, scheduler, supervisor, wake);
  const calls = callsOf(world, dispatch, scheduler.advance);
  const logs = logAppendsOf(world, scheduler.rateLimit);
  const { advance, schedule, rateLimit, occurrences } = scheduler;
  const { ownership, timers, consistency, circuits, learning, deliveries } = supervisor;
  const { triggers, inbox, pollTick, housekeeping } = supervisor;
  return Object.freeze({
    scheduler: createScheduler(scheduler, dispatch.runWatchers, {
      wake,
      refresh: circuits.runOnce,
    }),
    dispatcher: options.measures?.dispatcher(calls.dispatcher) ?? calls.dispatcher,
    parked: dispatch.waiters.count,
    advance,
    beginDue: occurrences.beginDue,
    ownership,
    timers,
    consistency,
    deliveries,
    triggers,
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
      ownership,
      timers,
      deliveries,
      inbox,
      learning,
      loops: [pollTick, rateLimit, triggers, housekeeping, learning, consistency],
      idle: [dispatch.claims, ...calls.parts, logs, schedule, advance, occurrences],
      traces: world.traces,
    }),
  } satisfies ControlPlane);
}

/** What every part may use. */
function worldOf(options: ControlPlaneOptions) {
  const plans = createPlans(options.store, evaluatorOf);
  return {
    options,
    settings: options.settings ?? SUPERVISOR_DEFAULTS,
    /** The same options with the patient clock. */
    patient: { ...options, clock: options.patient ?? options.clock },
    plans,
    rateLimit: rateLimitOf({ ...options, clock: options.patient ?? options.clock }),
    traces: tracingOf(options, plans),
    ...failuresOf(options),
    subjects: createSubjects(),
  };
}

type World = ReturnType<typeof worldOf>;

/** What parts publish for parts that are created after them. */
function createSubjects() {
  return {
    commits: createSubject<CommitSummary>(),
    undelivered: createSubject<UndeliveredLease>(),
    /** Times at which something will be due in our partitions. */
    dueTimes: createSubject<EpochMs>(),
    takenPartitions: createSubject<readonly number[]>(),
  };
}

/** Polls that wait, and the claims that serve them. */
function dispatchOf({ options, plans, traces, rateLimit, onError, subjects }: World) {
  const { store, clock, random, measures, spans } = options;
  const waiters = createWaiters();
  const watermarks = createWatermarks(clock);
  const admission = createAdmission(clock);
  const versions = createVersionLanes();
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
    onGranted(leases, ms) {
      measures?.granted(leases);
      traces?.granted(leases, ms);
    },
    onUndelivered: subjects.undelivered.publish,
  });
  return {
    waiters,
    watermarks,
    admission,
    versions,
    claims,
    lanes: createLanes(store, versions),
    runWatchers: createRunWatchers(),
    outcomeCounts: createOutcomeCounts(clock),
    attemptCounter: createAttemptCounter(clock),
    agentRegistry: createAgentRegistry(clock),
  };
}

type DispatchParts = ReturnType<typeof dispatchOf>;

/** What begins runs and moves them. */
function schedulerOf(world: World, { versions, admission, claims }: DispatchParts) {
  const { options, settings, plans, traces, rateLimit, onError, subjects } = world;
  const { store, clock, random, isRetryable, measures, waitingMax, spans } = options;
  const typical = createTypicalDurations({ durations: store.durations, limits: settings, onError });
  const shared: AdvanceOptions & Pick<World, "plans"> = {
    store,
    plans,
    clock,
    random,
    onError,
    typical,
    isRetryable,
    waitingMax,
    onFlushed: measures?.onFlushed,
    onOutdated: measures?.outdated,
    handOver: claims,
    publish: subjects.commits.publish,
    suspensions: { ...versions, ...admission },
    traces: spans && traces,
  };
  const occurrenceOptions = { ...shared, announce: subjects.dueTimes.publish };
  return {
    shared,
    typical,
    rateLimit,
    occurrenceOptions,
    advance: createAdvance(shared),
    schedule: createSchedule({
      ...shared,
      admitRun: rateLimit.admit,
      runRefusal: rateLimit.refusal,
    }),
    occurrences: createOccurrences(occurrenceOptions),
  };
}

type SchedulerParts = ReturnType<typeof schedulerOf>;

/** What acts without a caller: it owns partitions, scans their timers, and keeps house. */
function supervisorOf(world: World, dispatch: DispatchParts, scheduler: SchedulerParts) {
  const { options, patient, settings, plans, subjects, failed } = world;
  const { store, clock, log } = options;
  const { advance, schedule, occurrences, shared, typical } = scheduler;
  const quiet = createQuiet();
  const ownership = createOwnership({
    ...patient,
    settings,
    supervision: patient.supervision ?? EMBEDDED,
    partitions: patient.partitions,
    onTaken: subjects.takenPartitions.publish,
    onLanes: (announced) => void dispatch.claims.scan(announced),
    onDueTime: subjects.dueTimes.publish,
    quiet: quiet.wait,
  });
  const owner = () => ({ node: ownership.node(), owned: ownership.owned() });
  const deliveries = deliveriesOf(patient, plans, ownership.owned);
  const triggers = triggeringOf(patient, plans, schedule.schedule, ownership.owned);
  const inbox = inboxOf(patient, schedule.schedule, ownership.owned);
  const outside: Readonly<Record<Outside, { announce(): void } | null>> = {
    inbox,
    deliveries,
    triggers,
  };
  const timers = createTimerScan({
    store,
    advance,
    beginDue: occurrences.beginDue,
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
  const circuits = circuitsOf(patient, {
    owner,
    counted: dispatch.outcomeCounts.take,
    learn: snapshotHandler(dispatch),
  });
  return {
    ownership,
    deliveries,
    triggers,
    inbox,
    timers,
    consistency,
    circuits,
    housekeeping: housekeepingOf(patient, settings),
    learning: createDurationLearning(patient, typical, settings),
    pollTick: pollTickOf(patient, { ...dispatch, circuits }),
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

/** Wakes the agents that wait for these lanes, here and on other servers. */
function wakeOf(claims: Claims, ownership: Ownership) {
  return (lanes: Iterable<number>): void => {
    const filled = [...lanes];
    if (filled.length === 0) return;
    void claims.scan(filled);
    ownership.announceLanes(filled);
  };
}

/** Connects the parts with what others publish. */
function subscribe(
  { options, plans, traces, onError, subjects }: World,
  dispatch: DispatchParts,
  { advance }: SchedulerParts,
  { timers, ownership, deliveries, triggers }: Supervisor,
  wake: (lanes: Iterable<number>) => void,
): void {
  const { lanes, claims, agentRegistry, waiters } = dispatch;
  subjects.undelivered.subscribe(createUndeliveredHandler(advance, onError));
  subjects.dueTimes.subscribe(timers.announce);
  subjects.takenPartitions.subscribe(timers.taken);
  subjects.commits.subscribe(
    publisherOf(options, onError, {
      ...dispatch,
      traces,
      wake,
      timers,
      ownership,
      advance,
      outside: [deliveries, triggers],
    }),
  );
  forgetWith(options.store, [plans, lanes, claims, agentRegistry], waiters);
}

/** What agents call, with the batches behind it. */
function callsOf(
  { options, patient, onError }: World,
  { waiters, lanes, claims, agentRegistry }: DispatchParts,
  advance: Advance,
) {
  const { store, clock, isRetryable, measures } = options;
  const onFlushed = measures?.onFlushed;
  // If it fails, the next heartbeat of the session reports the same.
  const onForgotten = (lease: SessionLease) =>
    void advance.submit(lease, { kind: "forgotten", ...lease }).catch(onError);
  const heartbeats = createHeartbeats({ store, clock, isRetryable, onForgotten, onFlushed });
  const lostPolls = createLostPolls({ store, clock, advance, isRetryable, onError, onFlushed });
  const dispatcher = createDispatch({
    clock: patient.clock,
    advance,
    onError,
    heartbeats,
    lostPolls,
    waiters,
    lanes,
    claims,
    agentRegistry,
  });
  return { dispatcher, parts: [heartbeats, lostPolls] };
}

/** Apart from dispatch: tasks do not wait for lines. */
function logAppendsOf({ options, plans, settings }: World, rateLimit: RateLimit): LogAppends {
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

/** Passes a snapshot of circuits, cordons and pins to the parts of dispatch. */
function snapshotHandler({ admission, versions, lanes, waiters, claims }: DispatchParts) {
  return async (snapshot: CircuitSnapshot): Promise<void> => {
    const made = versions.learn(snapshot.pinned);
    if (made.length > 0) await refreshLanes(waiters, lanes, waiters.all());
    void claims.scan([...admission.learn(snapshot), ...made]);
  };
}

/** undefined: neither a receiver of traces nor the log wants spans. */
function tracingOf({ spans, store, log }: ControlPlaneOptions, plans: Plans): Tracing | undefined {
  const lines = spanLines(log);
  if (!spans && !lines) return undefined;
  const { sink = null, ratio = 0 } = spans ?? {};
  return createTracing({ reads: store.reads, plans, sink, lines, ratio, log });
}
