// Which partitions this process owns.
//
//   not joined → joined (a session, a node id, writer rows) → owner of its share → lost → not
//   joined; it joins again under a new id
//
// The advisory locks of the session elect the owner. If the last answered ping of a process is too
// old, the process stops by its own monotonic clock, one scan before the database ends its session.
// A process that was fenced finds its writer row missing, forgets everything and joins again.
import type { Logger } from "pino";
import type { Clock, Random, Timer } from "../clock.ts";
import type { SupervisorConfig } from "../config.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { DroverError, errorMessage } from "../errors.ts";
import { partitionsOf, regionOf, type ShardNumber, shardOf } from "../store/partition.ts";
import type { PartitionScan, PartitionSession } from "../store/partition-session.ts";
import type { EngineStore } from "../store/store.ts";
import { randomUuid } from "../uuid.ts";
import { assign, movesNow } from "./assignment.ts";

export interface Owned {
  readonly partition: number;
  readonly epoch: number;
}

/** What a process watches, and how. */
export interface Supervision {
  /** Ids of regions; null: all, also those that are created later; none: it watches nothing. */
  readonly regions: readonly number[] | null;
  /** It owns only what no other node is there for. */
  readonly standby: boolean;
}

/**
 * For a process that only serves: it joins to receive announced lanes, and watches no partition.
 */
export const NO_SUPERVISION: Supervision = Object.freeze({ regions: [], standby: false });

/** The earliest due time that a commit has set; null: none. `now`: the time of the commit. */
interface DueTimeSet {
  readonly wakeAt: EpochMs | null;
  readonly now: EpochMs;
}

export interface Ownership {
  /** Rejects if nothing can be watched from here, although something should be. */
  start(): Promise<void>;
  /** Hands all partitions back at once and leaves. */
  stop(): Promise<void>;
  /** The node id of the present membership; null while not joined. */
  node(): string | null;
  owned(): readonly Owned[];
  /** Other nodes have been seen alive. */
  hasPeers(): boolean;
  /** A batch has found the writer row of this node missing. */
  fenced(node: string): void;
  /** All partitions that exist, of every region. */
  partitions(): readonly number[];
  /** Partitions, of all regions, that have had no owner for longer than a take-over takes. */
  unwatched(): readonly number[];
  announceLanes(lanes: readonly number[]): void;
  /** Announces the earliest due time that was set to the possible owners, if it is near. */
  announceDueTime(set: DueTimeSet): void;
}

interface OwnershipOptions {
  readonly store: EngineStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly address: string;
  /** A UUID by which this process is known in all shards; left out: there is one shard. */
  readonly process?: string | undefined;
  readonly supervision: Supervision;
  readonly settings: Pick<
    SupervisorConfig,
    "scanEveryMs" | "ownerPollMs" | "ownerLostMs" | "ownerMoves"
  >;
  /** The partitions that exist; left out: all of every region that this shard stores. */
  readonly partitions?: readonly number[] | undefined;
  /** The shard that stores them; left out: the only one. */
  readonly shard?: ShardNumber;
  readonly onTaken: (partitions: readonly number[]) => void;
  readonly onLanes: (lanes: readonly number[]) => void;
  readonly onDueTime: (dueAt: EpochMs) => void;
  /** Resolves when no event of this process about a partition is in flight. */
  readonly quiet: () => Promise<void>;
}

interface Membership {
  readonly session: PartitionSession;
  /** Epochs by partition. */
  readonly owned: Map<number, number>;
  /** By partition: the monotonic time since when no node has held it. */
  readonly freeSince: Map<number, number>;
  readonly handedBack: Set<number>;
  /** When it last handed a partition back. */
  movedAt: number;
  all: readonly number[];
  unwatched: readonly number[];
  peers: boolean;
  answeredSentAt: number;
  /** The earliest time that is still to be announced, while another announcement is in flight. */
  dueAt: { isSending: boolean; next: EpochMs | null };
}

interface State {
  readonly options: OwnershipOptions;
  /** Measured from the time at which the last answered ping was sent. */
  readonly trustMs: number;
  readonly watchesNothing: boolean;
  /** null while not joined. */
  member: Membership | null;
  timer: Timer | null;
  running: boolean;
  ticking: Promise<unknown> | null;
}

