// Assembles the control plane over a store: creates scheduler, dispatch and supervisor, each once,
// and connects them. `main.ts` passes the real store, clock and ports; a test may pass others.
import type { Logger } from "pino";
import {
  circuitsOf,
  consistencyOf,
  deliveriesOf,
  failuresOf,
  housekeepingOf,
  inboxOf,
  learningOf,
  pollTickOf,
  rateLimitOf,
  triggeringOf,
  undeliveredBy,
} from "./background.ts";
import type { Clock, Random } from "./clock.ts";
import { SUPERVISOR_DEFAULTS, type SupervisorConfig } from "./config.ts";
import type { EpochMs } from "./core/attempt.ts";
import type { CircuitSettings } from "./core/circuit.ts";
import { type Admission, createAdmission } from "./dispatch/admission.ts";
import { createAgentRegistry } from "./dispatch/agent-registry.ts";
import { type Claims, createClaims } from "./dispatch/claims.ts";
import { createDispatch, type DispatchOptions } from "./dispatch/dispatch.ts";
import type { Dispatcher } from "./dispatch/dispatcher.ts";
import { createHeartbeats } from "./dispatch/heartbeats.ts";
import { createLanes, type Lanes, refreshLanes } from "./dispatch/lanes.ts";
import { createLostPolls } from "./dispatch/lost-polls.ts";
import { createOutcomeCounts } from "./dispatch/outcome-counts.ts";
import { createVersionLanes, type VersionLanes } from "./dispatch/version-lanes.ts";
import { createWaiters, type Waiters } from "./dispatch/waiters.ts";
import { createWatermarks } from "./dispatch/watermarks.ts";
import { DroverError } from "./errors.ts";
import { evaluatorOf } from "./expressions/evaluator.ts";
import { lifeCycleOf } from "./life-cycle.ts";
import type { Loop } from "./loop.ts";
import type { Measures } from "./measures.ts";
import { publisherOf } from "./publisher.ts";
import {
  type Advance,
  type AdvanceOptions,
  createAdvance,
  type HandOver,
} from "./scheduler/advance.ts";
import { openBulk } from "./scheduler/bulk.ts";
import { createCircuitControl } from "./scheduler/circuit-control.ts";
import {
  createOccurrences,
  type OccurrenceOptions,
  type Occurrences,
} from "./scheduler/occurrences.ts";
import { createQueueControl } from "./scheduler/queue-control.ts";
import type { RateLimit } from "./scheduler/rate-limit.ts";
import { createRegister } from "./scheduler/register.ts";
import { rerun, rerunRefusal } from "./scheduler/rerun.ts";
import { createRunWatchers, type RunWatchers } from "./scheduler/run-watchers.ts";
import { createSchedule } from "./scheduler/schedule.ts";
import { createScheduleControl } from "./scheduler/schedule-control.ts";
import type { Scheduler } from "./scheduler/scheduler.ts";
import { createTypicalDurations } from "./scheduler/typical-durations.ts";
import type { CircuitSnapshot } from "./store/circuits.ts";
import type { Outside } from "./store/due.ts";
import type { InboxRows } from "./store/inbox.ts";
import { createPlans, type Plans } from "./store/plans.ts";
import type { EngineStore, SessionLease } from "./store/store.ts";
import type { CircuitWatch } from "./supervisor/circuits.ts";
import type { ConsistencyCheck } from "./supervisor/consistency.ts";
import type { Deliveries, Post } from "./supervisor/deliveries.ts";
import { recordFailing } from "./supervisor/failing.ts";
import { createOwnership, type Ownership, type Supervision } from "./supervisor/ownership.ts";
import { createTimerScan, type TimerScan } from "./supervisor/timers.ts";
import { spanLines } from "./telemetry/span-lines.ts";
import type { SpanSink } from "./telemetry/spans.ts";
import { createTracing, type Tracing } from "./traces/tracing.ts";
import type { Triggering } from "./triggers/triggering.ts";

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
  start(): Promise<void>;
  /** Finishes what is in flight and hands the partitions back. */
  stop(): Promise<void>;
}

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { store, clock, random, isRetryable, measures, waitingMax } = options;
  const { settings = SUPERVISOR_DEFAULTS } = options;
  const patient = { ...options, clock: options.patient ?? clock };
  const { failed, onError } = failuresOf(options);
  const plans = createPlans(store, evaluatorOf);
  const traces = tracingOf(options, plans);
  const waiters = createWaiters();
  const watermarks = createWatermarks(clock);
  const outcomeCounts = createOutcomeCounts(clock);
  const runWatchers = createRunWatchers();
  const admission = createAdmission(clock);
  const versions = createVersionLanes();
  const lanes = createLanes(store, versions);
  const publish = publisherOf(options, onError, () => ({
    ...{ traces, runWatchers, wake, outcomeCounts, timers, ownership, advance },
    outside: [deliveries, triggers],
  }));
  const handOver = handOverBy(() => claims);
  const typical = createTypicalDurations({ durations: store.durations, limits: settings, onError });
  const { onFlushed, outdated: onOutdated } = measures ?? {};
  const rateLimit = rateLimitOf(patient);
  const world = { store, plans, clock, random, onError };
  const shared: AdvanceOptions = {
    ...{ ...world, handOver, typical, publish, isRetryable, waitingMax, onFlushed, onOutdated },
    suspensions: { ...versions, ...admission },
    traces: options.spans && traces,
  };
  const advance = createAdvance(shared);
  const schedule = createSchedule({ ...shared, plans, enter: rateLimit.admit });
  const occurrenceOptions = { ...shared, plans, announce: (at: EpochMs) => timers.announce(at) };
  const { beginDue, idle: occurrencesIdle } = createOccurrences(occurrenceOptions);
  const claims = createClaims({
    ...{ ...world, waiters, admission, watermarks, taskTrace: options.spans && traces?.task },
    onGranted(leases, ms) {
      measures?.granted(leases);
      traces?.granted(leases, ms);
    },
    ...undeliveredBy(advance, onError),
  });
  const wake = (of: Iterable<number>): void => {
    const filled = [...of];
    if (filled.length === 0) return;
    void claims.scan(filled);
    ownership.announceLanes(filled);
  };
  const { ownership, timers, owner } = supervisionOf(options, patient, {
    ...{ settings, advance, beginDue, claims, onFailed: failed("timers") },
    quiet: () => consistency.quiet(),
    outside: () => ({ inbox, deliveries, triggers }),
  });
  const deliveries = deliveriesOf(patient, plans, ownership.owned);
  const triggers = triggeringOf(patient, plans, schedule.schedule, ownership.owned);
  const housekeeping = housekeepingOf(patient, settings);
  const learning = learningOf(patient, typical, settings);
  const consistency = consistencyOf(patient, shared, { owner, settings });
  const inbox = inboxOf(patient, schedule.schedule, ownership.owned);
  const learn = snapshotHandler({ admission, versions, lanes, waiters, claims });
  const circuits = circuitsOf(patient, { owner, counted: outcomeCounts.take, learn });
  const parked = { waiters, lanes, claims, runWatchers, agentRegistry: createAgentRegistry(clock) };
  const pollTick = pollTickOf(patient, { watermarks, ...parked, circuits });
  forgetWith(store, [plans, lanes, claims, parked.agentRegistry], waiters);
  const calls = callsOf(options, { clock: patient.clock, advance, onError, ...parked });

  const loops = [pollTick, rateLimit, triggers, housekeeping, learning, consistency];
  const idle = [claims, ...calls.parts, schedule, advance, { idle: occurrencesIdle }];
  const control = { schedule, advance, runWatchers, wake, occurrenceOptions, rateLimit };
  return Object.freeze({
    scheduler: schedulerOf(shared, { ...control, refresh: circuits.runOnce }),
    dispatcher: measures?.dispatcher(calls.dispatcher) ?? calls.dispatcher,
    parked: waiters.count,
    ...{ advance, beginDue, ownership, timers, consistency, deliveries, triggers, pollTick },
    ...{ circuits, learning, payloadBytesMax: rateLimit.payloadBytesMax },
    ...lifeCycleOf({
      ...{ circuits, rateLimit, ownership, timers, loops, deliveries, inbox, idle, learning },
      traces,
    }),
  } satisfies ControlPlane);
}

