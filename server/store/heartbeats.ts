// Heartbeats: what an agent session reports of itself and of its tasks, and what the store answers.
import type { Payload } from "../core/model/payload.ts";
import type { RunId, RunRef } from "./run-head.ts";

export interface HeartbeatReport {
  readonly runId: RunId;
  readonly step: number;
  readonly fence: number;
  readonly secret: string;
  /** As the agent reported it; null: what is stored stays. */
  readonly progress: string | null;
  readonly details: Payload | null;
}

export interface SessionHeartbeat {
  readonly namespaceId: number;
  readonly session: string;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly reports: readonly HeartbeatReport[];
  /**
   * The reports contain every lease of the session that was granted to a poll up to this number and
   * that its agent still holds. Left out: the list may be incomplete.
   */
  readonly listsAllTo?: number;
}

/** Polls of one session that ended without an answer. */
export interface LostPolls {
  /** Of the call. A session of another namespace has lost none. */
  readonly namespaceId: number;
  readonly session: string;
  readonly polls: readonly number[];
}

/** A lease of a session, with its run. */
export interface SessionLease extends RunRef {
  readonly step: number;
  readonly fence: number;
  readonly secret: string;
}

export interface HeartbeatsStored {
  /** By heartbeat, and within it by report. */
  readonly answers: readonly (readonly HeartbeatAnswer[])[];
  /** Leases that are missing in a complete list of their session: its agent does not hold them. */
  readonly forgotten: readonly SessionLease[];
  /** Heartbeats that name another namespace than that of their session: nothing is stored. */
  readonly foreign: ReadonlySet<SessionHeartbeat>;
}

export type HeartbeatAnswer =
  | { readonly kind: "carry-on"; readonly leaseMs: number }
  | { readonly kind: "cancel"; readonly withinMs: number }
  | { readonly kind: "lease-lost" }
  /** Another transaction holds the row: repeat the report in the next batch. */
  | { readonly kind: "busy" };

/** What the store does for agent sessions, outside of transactions. */
export interface HeartbeatStore {
  /** Stores heartbeats of sessions and their reports durably; answers in the order of reports. */
  heartbeat(heartbeats: readonly SessionHeartbeat[]): Promise<HeartbeatsStored>;
  /** Leases that were granted to one of these polls of their session, of many sessions at once. */
  undelivered(lost: readonly LostPolls[]): Promise<readonly SessionLease[]>;
}
