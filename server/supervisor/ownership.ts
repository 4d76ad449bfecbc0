// Which partitions this process watches.
//
//   away → joined (a session, a node id, writer rows) → owner of its share → lost → away, under a
//   new id
//
// The advisory locks of the session elect the owner. A process that has had no answer to a ping for
// 2.5 s stops by its own monotonic clock, before the server ends its session at 3 s; one that was
// fenced finds its writer row gone, forgets everything and joins anew.
import type { Logger } from "pino";
import type { Clock, Random, Timer } from "../clock.ts";
import type { PartitionSession } from "../store/partition-session.ts";
import type { Store } from "../store/store.ts";
import { randomUuid } from "../uuid.ts";
import { assign } from "./assignment.ts";

const LOOK_EVERY_MS = 500;
/** Measured from when the last answered ping was sent. */
const TRUST_MS = 2_500;
const MOVES_MAX = 16;

export interface Owned {
  readonly partition: number;
  readonly epoch: number;
}

export interface Ownership {
  start(): Promise<void>;
  /** Hands everything back at once and leaves. */
  stop(): Promise<void>;
  /** The node id of the present membership; null while away. */
  node(): string | null;
  owned(): readonly Owned[];
  /** Other nodes that have been seen alive. */
  hasPeers(): boolean;
  /** A flight found its writer row gone. */
  fenced(node: string): void;
  announceLanes(lanes: readonly number[]): void;
}

export interface OwnershipOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly address: string;
  readonly partitions: readonly number[];
  readonly onTaken: (partitions: readonly number[]) => void;
  readonly onLanes: (lanes: readonly number[]) => void;
  /** Resolves when no event of ours about a partition is under way. */
  readonly quiet: () => Promise<void>;
}

interface Membership {
  readonly session: PartitionSession;
  readonly owned: Map<number, number>;
  readonly freeSince: Map<number, number>;
  readonly handedBack: Set<number>;
  peers: boolean;
  answeredSentAt: number;
}

export function createOwnership(options: OwnershipOptions): Ownership {
  const { clock, log } = options;
  let member: Membership | null = null;
  let timer: Timer | null = null;
  let running = false;
  let ticking: Promise<void> | null = null;

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
    const session = await options.store.partitions.join({ node, address: options.address });
    const joined: Membership = {
      session,
      owned: new Map(),
      freeSince: new Map(),
      handedBack: new Set(),
      peers: false,
      answeredSentAt: sentAt,
    };
    member = joined;
    session.onLost((cause) => lose(joined, cause.message));
    session.onLanes(options.onLanes);
    log.info({ event: "partitions.joined", node });
  }

  async function look(of: Membership): Promise<void> {
    const sentAt = clock.monotonicMs();
    const { held, liveNodes } = await of.session.look();
    of.answeredSentAt = sentAt;
    of.peers = liveNodes.some((node) => node !== of.session.node);
    const isHeld = new Set(held);
    for (const partition of options.partitions) {
      if (isHeld.has(partition)) of.freeSince.delete(partition);
      else if (!of.freeSince.has(partition)) of.freeSince.set(partition, sentAt);
    }
    const { take, handBack } = assign({
      me: of.session.node,
      liveNodes,
      partitions: options.partitions,
      owned: new Set(of.owned.keys()),
      freeForMs: new Map([...of.freeSince].map(([one, since]) => [one, sentAt - since])),
      handedBack: of.handedBack,
      movesMax: MOVES_MAX,
    });
    if (take.length > 0) await takeOver(of, take);
    if (handBack.length > 0) await giveBack(of, handBack);
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

  async function tick(): Promise<void> {
    try {
      if (!member) await join();
      else if (!trusted(member)) lose(member, "no answer to a ping for 2.5 s");
      if (member) await look(member);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (member) lose(member, why);
      else log.warn({ event: "partitions.join-failed", why });
    }
  }

  function trusted(of: Membership): boolean {
    return clock.monotonicMs() - of.answeredSentAt < TRUST_MS;
  }

  function plan(): void {
    if (!running) return;
    timer = clock.after(LOOK_EVERY_MS, () => {
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
      await tick();
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
    fenced(node: string) {
      if (member?.session.node === node) lose(member, "a take-over has fenced this node");
    },
    announceLanes(lanes: readonly number[]) {
      if (!member?.peers || lanes.length === 0) return;
      member.session.announceLanes(lanes).catch((error: unknown) => {
        log.debug({ event: "lanes.not-announced", why: String(error) });
      });
    },
  });
}
