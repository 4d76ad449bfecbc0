// Which partitions this process owns.
//
//   away → joined (a session, a node id, writer rows) → owner of its share → lost → away, under a
//   new id
//
// The advisory locks of the session elect the owner. If the last answered ping of a process is too
// old, the process stops by its own monotonic clock, one scan before the database ends its session.
// A process that was fenced finds its writer row missing, forgets everything and joins again.
import type { Logger } from "pino";
import type { Clock, Random, Timer } from "../clock.ts";
import type { SupervisorConfig } from "../config.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { DroverError } from "../errors.ts";
import { partitionsOf, regionOf } from "../store/partition.ts";
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

export interface Ownership {
  /** Rejects if nothing can be watched from here, although something should be. */
  start(): Promise<void>;
  /** Hands all partitions back at once and leaves. */
  stop(): Promise<void>;
  /** The node id of the present membership; null while away. */
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
  announceDueTime(set: { readonly wakeAt: EpochMs | null; readonly now: EpochMs }): void;
}

interface OwnershipOptions {
  readonly store: EngineStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly address: string;
  readonly supervision: Supervision;
  readonly settings: Pick<
    SupervisorConfig,
    "scanEveryMs" | "ownerPollMs" | "ownerLostMs" | "ownerMoves"
  >;
  /** The partitions that exist; left out: all of every region. */
  readonly partitions?: readonly number[] | undefined;
  readonly onTaken: (partitions: readonly number[]) => void;
  readonly onLanes: (lanes: readonly number[]) => void;
  readonly onDueTime: (dueAt: EpochMs) => void;
  /** Resolves when no event of this process about a partition is in flight. */
  readonly quiet: () => Promise<void>;
}

interface Membership {
  readonly session: PartitionSession;
  readonly owned: Map<number, number>;
  readonly freeSince: Map<number, number>;
  readonly handedBack: Set<number>;
  /** When it last handed a partition back. */
  movedAt: number;
  all: readonly number[];
  unwatched: readonly number[];
  peers: boolean;
  answeredSentAt: number;
  /** The earliest time that is still to be announced, while another announcement is in flight. */
  dueAt: { under: boolean; next: EpochMs | null };
}