interface SupervisionParts {
  readonly settings: SupervisorConfig;
  readonly advance: Advance;
  readonly beginDue: Occurrences["beginDue"];
  readonly claims: Claims;
  readonly onFailed: () => void;
  /** Resolves when the consistency check has nothing in flight. */
  readonly quiet: () => Promise<void>;
  /** What the timer scan may find work for; null: it is not here. */
  readonly outside: () => Readonly<Record<Outside, { announce(): void } | null>>;
}

/** The partitions that this process owns, and the scan of their timers. */
function supervisionOf(
  { store, clock, log }: ControlPlaneOptions,
  patient: ControlPlaneOptions,
  { settings, advance, beginDue, claims, onFailed, quiet, outside }: SupervisionParts,
) {
  const ownership = createOwnership({
    ...{ ...patient, settings, supervision: patient.supervision ?? EMBEDDED },
    partitions: patient.partitions,
    onTaken: (partitions) => timers.taken(partitions),
    onLanes: (announced) => void claims.scan(announced),
    onDueTime: (at) => timers.announce(at),
    quiet: async () => {
      await timers.quiet();
      await quiet();
    },
  });
  const owner = () => ({ node: ownership.node(), owned: ownership.owned() });
  const timers = createTimerScan({
    ...{ store, advance, beginDue, clock, log, settings, owner, onFailed },
    onFailing: recordFailing({ store, clock, log }),
    onFenced: (node) => ownership.fenced(node),
    onOutside(what) {
      const parts = outside();
      for (const one of what) parts[one]?.announce();
    },
  });
  return { ownership, timers, owner };
}

