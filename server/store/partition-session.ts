// Who owns which partition: sessions that elect the owners, and how one takes over from another.

export interface NodeInfo {
  readonly node: string;
  readonly address: string;
}

export interface TakenPartition {
  readonly partition: number;
  readonly epoch: number;
}

export interface PartitionLook {
  /** Partitions that some session holds, this one included. */
  readonly held: readonly number[];
  readonly liveNodes: readonly string[];
}

/** Opens sessions that elect the owners of partitions. */
export interface Partitions {
  /** Joins under a new node id: its node row, writer rows and a direct session. */
  join(node: NodeInfo): Promise<PartitionSession>;
}

/**
 * One direct session. Its advisory locks elect and never protect: what protects is the writer row
 * of each flight and the guard of each row. The session is gone 3 s after its last call.
 */
export interface PartitionSession {
  readonly node: string;
  /** Renews the session and the node row, and looks at who holds what. */
  look(): Promise<PartitionLook>;
  /** Locks those of the partitions that are free. */
  tryLock(partitions: readonly number[]): Promise<readonly number[]>;
  /**
   * Fences the former owners of locked partitions: deletes their writer rows (waits for their
   * flights) and bumps the epochs. The clean `unlock` has cleared the owner, so nobody needs to be
   * fenced then.
   */
  takeOver(partitions: readonly number[]): Promise<readonly TakenPartition[]>;
  /** Gives partitions back: no longer the owner's, then unlocked. */
  unlock(partitions: readonly number[]): Promise<void>;
  /** Hears the lanes that other servers announce. */
  onLanes(listener: (lanes: readonly number[]) => void): void;
  announceLanes(lanes: readonly number[]): Promise<void>;
  /** Calls back once when the session is lost. */
  onLost(listener: (cause: Error) => void): void;
  leave(): Promise<void>;
}
