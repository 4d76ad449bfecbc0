// What a process has once, however many shards its store has.
import { failuresOf, rateLimitOf } from "../background/background.ts";
import { createSubject, type Subject } from "../background/subject.ts";
import { SUPERVISOR_DEFAULTS } from "../config.ts";
import { createAdmission } from "../dispatch/admission.ts";
import { createAgentRegistry } from "../dispatch/agent-registry.ts";
import { createAttemptCounter } from "../dispatch/attempt-counts.ts";
import {
  createLanes,
  createVersionLanes,
  type KnownLanes,
  type VersionLanes,
} from "../dispatch/lanes.ts";
import { createOutcomeCounts } from "../dispatch/outcome-counts.ts";
import { createWaiters } from "../dispatch/waiters.ts";
import { evaluatorOf } from "../expressions/evaluator.ts";
import { countBatches } from "../scheduler/advance.ts";
import { createPlaceOfKey } from "../scheduler/run-id.ts";
import { createRunWatchers } from "../scheduler/run-watchers.ts";
import { createTypicalDurations } from "../scheduler/typical-durations.ts";
import { createPlans, type Plans } from "../store/plans.ts";
import type { EngineStore } from "../store/store.ts";
import { spanLines } from "../telemetry/span-lines.ts";
import { createTracing, type Tracing } from "../telemetry/traces/tracing.ts";
import { randomUuid } from "../uuid.ts";
import type { ControlPlaneOptions } from "./options.ts";

/** What every part may use. */
export function worldOf(options: ControlPlaneOptions) {
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

export type World = ReturnType<typeof worldOf>;

/** What all shards share is changed through the first one: lanes are made as they are needed. */
function changingAtHome(store: EngineStore, home: EngineStore): EngineStore {
  return store === home ? store : { ...store, lanes: home.lanes };
}

export interface DispatchParts {
  readonly waiters: ReturnType<typeof createWaiters>;
  readonly admission: ReturnType<typeof createAdmission>;
  readonly versions: VersionLanes;
  readonly lanes: KnownLanes;
  readonly runWatchers: ReturnType<typeof createRunWatchers>;
  readonly outcomeCounts: ReturnType<typeof createOutcomeCounts>;
  readonly attemptCounter: ReturnType<typeof createAttemptCounter>;
  readonly agentRegistry: ReturnType<typeof createAgentRegistry>;
  readonly nextBatch: ReturnType<typeof countBatches>;
  /** A queue has reached a limit. */
  readonly fullQueues: Subject<void>;
}

/** Polls that wait, and what the process knows of those who poll. Shared by all shards. */
export function dispatchOf({ options: { clock }, shards }: World): DispatchParts {
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
    fullQueues: createSubject(),
  };
}

/** undefined: neither a receiver of traces nor the log wants spans. */
function tracingOf({ spans, store, log }: ControlPlaneOptions, plans: Plans): Tracing | undefined {
  const lines = spanLines(log);
  if (!spans && !lines) return undefined;
  const { sink = null, ratio = 0 } = spans ?? {};
  return createTracing({ reads: store.reads, plans, sink, lines, ratio, log });
}
