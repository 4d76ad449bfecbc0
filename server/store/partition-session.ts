// Who owns which partition: sessions that elect the owners, and how one takes over from another.
import type { EpochMs } from "../core/attempt.ts";

export interface NodeInfo {
  readonly node: string;
  readonly address: string;
  /** Those whose partitions it watches; null or left out: all, also those that come later. */
  readonly regions?: readonly number[] | null;
  /** It owns what no other node is there for. Default false. */
  readonly standby?: boolean;
}

export type LiveNode = Required<Omit<NodeInfo, "address">>;

export interface TakenPartition {
  readonly partition: number;
  readonly epoch: number;
}

/** Hand-overs of one partition that are kept. */
export const HAND_OVERS_MAX = 20;
/** Nobody had had it; the one before had given it back; the one before was gone, or hung. */
export const HAND_OVER_WHYS = ["first", "given-back", "lost"] as const;
export type HandOverWhy = (typeof HAND_OVER_WHYS)[number];

/** A row that a batch of the node locks: one of each that can be out at a time. */
export interface Writer {
  readonly node: string;
  readonly slot: number;
}

export interface PartitionScan {
  /** Partitions that some session holds, this one included. */
  readonly held: readonly number[];
  /** Nodes whose session lives, in the order in which they joined. */
  readonly liveNodes: readonly LiveNode[];
  /** Every region that there is. */
  readonly regions: readonly number[];
}

/** Opens sessions that elect the owners of partitions. */
export interface Partitions {
  /**
   * Joins under a new node id: its node row, writer rows and a direct session. NOT_SUPPORTED, with
   * the way out, where a transaction pooler stands between.
   */
  join(node: NodeInfo): Promise<PartitionSession>;
}

/**
 * One direct session. Its advisory locks elect and never protect: what protects is the writer row
 * of each batch and the guard of each row. The session is gone 3 s after its last call.
 */
export interface PartitionSession {
  readonly node: string;
  /** Renews the session and the node row, and looks at who holds what. */
  look(): Promise<PartitionScan>;
  /** Locks those of the partitions that are free. */
  tryLock(partitions: readonly number[]): Promise<readonly number[]>;
  /**
   * Fences the former owners of locked partitions: deletes their writer rows (waits for their
   * batches) and bumps the epochs. The clean `unlock` has cleared the owner, so nobody needs to be
   * fenced then. Of each partition the last `HAND_OVERS_KEPT` are kept for people.
   */
  takeOver(partitions: readonly number[]): Promise<readonly TakenPartition[]>;
  /** Gives partitions back: no longer the owner's, then unlocked. */
  unlock(partitions: readonly number[]): Promise<void>;
  /** Hears the lanes that other servers announce. */
  onLanes(listener: (lanes: readonly number[]) => void): void;
  announceLanes(lanes: readonly number[]): Promise<void>;
  /** Hears of moments that others have set, nearer than the next look of their owner. */
  onMoments(listener: (moment: EpochMs) => void): void;
  announceMoment(moment: EpochMs): Promise<void>;
  /** Calls back once when the session is lost. */
  onLost(listener: (cause: Error) => void): void;
  leave(): Promise<void>;
}
