// The control plane put together over a store: scheduler, dispatch and supervisor, each made once
// and joined here. `main.ts` puts the real store, clock and ports around it; a test may put others.
import type { Logger } from "pino";
import { createBeat } from "./beat.ts";
import type { Clock, Random } from "./clock.ts";
import { createClaims } from "./dispatch/claims.ts";
import { createDispatch } from "./dispatch/dispatch.ts";
import type { Dispatcher } from "./dispatch/dispatcher.ts";
import { createHeartbeats } from "./dispatch/heartbeats.ts";
import { createLanes } from "./dispatch/lanes.ts";
import { createWaiters } from "./dispatch/waiters.ts";
import { judgeOf } from "./expressions/judge.ts";
import { createInbox } from "./inbox.ts";
import type { Loop } from "./loop.ts";
import type { Measures } from "./measures.ts";
import {
  type Advance,
  type AdvanceOptions,
  createAdvance,
  type HandOver,
} from "./scheduler/advance.ts";
import { openBulk } from "./scheduler/bulk.ts";
import { createQueueControl } from "./scheduler/queue-control.ts";
import { createRegister } from "./scheduler/register.ts";
import { rerun } from "./scheduler/rerun.ts";
import { createSchedule } from "./scheduler/schedule.ts";
import type { Scheduler } from "./scheduler/scheduler.ts";
import type { Told, Worked } from "./scheduler/told.ts";
import { createWatch, type Watch } from "./scheduler/watch.ts";
import { partitionsOf } from "./store/partition.ts";
import { createPlans, type Plans } from "./store/plans.ts";
import type { Store } from "./store/store.ts";
import { createDeliveries, type Deliveries, type Post } from "./supervisor/deliveries.ts";
import { createHousekeeping } from "./supervisor/housekeeping.ts";
import { createOwnership, type Ownership } from "./supervisor/ownership.ts";
import { createSweep, type Sweep } from "./supervisor/sweep.ts";
import { createWatches, type Watches } from "./supervisor/watches.ts";
import { randomUuid } from "./uuid.ts";

/** The one region that exists so far, `default`. */
const REGION = 0;

export interface ControlPlaneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly address: string;
  readonly isRetryable: (error: unknown) => boolean;
  /** Sends webhooks; left out: this process sends none. */
  readonly post?: Post;
  /** Is told what was done; left out: nobody measures. */
  readonly measures?: Measures;
  /** Those that this process may watch; left out: all of the region. */
  readonly partitions?: readonly number[];
}

