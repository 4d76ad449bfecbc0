// The parts of a control plane that work without a caller, each created with what it needs. Each of
// their failures is logged at level warn, and counted by its part.
import type { Logger } from "pino";
import type { Clock, Random } from "../clock.ts";
import type { SupervisorConfig } from "../config.ts";
import { CIRCUIT_DEFAULTS, type CircuitSettings } from "../core/model/circuit.ts";
import type { UndeliveredLease } from "../dispatch/task-delivery.ts";
import { createInbox, type Inbox } from "../integrations/inbox.ts";
import { createTriggering, type Triggering } from "../integrations/triggers/triggering.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Advance } from "../scheduler/advance.ts";
import { createRateLimit, RATE_LIMIT_REFRESH_MS, type RateLimit } from "../scheduler/rate-limit.ts";
import { createRewriteDerived, type RewriteOptions } from "../scheduler/rewrite-derived.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { TypicalDurations } from "../scheduler/typical-durations.ts";
import type { AllShards } from "../store/all-shards.ts";
import type { InboxRows } from "../store/inbox.ts";
import type { ShardNumber } from "../store/partition.ts";
import type { Plans } from "../store/plans.ts";
import type { Retention } from "../store/retention.ts";
import type { EngineStore } from "../store/store.ts";
import {
  type CircuitWatch,
  type CircuitWatchOptions,
  createCircuitWatch,
} from "../supervisor/circuits.ts";
import {
  type ConsistencyCheck,
  type ConsistencyOptions,
  createConsistencyCheck,
} from "../supervisor/consistency.ts";
import { createHousekeeping } from "../supervisor/housekeeping.ts";
import type { Ownership } from "../supervisor/ownership.ts";
import { createDeliveries, type Deliveries, type Post } from "../supervisor/webhook-deliveries.ts";
import type { BackgroundPart } from "../telemetry/measures.ts";
import { randomUuid } from "../uuid.ts";
import { createPollTick, type PollTickOptions } from "./poll-tick.ts";

/** Its owner runs the jobs that run once in the cluster. It belongs to the region `default`. */
const SINGLETON_PARTITION = 0;

interface BackgroundOptions {
  readonly store: EngineStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly address: string;
  readonly post?: Post;
  readonly inbox?: InboxRows;
  readonly circuits?: CircuitSettings;
  readonly partitions?: readonly number[];
  readonly measures?: {
    failed(part: BackgroundPart): void;
    derivedRowsRepaired(rows: number): void;
  };
}

/** Of a part that exists once for all shards. */
type OverAll<Part extends keyof AllShards> = Omit<BackgroundOptions, "store"> & {
  readonly store: Pick<AllShards, Part>;
};

type TriggeringParts = Omit<BackgroundOptions, "store"> &
  Pick<Parameters<typeof createTriggering>[0], "store" | "shard">;

/** Handlers for failures that no caller receives. */
export function failuresOf({ log, measures }: Omit<BackgroundOptions, "store">) {
  const failed = (part: BackgroundPart) => () => measures?.failed(part);
  const onError = (error: unknown) => {
    failed("dispatch")();
    log.warn({ event: "dispatch.failed", err: String(error) });
  };
  return { failed, onError };
}

/** Gives back leases whose task was not delivered. */
export function createUndeliveredHandler(advance: Advance, onError: (error: unknown) => void) {
  return ({ lease: { ready, secret }, problem }: UndeliveredLease): void => {
    const { step, fence } = ready;
    const how = problem === null ? ({ unsent: true } as const) : { problem };
    advance.submit(ready, { kind: "undelivered", step, fence, secret, ...how }).catch(onError);
  };
}

export function circuitWatchOf(
  { store, log, measures, circuits: settings = CIRCUIT_DEFAULTS }: OverAll<"circuits">,
  more: Pick<CircuitWatchOptions, "owner" | "counted" | "learn">,
): CircuitWatch {
  const onFailed = () => measures?.failed("circuits");
  return createCircuitWatch({ circuits: store.circuits, settings, log, onFailed, ...more });
}

