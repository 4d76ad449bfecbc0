// Ownership of partitions: the sessions that elect owners, and how one takes over from another.
import type { EpochMs } from "../core/model/attempt.ts";

export interface NodeInfo {
  readonly node: string;
  /** A UUID by which a process is known that joins several shards; left out: `node`. */
  readonly process?: string;
  readonly address: string;
  /** The regions whose partitions it watches; null or left out: all, later ones too. */
  readonly regions?: readonly number[] | null;
  /** It owns only partitions for which no other node is there. Default false. */
  readonly standby?: boolean;
}

export type LiveNode = Required<Omit<NodeInfo, "address" | "process">>;

export interface TakenPartition {
  readonly partition: number;
  readonly epoch: number;
}

/** Hand-overs of one partition that are retained. */
export const HAND_OVERS_MAX = 20;
/**
 * Why a partition was free: no node had owned it; its owner had given it back; its owner was gone
 * or hung.
 */
export const HAND_OVER_REASONS = ["first", "given-back", "lost"] as const;
export type HandOverReason = (typeof HAND_OVER_REASONS)[number];

/** A row that a batch of the node locks: there is one for each batch that may be in flight. */
export interface Writer {
  readonly node: string;
  readonly number: number;
}

export interface PartitionScan {
  /** Partitions that some session holds, this one included. */
  readonly held: readonly number[];
  /** Nodes with a live session, in the order in which they joined. */
  readonly liveNodes: readonly LiveNode[];
  /** All regions. */
  readonly regions: readonly number[];
}

/** Opens sessions that elect the owners of partitions. */
export interface Partitions {
  /**
   * Joins under a new node id: creates its node row, its writer rows and a direct session. Throws
   * NOT_SUPPORTED, with the way out, if a transaction pooler is in between.
   */
  join(node: NodeInfo): Promise<PartitionSession>;
}

/**
 * One direct session. Its advisory locks elect owners and protect nothing: the writer row of each
 * batch and the guard of each row protect. The session is lost 3 s after its last call.
 */
export interface PartitionSession {
  readonly node: string;
  /** Renews the session and the node row, and reads which partitions are held. */
  poll(): Promise<PartitionScan>;
  /** Locks those of the partitions that are free, and returns them. */
  tryLock(partitions: readonly number[]): Promise<readonly number[]>;
  /**
   * Fences the former owners of locked partitions: deletes their writer rows, which waits for their
   * batches, and increments the epochs. A clean `unlock` clears the owner, so there is none to
   * fence after it. The last `HAND_OVERS_MAX` hand-overs of each partition are retained for people.
   */
  takeOver(partitions: readonly number[]): Promise<readonly TakenPartition[]>;
  /** Gives partitions back: first clears the owner, then unlocks. */
  unlock(partitions: readonly number[]): Promise<void>;
  /** Receives the lanes that other servers announce. */
  onLanes(listener: (lanes: readonly number[]) => void): void;
  announceLanes(lanes: readonly number[]): Promise<void>;
  /** Receives due times that others have set and that come before the owner's next scan. */
  onDueTimes(listener: (dueAt: EpochMs) => void): void;
  announceDueTime(dueAt: EpochMs): Promise<void>;
  /** Calls back once, when the session is lost. */
  onLost(listener: (cause: Error) => void): void;
  leave(): Promise<void>;
}
