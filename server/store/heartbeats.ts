// What an agent session lets hear of itself and of its tasks, and what it is answered.
import type { Payload } from "../core/payload.ts";
import type { RunId, RunRef } from "./run-head.ts";

export interface HeartbeatReport {
  readonly runId: RunId;
  readonly step: number;
  readonly fence: number;
  readonly secret: string;
  /** What the agent said; null leaves what is stored. */
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
   * Every lease of the session that was granted to a poll up to this number and that its agent
   * still holds is in the reports; left out: that is not said.
   */
  readonly listsAllTo?: number;
}

/** Polls of one session that ended without an answer. */
export interface LostPolls {
  readonly session: string;
  readonly polls: readonly number[];
}

/** A lease of a session, with the run that it is of. */
export interface SessionLease extends RunRef {
  readonly step: number;
  readonly fence: number;
  readonly secret: string;
}

export interface HeartbeatsStored {
  /** By heartbeat and report. */
  readonly answers: readonly (readonly HeartbeatAnswer[])[];
  /** Leases that their sessions say they do not hold. */
  readonly forgotten: readonly SessionLease[];
  /** Beats of sessions that belong to another namespace than they name; they store nothing. */
  readonly foreign: ReadonlySet<SessionHeartbeat>;
}

export type HeartbeatAnswer =
  | { readonly kind: "carry-on"; readonly leaseMs: number }
  | { readonly kind: "cancel"; readonly withinMs: number }
  | { readonly kind: "lease-lost" }
  /** An advance holds the row: ask again in the next gathering. */
  | { readonly kind: "busy" };

/** What the store does for agent sessions, outside of transactions. */
export interface HeartbeatStore {
  /**
   * Stores heartbeats of sessions and their reports; answers in the order of the reports. Durable.
   */
  heartbeat(heartbeats: readonly SessionHeartbeat[]): Promise<HeartbeatsStored>;
  /** Leases that were granted to one of these polls of their session; of many sessions at once. */
  undelivered(lost: readonly LostPolls[]): Promise<readonly SessionLease[]>;
}