/** What agents call, with the batches behind it. */
function callsOf(
  { store, clock, isRetryable, measures }: ControlPlaneOptions,
  parts: Omit<DispatchOptions, "heartbeats" | "lostPolls">,
) {
  const { advance, onError } = parts;
  const { onFlushed } = measures ?? {};
  // If it fails, the next heartbeat of the session reports the same.
  const onForgotten = (lease: SessionLease) =>
    void advance.submit(lease, { kind: "forgotten", ...lease }).catch(onError);
  const heartbeats = createHeartbeats({ store, clock, isRetryable, onForgotten, onFlushed });
  const lostPolls = createLostPolls({ store, clock, advance, isRetryable, onError, onFlushed });
  return {
    dispatcher: createDispatch({ ...parts, heartbeats, lostPolls }),
    parts: [heartbeats, lostPolls],
  };
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
function snapshotHandler({ admission, versions, lanes, waiters, claims }: SnapshotParts) {
  return async (snapshot: CircuitSnapshot): Promise<void> => {
    const made = versions.learn(snapshot.pinned);
    if (made.length > 0) await refreshLanes(waiters, lanes, waiters.all());
    void claims.scan([...admission.learn(snapshot), ...made]);
  };
}

interface SnapshotParts {
  readonly admission: Admission;
  readonly versions: VersionLanes;
  readonly lanes: Lanes;
  readonly waiters: Waiters;
  readonly claims: Claims;
}

/** undefined: neither a receiver of traces nor the log wants spans. */
function tracingOf({ spans, store, log }: ControlPlaneOptions, plans: Plans): Tracing | undefined {
  const lines = spanLines(log);
  if (!spans && !lines) return undefined;
  const { sink = null, ratio = 0 } = spans ?? {};
  return createTracing({ reads: store.reads, plans, sink, lines, ratio, log });
}

interface SchedulerParts {
  readonly schedule: ReturnType<typeof createSchedule>;
  readonly advance: Advance;
  readonly runWatchers: RunWatchers;
  readonly wake: (lanes: Iterable<number>) => void;
  readonly occurrenceOptions: OccurrenceOptions;
  /** Reads circuits, cordons and pins now. */
  readonly refresh: () => Promise<void>;
  readonly rateLimit: RateLimit;
}

function schedulerOf(
  shared: AdvanceOptions,
  { schedule, advance, runWatchers, wake, occurrenceOptions, refresh, rateLimit }: SchedulerParts,
): Scheduler {
  const { store, plans } = shared;
  return {
    ...createRegister(store),
    schedule: schedule.schedule,
    scheduleBatch: schedule.scheduleBatch,
    openBulk: (request) => openBulk(shared, request),
    rerun: (request) =>
      rerun({ store, plans, submit: schedule.submit, enter: rateLimit.admit }, request),
    rerunRefusal: (asked, runs) => rerunRefusal({ store, plans }, asked, runs),
    async command(run, event) {
      const answer = await advance.ask(run, event);
      if (answer.kind === "fenced")
        throw new Error(`the ${event.kind} of run ${run.runId} was answered fenced`);
      // The run existed when it was looked up: the database has failed over and lost its last
      // commits.
      if (answer.kind === "no-such-run")
        throw new DroverError("RUN_NOT_FOUND", `run ${run.runId} is no more`);
      return answer;
    },
    async limitNamespace(namespaceId, limits) {
      await store.namespaces.setLimits(namespaceId, limits);
      await rateLimit.refresh();
    },
    learnedDurations: shared.typical.learned,
    runChange: runWatchers.change,
    ...createQueueControl({ queues: store.queues, pins: store.pins, wake, refresh }),
    ...createScheduleControl(occurrenceOptions),
    ...createCircuitControl({ store, circuits: store.circuits, refresh }),
  };
}

/**
 * Batches hand over by claims, and claims need batches to give tasks back. So claims are created
 * later and called through this function.
 */
function handOverBy(claims: () => HandOver): HandOver {
  return {
    claim: (...a) => claims().claim(...a),
    begun: (runs) => claims().begun(runs),
    ended: (runs) => claims().ended(runs),
  };
}