export function createOwnership(options: OwnershipOptions): Ownership {
  const { ownerPollMs, ownerLostMs } = options.settings;
  const state: State = {
    options,
    trustMs: ownerLostMs - ownerPollMs,
    watchesNothing: options.supervision.regions?.length === 0,
    member: null,
    timer: null,
    running: false,
    ticking: null,
  };
  return Object.freeze({
    start: () => start(state),
    stop: () => stop(state),
    node: () => state.member?.session.node ?? null,
    owned: () => ownedNow(state),
    hasPeers: () => state.member?.peers ?? false,
    partitions: () => state.member?.all ?? stored(options, 0),
    unwatched: () => state.member?.unwatched ?? [],
    fenced(node: string) {
      const { member } = state;
      if (member?.session.node === node) lose(state, member, "a take-over has fenced this node");
    },
    announceLanes: (lanes: readonly number[]) => announceLanes(state, lanes),
    announceDueTime: (set: DueTimeSet) => announceDueTime(state, set),
  });
}

/** The partitions of a region that are in this shard. */
function stored({ shard }: Pick<OwnershipOptions, "shard">, region: number): readonly number[] {
  const all = partitionsOf(region);
  return shard ? all.filter((one) => shardOf(one, shard.count) === shard.number) : all;
}

async function start(state: State): Promise<void> {
  if (state.running) return;
  state.running = true;
  const fatalError = await tick(state);
  // A process that watches nothing also learns of lanes by its poll tick, up to a second later.
  state.running = fatalError === null;
  if (fatalError !== null && !state.watchesNothing) throw fatalError;
  plan(state);
}

async function stop(state: State): Promise<void> {
  if (!state.running) return;
  state.running = false;
  state.timer?.cancel();
  await state.ticking;
  const last = state.member;
  if (!last) return;
  const partitions = [...last.owned.keys()];
  last.owned.clear();
  await state.options.quiet();
  state.member = null;
  if (partitions.length > 0) await last.session.unlock(partitions).catch(() => undefined);
  await last.session.leave();
}

function plan(state: State): void {
  if (!state.running) return;
  const { clock, settings } = state.options;
  state.timer = clock.after(settings.ownerPollMs, () => {
    const { ticking, member } = state;
    if (ticking && member && !isTrusted(state, member))
      lose(state, member, "a ping is not answered");
    state.ticking ??= tick(state).finally(() => {
      state.ticking = null;
    });
    plan(state);
  });
}

/** Returns the error that makes it impossible to join, however often it is tried. */
async function tick(state: State): Promise<DroverError | null> {
  const { log } = state.options;
  try {
    if (!state.member) await join(state);
    else if (!isTrusted(state, state.member))
      lose(state, state.member, `no answer to a ping for ${state.trustMs} ms`);
    if (state.member) await poll(state, state.member);
  } catch (error) {
    const why = errorMessage(error);
    if (state.member) lose(state, state.member, why);
    else log.warn({ event: "partitions.join-failed", why });
    if (isUnsupported(error)) return error;
  }
  return null;
}

/** A repetition does not help: there is a transaction pooler in between. */
function isUnsupported(error: unknown): error is DroverError {
  return error instanceof DroverError && error.reason === "NOT_SUPPORTED";
}

async function join(state: State): Promise<void> {
  const { store, clock, random, log, address, supervision, onLanes, onDueTime } = state.options;
  const node = randomUuid(random);
  const { process = node } = state.options;
  const sentAt = clock.monotonicMs();
  const session = await store.partitions.join({ node, process, address, ...supervision });
  const joined: Membership = {
    session,
    owned: new Map(),
    freeSince: new Map(),
    handedBack: new Set(),
    movedAt: Number.NEGATIVE_INFINITY,
    all: stored(state.options, 0),
    unwatched: [],
    peers: false,
    answeredSentAt: sentAt,
    dueAt: { isSending: false, next: null },
  };
  state.member = joined;
  session.onLost((cause) => lose(state, joined, cause.message));
  session.onLanes(onLanes);
  session.onDueTimes(onDueTime);
  log.info({ event: "partitions.joined", node });
}

function lose(state: State, lost: Membership, why: string): void {
  if (state.member !== lost) return;
  state.member = null;
  const { session, owned } = lost;
  state.options.log.warn({ event: "partitions.lost", node: session.node, held: owned.size, why });
  owned.clear();
  void session.leave();
}

function isTrusted({ options, trustMs }: State, of: Membership): boolean {
  return options.clock.monotonicMs() - of.answeredSentAt < trustMs;
}

function ownedNow(state: State): readonly Owned[] {
  const { member } = state;
  if (!member || !isTrusted(state, member)) return [];
  return [...member.owned].map(([partition, epoch]) => ({ partition, epoch }));
}

