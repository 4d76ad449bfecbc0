// What watches the runs of one shard, and what it tells the other parts of the process.
import {
  consistencyOf,
  createUndeliveredHandler,
  deliveriesOf,
  housekeepingOf,
  inboxOf,
  triggeringOf,
} from "../background/background.ts";
import { publisherOf } from "../background/publisher.ts";
import type { Waiters } from "../dispatch/waiters.ts";
import type { Occurrences } from "../scheduler/cron/start-occurrences.ts";
import type { Schedule } from "../scheduler/schedule.ts";
import type { Outside } from "../store/due.ts";
import { shardOf } from "../store/partition.ts";
import type { Shards } from "../store/shards.ts";
import type { EngineStore } from "../store/store.ts";
import { recordFailing } from "../supervisor/failing.ts";
import { createOwnership, type Supervision } from "../supervisor/ownership.ts";
import { createTimerScan } from "../supervisor/timers.ts";
import type { Engine } from "./engine.ts";
import type { DispatchParts, World } from "./process-parts.ts";

/** The supervision of a server: all regions, shared with all other nodes that supervise. */
const EMBEDDED: Supervision = Object.freeze({ regions: null, standby: false });

/** What acts without a caller: it owns partitions, scans their timers, and keeps house. */
export function supervisorOf(
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
      ? inboxOf({ ...patient, shard, store: options.store }, schedule.schedule, ownership.owned)
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
    housekeeping: housekeepingOf(patient, settings, shard.count),
  };
}

export type Supervisor = ReturnType<typeof supervisorOf>;

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
export function wakeOf({ claims }: Engine, { ownership }: Supervisor) {
  return (lanes: Iterable<number>): void => {
    const filled = [...lanes];
    if (filled.length === 0) return;
    void claims.scan(filled);
    ownership.announceLanes(filled);
  };
}

export function wakeAll(engines: Shards<Engine>, supervisors: Shards<Supervisor>) {
  const wakes = engines.all.map((engine, number) => wakeOf(engine, supervisors.of(number)));
  return (lanes: readonly number[]): void => {
    for (const wake of wakes) wake(lanes);
  };
}

/** Connects the parts of a shard with what others publish. */
export function subscribe(
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