function retentionFor(
  { circuits: { windowMs } = CIRCUIT_DEFAULTS }: BackgroundOptions,
  { sessionRetentionMs, pollerRetentionMs, logRetentionMs }: SupervisorConfig,
): Partial<Retention> {
  return {
    sessionMs: sessionRetentionMs,
    pollerMs: pollerRetentionMs,
    circuitEndsMs: 2 * windowMs,
    logMs: logRetentionMs,
  };
}

export function createDurationLearning(
  { clock, log, measures }: Omit<BackgroundOptions, "store">,
  typical: TypicalDurations,
  { learnEveryMs: everyMs }: SupervisorConfig,
): Loop {
  const onError = (error: unknown) => {
    measures?.failed("durations");
    log.warn({ event: "durations.not-saved", err: String(error) });
  };
  return createLoop({ clock, everyMs, runOnce: typical.save, onError });
}

export function rateLimitOf({
  store,
  clock,
  log,
  measures,
}: OverAll<"namespaces">): RateLimit & Loop {
  const rateLimit = createRateLimit({ namespaces: store.namespaces, clock });
  const onError = (error: unknown) => {
    measures?.failed("rate-limit");
    log.warn({ event: "rate-limit.failed", err: String(error) });
  };
  const everyMs = RATE_LIMIT_REFRESH_MS;
  return { ...rateLimit, ...createLoop({ clock, everyMs, runOnce: rateLimit.refresh, onError }) };
}

export function inboxOf(
  {
    store,
    shard,
    inbox: rows,
    log,
    measures,
    partitions,
  }: OverAll<"namespace" | "incarnation"> & { readonly shard: ShardNumber },
  schedule: Scheduler["schedule"],
  owned: Ownership["owned"],
): Inbox | null {
  if (!rows) return null;
  const first = partitions?.[0] ?? SINGLETON_PARTITION;
  const isOwner = (): boolean => owned().some(({ partition }) => partition === first);
  const onFailed = () => measures?.failed("inbox");
  return createInbox({ rows, store, shard, schedule, isOwner, log, onFailed });
}

export function deliveriesOf(
  { store, post, clock, random, log, measures }: BackgroundOptions,
  plans: Plans,
  owned: Ownership["owned"],
): Deliveries | null {
  if (!post) return null;
  const onFailed = () => measures?.failed("webhooks");
  const { outbox } = store;
  return createDeliveries({ outbox, plans, post, clock, random, log, owned, onFailed });
}

export function triggeringOf(
  { store, shard, clock, log, measures }: TriggeringParts,
  plans: Plans,
  schedule: Scheduler["schedule"],
  owned: Ownership["owned"],
): Triggering {
  const onFailed = () => measures?.failed("triggers");
  return createTriggering({ store, shard, plans, schedule, clock, log, owned, onFailed });
}

export function housekeepingOf(
  options: BackgroundOptions,
  settings: SupervisorConfig,
  shards: number,
): Loop {
  const { store, clock, log, measures } = options;
  const onFailed = () => measures?.failed("housekeeping");
  const retention = retentionFor(options, settings);
  return createHousekeeping(store, clock, log, retention, { shards, onFailed });
}

type Given = "clock" | "log" | "onFailed";

export function consistencyOf(
  { store, clock, log, measures }: BackgroundOptions,
  rewriting: RewriteOptions,
  more: Pick<ConsistencyOptions, "owner" | "settings">,
): ConsistencyCheck {
  const rewriteDerived = createRewriteDerived(rewriting);
  const onFailed = () => measures?.failed("consistency");
  const onRepaired = (rows: number) => measures?.derivedRowsRepaired(rows);
  const given = { store, rewriteDerived, clock, log, onFailed, onRepaired };
  return createConsistencyCheck({ ...given, ...more });
}

export function pollTickOf(
  { clock, log, address, random, measures }: Omit<BackgroundOptions, "store">,
  more: Omit<PollTickOptions, Given | "node" | "address">,
): Loop {
  const onFailed = () => measures?.failed("poll-tick");
  return createPollTick({
    clock,
    log,
    address,
    node: randomUuid(random),
    onFailed,
    ...more,
  });
}