export interface ControlPlane {
  readonly scheduler: Scheduler;
  readonly dispatcher: Dispatcher;
  /** Polls that wait here. */
  parked(): number;
  readonly advance: Advance;
  readonly ownership: Ownership;
  readonly watches: Watches;
  readonly sweep: Sweep;
  /** null: this process sends no webhooks. */
  readonly deliveries: Deliveries | null;
  readonly beat: Loop;
  start(): Promise<void>;
  /** Finishes what is under way and hands the partitions back. */
  stop(): Promise<void>;
}

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { store, clock, random, log, isRetryable, measures } = options;
  const plans = createPlans(store, judgeOf);
  const waiters = createWaiters();
  const watch = createWatch();
  const lanes = createLanes(store);
  const onError = (error: unknown) => log.warn({ event: "dispatch.failed", err: String(error) });

  const wake = (of: Iterable<number>): void => {
    const filled = [...of];
    if (filled.length === 0) return;
    void claims.look(filled);
    ownership.announceLanes(filled);
  };
  const tell = (told: Told): void => {
    measures?.worked(told.worked);
    logMended(log, told.worked);
    for (const run of told.runs) watch.changed(run);
    wake(told.lanes);
    if (told.wakeAt !== null) watches.announce(told.wakeAt);
    if (told.outside) deliveries?.announce();
    // Should it fail, the owner of the run's partition finds the message within its next looks.
    for (const run of told.messaged) advance.submit(run, { kind: "messages" }).catch(onError);
  };
  const handOver: HandOver = { claim: (tx, filled) => claims.claim(tx, filled) };
  const onFlown = measures?.onFlown;
  const onUnmended = unmended(log);
  const shared = { store, plans, clock, random, handOver, tell, isRetryable, onFlown, onUnmended };
  const advance = createAdvance(shared);
  const schedule = createSchedule(shared);
  const claims = createClaims({
    store,
    plans,
    waiters,
    clock,
    random,
    onError,
    onGranted: (leases) => measures?.granted(leases),
    giveBack({ ready, secret }) {
      const { step, fence } = ready;
      advance.submit(ready, { kind: "undelivered", step, fence, secret }).catch(onError);
    },
  });
  const heartbeats = createHeartbeats(store, clock, isRetryable, onFlown);
  const ownership = createOwnership({
    store,
    clock,
    random,
    log,
    address: options.address,
    partitions: options.partitions ?? partitionsOf(REGION),
    onTaken: (partitions) => watches.taken(partitions),
    onLanes: (announced) => void claims.look(announced),
    quiet: () => watches.quiet(),
  });
  const owner = () => ({ node: ownership.node(), owned: ownership.owned() });
  const watches = createWatches({
    store,
    advance,
    clock,
    log,
    owner,
    onFenced: (node) => ownership.fenced(node),
  });
  const deliveries = deliveriesOf(options, plans, ownership.owned);
  const housekeeping = createHousekeeping(store, clock, log);
  const sweep = createSweep({ store, plans, advance, clock, log, owner });
  const [first] = options.partitions ?? partitionsOf(REGION);
  const isOwner = (): boolean => ownership.owned().some(({ partition }) => partition === first);
  const inbox = createInbox({ store, schedule: schedule.schedule, isOwner, clock, log });
  const node = randomUuid(random);
  const beat = createBeat({ store, clock, log, node, waiters, lanes, claims, watch });

  const dispatcher = createDispatch({
    ...{ store, clock, random, advance, onError },
    ...{ claims, waiters, lanes, heartbeats },
  });

  return Object.freeze({
    scheduler: schedulerOf(shared, { schedule, advance, watch, wake }),
    dispatcher: measures?.dispatcher(dispatcher) ?? dispatcher,
    parked: waiters.count,
    advance,
    ownership,
    watches,
    sweep,
    deliveries,
    beat,
    async start() {
      await ownership.start();
      watches.start();
      beat.start();
      housekeeping.start();
      sweep.start();
      inbox.start();
      deliveries?.start();
    },
    async stop() {
      // It may wait long for answers, and our partitions are watched meanwhile.
      await deliveries?.stop();
      await beat.stop();
      await inbox.stop();
      await housekeeping.stop();
      await sweep.stop();
      await watches.stop();
      await Promise.all([claims.idle(), heartbeats.idle(), schedule.idle(), advance.idle()]);
      await ownership.stop();
    },
  } satisfies ControlPlane);
}

function unmended(log: Logger): AdvanceOptions["onUnmended"] {
  return ({ runId: run }, broken) =>
    log.error({ event: "integrity.unmended", run, broken }, "a run could not be put right");
}

/** Each is a bug of ours, and so a line in the log. */
function logMended(log: Logger, { records }: Worked): void {
  for (const { head, effects } of records)
    for (const effect of effects)
      if (effect.kind === "intervened" && effect.intervention.rule === "integrity") {
        const { step, saw, did } = effect.intervention;
        log.error({ event: "integrity", run: head.runId, step, saw, did }, `${saw}: ${did}`);
      }
}

function deliveriesOf(
  { store, post, clock, random, log }: ControlPlaneOptions,
  plans: Plans,
  owned: Ownership["owned"],
): Deliveries | null {
  if (!post) return null;
  return createDeliveries({ outbox: store.outbox, plans, post, clock, random, log, owned });
}

function schedulerOf(
  shared: AdvanceOptions,
  {
    schedule,
    advance,
    watch,
    wake,
  }: {
    readonly schedule: ReturnType<typeof createSchedule>;
    readonly advance: Advance;
    readonly watch: Watch;
    readonly wake: (lanes: Iterable<number>) => void;
  },
): Scheduler {
  const { store, plans } = shared;
  return {
    ...createRegister(store),
    schedule: schedule.schedule,
    scheduleBatch: schedule.scheduleBatch,
    openBulk: (request) => openBulk(shared, request),
    rerun: (request) => rerun({ store, plans, submit: schedule.submit }, request),
    async tell(run, event) {
      const answer = await advance.submit(run, event);
      if (answer.kind === "fenced" || answer.kind === "no-such-run")
        throw new Error(`the ${event.kind} of run ${run.runId} was answered ${answer.kind}`);
      return answer;
    },
    runChange: watch.change,
    ...createQueueControl({ queues: store.queues, wake }),
  };
}