export function createOwnership(options: OwnershipOptions): Ownership {
  const { clock, log, supervision } = options;
  const { scanEveryMs, ownerPollMs, ownerLostMs, ownerMoves } = options.settings;
  // Measured from the time at which the last answered ping was sent.
  const trustMs = ownerLostMs - ownerPollMs;
  const watchesNothing = supervision.regions?.length === 0;
  let member: Membership | null = null;
  let timer: Timer | null = null;
  let running = false;
  let ticking: Promise<unknown> | null = null;

  function lose(lost: Membership, why: string): void {
    if (member !== lost) return;
    member = null;
    log.warn({ event: "partitions.lost", node: lost.session.node, held: lost.owned.size, why });
    lost.owned.clear();
    void lost.session.leave();
  }

  async function join(): Promise<void> {
    const node = randomUuid(options.random);
    const sentAt = clock.monotonicMs();
    const session = await options.store.partitions.join({
      node,
      address: options.address,
      ...supervision,
    });
    const joined: Membership = {
      session,
      owned: new Map(),
      freeSince: new Map(),
      handedBack: new Set(),
      movedAt: Number.NEGATIVE_INFINITY,
      all: partitionsOf(0),
      unwatched: [],
      peers: false,
      answeredSentAt: sentAt,
      dueAt: { under: false, next: null },
    };
    member = joined;
    session.onLost((cause) => lose(joined, cause.message));
    session.onLanes(options.onLanes);
    session.onDueTimes(options.onDueTime);
    log.info({ event: "partitions.joined", node });
  }

  async function poll(of: Membership): Promise<void> {
    const sentAt = clock.monotonicMs();
    const seen = await of.session.poll();
    const { node } = of.session;
    of.answeredSentAt = sentAt;
    of.peers = seen.liveNodes.some((live) => live.node !== node);
    const mine = mark(of, seen, sentAt);
    if (watchesNothing) return;
    const { take, handBack } = assign({
      me: { node, ...supervision },
      liveNodes: seen.liveNodes,
      partitions: mine,
      owned: new Set(of.owned.keys()),
      freeForMs: new Map([...of.freeSince].map(([one, since]) => [one, sentAt - since])),
      handedBack: of.handedBack,
      movesMax: movesNow(seen.liveNodes, sentAt - of.movedAt, ownerMoves),
    });
    if (take.length > 0) await takeOver(of, take);
    if (handBack.length > 0) {
      of.movedAt = sentAt;
      await giveBack(of, handBack);
    }
  }

  /** Records since when each partition is free; returns those that this node may watch. */
  function mark(of: Membership, { held, regions }: PartitionScan, sentAt: number): number[] {
    const isHeld = new Set(held);
    const all = options.partitions ?? regions.flatMap(partitionsOf);
    of.all = all;
    for (const partition of all) {
      if (isHeld.has(partition)) of.freeSince.delete(partition);
      else if (!of.freeSince.has(partition)) of.freeSince.set(partition, sentAt);
    }
    // Free for longer than a take-over takes: no node watches it.
    const unwatched = all.filter(
      (one) => sentAt - (of.freeSince.get(one) ?? sentAt) >= ownerLostMs,
    );
    if (unwatched.length !== of.unwatched.length) {
      const at = [...new Set(unwatched.map(regionOf))];
      const event = { event: "partitions.unwatched", count: unwatched.length, regions: at };
      if (unwatched.length > 0) log.error(event);
      else log.warn(event);
    }
    of.unwatched = unwatched;
    const watched = supervision.regions;
    return all.filter((one) => watched === null || watched.includes(regionOf(one)));
  }

  async function takeOver(of: Membership, partitions: readonly number[]): Promise<void> {
    const locked = await of.session.tryLock(partitions);
    if (locked.length === 0) return;
    const taken = await of.session.takeOver(locked);
    if (member !== of) return;
    for (const { partition, epoch } of taken) {
      of.owned.set(partition, epoch);
      of.freeSince.delete(partition);
      of.handedBack.delete(partition);
    }
    log.info({ event: "partitions.taken", node: of.session.node, count: taken.length });
    options.onTaken(taken.map(({ partition }) => partition));
  }

  async function giveBack(of: Membership, partitions: readonly number[]): Promise<void> {
    for (const partition of partitions) of.owned.delete(partition);
    await options.quiet();
    await of.session.unlock(partitions);
    for (const partition of partitions) of.handedBack.add(partition);
    log.info({ event: "partitions.handed-back", node: of.session.node, count: partitions.length });
  }

  /** One announcement at a time. For all times that are set meanwhile, the earliest one follows. */
  async function sendDueTime(of: Membership, first: EpochMs): Promise<void> {
    of.dueAt.under = true;
    for (let dueAt: EpochMs | null = first; dueAt !== null && member === of; ) {
      await of.session.announceDueTime(dueAt).catch((error: unknown) => {
        log.warn({ event: "ownership.due-time-not-announced", err: String(error) });
      });
      dueAt = of.dueAt.next;
      of.dueAt.next = null;
    }
    of.dueAt.under = false;
  }

  /** Returns the error that makes it impossible to join, however often it is tried. */
  async function tick(): Promise<DroverError | null> {
    try {
      if (!member) await join();
      else if (!trusted(member)) lose(member, `no answer to a ping for ${trustMs} ms`);
      if (member) await poll(member);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (member) lose(member, why);
      else log.warn({ event: "partitions.join-failed", why });
      if (isNoWay(error)) return error;
    }
    return null;
  }

  function trusted(of: Membership): boolean {
    return clock.monotonicMs() - of.answeredSentAt < trustMs;
  }

  function plan(): void {
    if (!running) return;
    timer = clock.after(ownerPollMs, () => {
      if (ticking && member && !trusted(member)) lose(member, "a ping is not answered");
      ticking ??= tick().finally(() => {
        ticking = null;
      });
      plan();
    });
  }

  return Object.freeze({
    async start() {
      if (running) return;
      running = true;
      const noWay = await tick();
      // A process that watches nothing also learns of lanes by its poll tick, up to a second later.
      running = noWay === null;
      if (noWay !== null && !watchesNothing) throw noWay;
      plan();
    },
    async stop() {
      if (!running) return;
      running = false;
      timer?.cancel();
      await ticking;
      const last = member;
      if (!last) return;
      const partitions = [...last.owned.keys()];
      last.owned.clear();
      await options.quiet();
      member = null;
      if (partitions.length > 0) await last.session.unlock(partitions).catch(() => undefined);
      await last.session.leave();
    },
    node: () => member?.session.node ?? null,
    owned: () =>
      member && trusted(member)
        ? [...member.owned].map(([partition, epoch]) => ({ partition, epoch }))
        : [],
    hasPeers: () => member?.peers ?? false,
    partitions: () => member?.all ?? partitionsOf(0),
    unwatched: () => member?.unwatched ?? [],
    fenced(node: string) {
      if (member?.session.node === node) lose(member, "a take-over has fenced this node");
    },
    announceLanes(lanes: readonly number[]) {
      if (!member?.peers || lanes.length === 0) return;
      member.session.announceLanes(lanes).catch((error: unknown) => {
        log.warn({ event: "lanes.not-announced", err: String(error) });
      });
    },
    announceDueTime({ wakeAt, now }: { readonly wakeAt: EpochMs | null; readonly now: EpochMs }) {
      // A time that is further away is seen by the next scan of its owner.
      if (!member?.peers || wakeAt === null || wakeAt - now >= scanEveryMs) return;
      const { dueAt: waiting } = member;
      if (!waiting.under) void sendDueTime(member, wakeAt);
      else waiting.next = Math.min(wakeAt, waiting.next ?? wakeAt);
    },
  });
}

/** A repetition does not help: there is a transaction pooler in between. */
function isNoWay(error: unknown): error is DroverError {
  return error instanceof DroverError && error.reason === "NOT_SUPPORTED";
}
