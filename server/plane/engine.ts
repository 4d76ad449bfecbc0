// What begins and moves the runs of one shard, and hands out their tasks.
import { createSubject, type Subject } from "../background/subject.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { createClaims, type ForgettableClaims } from "../dispatch/claims.ts";
import type { UndeliveredLease } from "../dispatch/task-delivery.ts";
import { createWatermarks, type Watermarks } from "../dispatch/watermarks.ts";
import { type Advance, type AdvanceOptions, createAdvance } from "../scheduler/advance.ts";
import type { CommitSummary } from "../scheduler/commit-summary.ts";
import type { OccurrenceOptions } from "../scheduler/cron/start-occurrences.ts";
import { createKeyPlaces } from "../scheduler/key-places.ts";
import { newRunId } from "../scheduler/run-id.ts";
import {
  createRunStarts,
  createSchedule,
  KEY_RETENTION_MS,
  type RunStarts,
  type Schedule,
} from "../scheduler/schedule.ts";
import type { ShardNumber } from "../store/partition.ts";
import type { Shards } from "../store/shards.ts";
import type { EngineStore, Tx } from "../store/store.ts";
import type { DispatchParts, World } from "./process-parts.ts";

/** What parts of one shard publish for parts that are created after them. */
interface Subjects {
  readonly commits: Subject<CommitSummary>;
  readonly undelivered: Subject<UndeliveredLease>;
  /** Times at which something will be due in our partitions. */
  readonly dueTimes: Subject<EpochMs>;
  readonly takenPartitions: Subject<readonly number[]>;
}

function createSubjects(): Subjects {
  return {
    commits: createSubject(),
    undelivered: createSubject(),
    dueTimes: createSubject(),
    takenPartitions: createSubject(),
  };
}

export interface Engine {
  readonly store: EngineStore;
  readonly shard: ShardNumber;
  readonly subjects: Subjects;
  readonly watermarks: Watermarks;
  readonly claims: ForgettableClaims;
  readonly shared: AdvanceOptions & Pick<World, "plans">;
  readonly occurrenceOptions: OccurrenceOptions;
  readonly advance: Advance;
  readonly starts: RunStarts;
}

/** What begins and moves the runs of a shard, and hands out their tasks. */
export function engineOf(
  world: World,
  dispatch: DispatchParts,
  store: EngineStore,
  number: number,
): Engine {
  const { options, plans, typical, traces, rateLimit, shards, placeOfKey, onError } = world;
  const { clock, random, isRetryable, measures, waitingMax, spans } = options;
  const { incarnation } = options.store;
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
  const placed = { ...shared, shard, placeOfKey, incarnation };
  return {
    store,
    shard,
    subjects,
    watermarks,
    claims,
    shared,
    occurrenceOptions: { ...placed, announce: subjects.dueTimes.publish },
    advance: createAdvance(shared),
    starts: createRunStarts({
      ...placed,
      admitRun: rateLimit.admit,
      runRefusal: rateLimit.refusal,
    }),
  };
}

/** The state of circuits is in one shard, whose database decides which task is a probe. */
function probesAt(home: EngineStore): Tx["takeProbes"] {
  return (probes) => home.transact({ name: "probes" }, (tx) => tx.takeProbes(probes));
}

export function scheduleOf(world: World, engines: Shards<Engine>): Schedule {
  const { options, plans, rateLimit, shards, placeOfKey } = world;
  const { store, clock, random } = options;
  const newId = () => newRunId(clock.wallMs(), random);
  return createSchedule(
    { store, plans, admitRun: rateLimit.admit, runRefusal: rateLimit.refusal, placeOfKey },
    engines.map((one) => one.starts),
    createKeyPlaces(shards, placeOfKey, newId, KEY_RETENTION_MS),
  );
}
