// Parts of the records of a history: schedules, holds, faults of the store, circuits.
import type { EpochMs } from "../../server/core/model/attempt.ts";

/** What a person does with a schedule. */
export type ScheduleCommand = { readonly schedule: string } & (
  | { readonly did: "create" | "pause" | "resume" | "delete" }
  | { readonly did: "run"; readonly requestId: string }
  | { readonly did: "backfill"; readonly from: EpochMs; readonly until: EpochMs }
);

/** What people may stop beside single runs: by a pause, a cordon, or a circuit that they open. */
export interface Held {
  readonly what: "queue" | "workflow" | "namespace" | "agent" | "circuit";
  /** Of a circuit its queue and its task, as `bank/charge`. */
  readonly name: string;
}

export type StoreFault =
  | {
      readonly kind: "store";
      readonly did: "down" | "up" | "before-commit" | "after-commit" | "slow";
      /** The name of the statement or transaction that it hit. */
      readonly of?: string;
    }
  | {
      readonly kind: "store";
      readonly did: "tail-lost";
      readonly of?: undefined;
      readonly lost: LostTail;
    };

/** What was lost by a fail-over to a store that lacked the last transactions. */
export interface LostTail {
  /** Tables of which it lost rows, or changes of rows. */
  readonly tables: readonly string[];
  /** Runs about which it lost more than what was sent to the outside about them. */
  readonly runs: readonly string[];
  /** Runs about which it lost anything. */
  readonly allRuns: readonly string[];
  /** Sessions of agents whose heartbeats it lost. */
  readonly sessions: readonly string[];
  /** Partitions of which it lost a take-over. */
  readonly partitions: readonly number[];
  /** Concurrency keys of which it lost permits. */
  readonly concurrencyKeys: readonly string[];
  /** Keys of which it lost the reservations. Left out: the store has one shard. */
  readonly keys?: readonly string[];
}

/** The rules have moved a circuit: of an agent in a lane, or (agentId "") of the lane. */
export interface CircuitMove {
  readonly lane: number;
  readonly agentId: string;
  readonly state: "open" | "trying" | "closed";
}
