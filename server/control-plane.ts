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
import { type Advance, createAdvance, type HandOver } from "./scheduler/advance.ts";
import { openBulk } from "./scheduler/bulk.ts";
import { createQueueControl } from "./scheduler/queue-control.ts";
import { createRegister } from "./scheduler/register.ts";
import { rerun } from "./scheduler/rerun.ts";
import { createSchedule } from "./scheduler/schedule.ts";
import type { Scheduler } from "./scheduler/scheduler.ts";
import type { Told } from "./scheduler/told.ts";
import { createWatch } from "./scheduler/watch.ts";
import { createPlans, type Plans } from "./store/plans.ts";
import type { Store } from "./store/store.ts";
import { createDeliveries, type Deliveries, type Post } from "./supervisor/deliveries.ts";
import { createHousekeeping } from "./supervisor/housekeeping.ts";
import { createOwnership, type Ownership, type Supervision } from "./supervisor/ownership.ts";
import { createWatches, type Watches } from "./supervisor/watches.ts";
import { randomUuid } from "./uuid.ts";

/** The part of a server that watches: all regions, shared with whoever else does. */
const EMBEDDED: Supervision = Object.freeze({ regions: null, standby: false });
/** Its owner does what is done once for all: it is of the region `default`. */
const FIRST_PARTITION = 0;

export interface ControlPlaneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly address: string;
  readonly isRetryable: (error: unknown) => boolean;
  /** Sends webhooks; left out: this process sends none. */
  readonly post?: Post;
  /** What this process watches; left out: all, as a server with its supervisor embedded. */
  readonly supervision?: Supervision;
  /** Those that there are; left out: all of every region. */
  readonly partitions?: readonly number[];
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
  start(): Promise<void>;
  /** Finishes what is under way and hands the partitions back. */
  stop(): Promise<void>;
}

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { store, clock, random, log, isRetryable } = options;
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
    ownership.announceMoment(told);
    if (told.outside) deliveries?.announce();
    // Should it fail, the owner of the run's partition finds the message within its next looks.
    for (const run of told.messaged) advance.submit(run, { kind: "messages" }).catch(onError);
  };
  const handOver: HandOver = { claim: (tx, filled) => claims.claim(tx, filled) };
  const shared = { store, plans, clock, random, handOver, tell, isRetryable };
  const advance = createAdvance(shared);
  const schedule = createSchedule(shared);
  const claims = createClaims({
    store,
    plans,
    waiters,
    clock,
    random,
    onError,
    giveBack({ ready, secret }) {
      const { step, fence } = ready;
      advance.submit(ready, { kind: "undelivered", step, fence, secret }).catch(onError);
    },
  });
  const heartbeats = createHeartbeats(store, clock, isRetryable);
  const ownership = createOwnership({
    store,
    clock,
    random,
    log,
    address: options.address,
    ...{ supervision: options.supervision ?? EMBEDDED, partitions: options.partitions },
    onTaken: (partitions) => watches.taken(partitions),
    onLanes: (announced) => void claims.look(announced),
    onMoment: (moment) => watches.announce(moment),
    quiet: () => watches.quiet(),
  });
  const watches = createWatches({
    store,
    advance,
    clock,
    log,
    owner: () => ({ node: ownership.node(), owned: ownership.owned() }),
    onFenced: (node) => ownership.fenced(node),
  });
  const deliveries = deliveriesOf(options, plans, ownership.owned);
  const housekeeping = createHousekeeping(store, clock, log);
  const first = options.partitions?.[0] ?? FIRST_PARTITION;
  const isOwner = (): boolean => ownership.owned().some(({ partition }) => partition === first);
  const inbox = createInbox({ store, schedule: schedule.schedule, isOwner, clock, log });
  const node = randomUuid(random);
  const beat = createBeat({ store, clock, log, node, waiters, lanes, claims, watch });

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
    async start() {
      await ownership.start();
      watches.start();
      beat.start();
      housekeeping.start();
      inbox.start();
      deliveries?.start();
    },
    async stop() {
      // It may wait long for answers, and our partitions are watched meanwhile.
      await deliveries?.stop();
      await beat.stop();
      await inbox.stop();
      await housekeeping.stop();
      await watches.stop();
      await Promise.all([claims.idle(), heartbeats.idle(), schedule.idle(), advance.idle()]);
      await ownership.stop();
    },
  } satisfies ControlPlane);
}

function deliveriesOf(
  { store, post, clock, random, log }: ControlPlaneOptions,
  plans: Plans,
  owned: Ownership["owned"],
): Deliveries | null {
  if (!post) return null;
  return createDeliveries({ outbox: store.outbox, plans, post, clock, random, log, owned });
}