/** Pings the database, takes partitions that are free, and hands back those of other nodes. */
async function poll(state: State, of: Membership): Promise<void> {
  const { clock, supervision, settings } = state.options;
  const sentAt = clock.monotonicMs();
  const seen = await of.session.poll();
  const { node } = of.session;
  of.answeredSentAt = sentAt;
  of.peers = seen.liveNodes.some((live) => live.node !== node);
  const mine = mark(state, of, seen, sentAt);
  if (state.watchesNothing) return;
  const { take, handBack } = assign({
    me: { node, ...supervision },
    liveNodes: seen.liveNodes,
    partitions: mine,
    owned: new Set(of.owned.keys()),
    freeForMs: new Map([...of.freeSince].map(([one, since]) => [one, sentAt - since])),
    handedBack: of.handedBack,
    movesMax: movesNow(seen.liveNodes, sentAt - of.movedAt, settings.ownerMoves),
  });
  if (take.length > 0) await takeOver(state, of, take);
  if (handBack.length > 0) {
    of.movedAt = sentAt;
    await giveBack(state, of, handBack);
  }
}

/** Records since when each partition is free; returns those that this node may watch. */
function mark(
  { options }: State,
  of: Membership,
  { held, regions }: PartitionScan,
  sentAt: number,
): number[] {
  const isHeld = new Set(held);
  const all = options.partitions ?? regions.flatMap((region) => stored(options, region));
  of.all = all;
  for (const partition of all) {
    if (isHeld.has(partition)) of.freeSince.delete(partition);
    else if (!of.freeSince.has(partition)) of.freeSince.set(partition, sentAt);
  }
  markUnwatched(options, of, sentAt);
  const watched = options.supervision.regions;
  return all.filter((one) => watched === null || watched.includes(regionOf(one)));
}

/** A partition that is free for longer than a take-over takes is watched by no node. */
function markUnwatched({ log, settings }: OwnershipOptions, of: Membership, sentAt: number): void {
  const unwatched = of.all.filter(
    (one) => sentAt - (of.freeSince.get(one) ?? sentAt) >= settings.ownerLostMs,
  );
  if (unwatched.length !== of.unwatched.length) {
    const at = [...new Set(unwatched.map(regionOf))];
    const event = { event: "partitions.unwatched", count: unwatched.length, regions: at };
    if (unwatched.length > 0) log.error(event);
    else log.warn(event);
  }
  of.unwatched = unwatched;
}

async function takeOver(
  state: State,
  of: Membership,
  partitions: readonly number[],
): Promise<void> {
  const { log, onTaken } = state.options;
  const { session } = of;
  const locked = await session.tryLock(partitions);
  if (locked.length === 0) return;
  const taken = await session.takeOver(locked);
  if (state.member !== of) return;
  for (const { partition, epoch } of taken) {
    of.owned.set(partition, epoch);
    of.freeSince.delete(partition);
    of.handedBack.delete(partition);
  }
  log.info({ event: "partitions.taken", node: session.node, count: taken.length });
  onTaken(taken.map(({ partition }) => partition));
}

async function giveBack(
  { options }: State,
  of: Membership,
  partitions: readonly number[],
): Promise<void> {
  const { session } = of;
  for (const partition of partitions) of.owned.delete(partition);
  await options.quiet();
  await session.unlock(partitions);
  for (const partition of partitions) of.handedBack.add(partition);
  const count = partitions.length;
  options.log.info({ event: "partitions.handed-back", node: session.node, count });
}

function announceLanes({ options, member }: State, lanes: readonly number[]): void {
  if (!member?.peers || lanes.length === 0) return;
  member.session.announceLanes(lanes).catch((error: unknown) => {
    options.log.warn({ event: "lanes.not-announced", err: String(error) });
  });
}

function announceDueTime(state: State, { wakeAt, now }: DueTimeSet): void {
  const { options, member } = state;
  // A time that is further away is seen by the next scan of its owner.
  if (!member?.peers || wakeAt === null || wakeAt - now >= options.settings.scanEveryMs) return;
  const { dueAt: waiting } = member;
  if (!waiting.isSending) void sendDueTime(state, member, wakeAt);
  else waiting.next = Math.min(wakeAt, waiting.next ?? wakeAt);
}

/** One announcement at a time. For all times that are set meanwhile, the earliest one follows. */
async function sendDueTime(state: State, of: Membership, first: EpochMs): Promise<void> {
  const { log } = state.options;
  of.dueAt.isSending = true;
  for (let dueAt: EpochMs | null = first; dueAt !== null && state.member === of; ) {
    await of.session.announceDueTime(dueAt).catch((error: unknown) => {
      log.warn({ event: "ownership.due-time-not-announced", err: String(error) });
    });
    dueAt = of.dueAt.next;
    of.dueAt.next = null;
  }
  of.dueAt.isSending = false;
}
