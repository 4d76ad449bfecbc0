// The control plane put together over a store: scheduler, dispatch and supervisor, each made once
// and joined here. `main.ts` puts the real store, clock and ports around it; a test may put others.
import type { Logger } from "pino";
import { createBeat } from "./beat.ts";
import type { Clock, Random } from "./clock.ts";
import { SUPERVISOR_DEFAULTS, type SupervisorConfig } from "./config.ts";
import { createClaims } from "./dispatch/claims.ts";
import { createDispatch } from "./dispatch/dispatch.ts";
import type { Dispatcher } from "./dispatch/dispatcher.ts";
import { createHeartbeats } from "./dispatch/heartbeats.ts";
import { createLanes } from "./dispatch/lanes.ts";
import { createWaiters } from "./dispatch/waiters.ts";
import { judgeOf } from "./expressions/judge.ts";
import { createInbox } from "./inbox.ts";
import { createLoop, type Loop } from "./loop.ts";
import { type Advance, createAdvance, type HandOver } from "./scheduler/advance.ts";
import { openBulk } from "./scheduler/bulk.ts";
import { createQueueControl } from "./scheduler/queue-control.ts";
import { createRegister } from "./scheduler/register.ts";
import { rerun } from "./scheduler/rerun.ts";
import { createSchedule } from "./scheduler/schedule.ts";
import type { Scheduler } from "./scheduler/scheduler.ts";
import type { Told } from "./scheduler/told.ts";
import { createUsualDurations, type UsualDurations } from "./scheduler/usual-durations.ts";
import { createWatch } from "./scheduler/watch.ts";
import { partitionsOf } from "./store/partition.ts";
import { createPlans, type Plans } from "./store/plans.ts";
import type { Store } from "./store/store.ts";
import { createDeliveries, type Deliveries, type Post } from "./supervisor/deliveries.ts";
import { createHousekeeping } from "./supervisor/housekeeping.ts";
import { createOwnership, type Ownership } from "./supervisor/ownership.ts";
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
  /** Those that this process may watch; left out: all of the region. */
  readonly partitions?: readonly number[];
  /** Left out: the defaults. */
  readonly settings?: SupervisorConfig;
}

export interface ControlPlane {
  readonly scheduler: Scheduler;
  readonly dispatcher: Dispatcher;
  readonly advance: Advance;
  readonly ownership: Ownership;
  readonly watches: Watches;
  /** null: this process sends no webhooks. */
  readonly deliveries: Deliveries | null;
  readonly beat: Loop;
  /** Tells what was learned of durations, and asks for what is in use. */
  readonly learning: Loop;
  start(): Promise<void>;
  /** Finishes what is under way and hands the partitions back. */
  stop(): Promise<void>;
}

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { store, clock, random, log, isRetryable, settings = SUPERVISOR_DEFAULTS } = options;
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
    for (const run of told.runs) watch.changed(run);
    wake(told.lanes);
    if (told.wakeAt !== null) watches.announce(told.wakeAt);
    if (told.outside) deliveries?.announce();
    // Should it fail, the owner of the run's partition finds the message within its next looks.
    for (const run of told.messaged) advance.submit(run, { kind: "messages" }).catch(onError);
  };
  const handOver: HandOver = { claim: (tx, filled) => claims.claim(tx, filled) };
  const usual = createUsualDurations({ durations: store.durations, limits: settings, onError });
  const shared = { store, plans, clock, random, handOver, usual, tell, isRetryable };
  const advance = createAdvance(shared);
  const schedule = createSchedule(shared);
  const claims = createClaims({
    ...{ store, plans, waiters, clock, random, onError },
    giveBack({ ready, secret }) {
      const { step, fence } = ready;
      advance.submit(ready, { kind: "undelivered", step, fence, secret }).catch(onError);
    },
  });
  // Should it fail, the next beat of the session says the same.
  const heartbeats = createHeartbeats(store, clock, isRetryable, (lease) => {
    advance.submit(lease, { kind: "forgotten", ...lease }).catch(onError);
  });
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
  const watches = createWatches({
    store,
    advance,
    clock,
    log,
    settings,
    owner: () => ({ node: ownership.node(), owned: ownership.owned() }),
    onFenced: (node) => ownership.fenced(node),
  });
  const deliveries = deliveriesOf(options, plans, ownership.owned);
  const housekeeping = createHousekeeping(store, clock, log, settings);
  const learning = learningOf(options, usual, settings);
  const [first] = options.partitions ?? partitionsOf(REGION);
  const isOwner = (): boolean => ownership.owned().some(({ partition }) => partition === first);
  const inbox = createInbox({ store, schedule: schedule.schedule, isOwner, clock, log });
  const node = randomUuid(random);
  const beat = createBeat({ store, clock, log, node, waiters, lanes, claims, watch });
  const loops = [beat, inbox, housekeeping, learning];

  return Object.freeze({
    scheduler: {
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
      learnedDurations: usual.learned,
      runChange: watch.change,
      ...createQueueControl({ queues: store.queues, wake }),
    },
    dispatcher: createDispatch({
      ...{ store, clock, random, advance, onError },
      ...{ claims, waiters, lanes, heartbeats },
    }),
    advance,
    ownership,
    watches,
    deliveries,
    beat,
    learning,
    async start() {
      await ownership.start();
      watches.start();
      for (const loop of loops) loop.start();
      deliveries?.start();
    },
    async stop() {
      // It may wait long for answers, and our partitions are watched meanwhile.
      await deliveries?.stop();
      for (const loop of loops) await loop.stop();
      await watches.stop();
      await Promise.all([claims.idle(), heartbeats.idle(), schedule.idle(), advance.idle()]);
      await learning.runOnce();
      await ownership.stop();
    },
  } satisfies ControlPlane);
}

function learningOf(
  { clock, log }: ControlPlaneOptions,
  usual: UsualDurations,
  { learnEveryMs: everyMs }: SupervisorConfig,
): Loop {
  const onError = (error: unknown) =>
    log.debug({ event: "durations.not-told", err: String(error) });
  return createLoop({ clock, everyMs, runOnce: usual.tell, onError });
}

function deliveriesOf(
  { store, post, clock, random, log }: ControlPlaneOptions,
  plans: Plans,
  owned: Ownership["owned"],
): Deliveries | null {
  if (!post) return null;
  return createDeliveries({ outbox: store.outbox, plans, post, clock, random, log, owned });
}
