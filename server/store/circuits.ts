// Circuits and cordons: what must not be dispatched at present, and the counts by which circuits
// are evaluated. core/model/circuit.ts decides how a circuit changes; the store keeps its state and
// changes it by compare and set.
import type { EpochMs } from "../core/model/attempt.ts";
import type { CircuitState, Forced, Outage, OutcomeClass, Tally } from "../core/model/circuit.ts";
import type { Audit } from "./audit.ts";
import type { Actor } from "./pass-record.ts";
import type { Pinned } from "./pins.ts";
import type { RunId } from "./run-head.ts";

/** `agentId` "": the circuit of the lane itself. */
export interface CircuitRef {
  readonly lane: number;
  readonly agentId: string;
}

/** A person has forced the circuit open or closed. */
export interface CircuitOverride {
  readonly forced: Exclude<Forced, null>;
  readonly by: string;
  readonly why: string;
}

export interface Circuit extends CircuitRef {
  readonly state: CircuitState;
  /** null: no person has forced it, and the rules decide. */
  readonly override: (CircuitOverride & { readonly at: EpochMs }) | null;
  /** A new number with each change. */
  readonly version: number;
  /** What the rules saw when they last changed the circuit, in words; empty: they never have. */
  readonly saw: string;
}

/** A circuit in a list. */
export interface CircuitRecord extends Circuit {
  readonly queue: string;
  readonly task: string;
  /** The lane is for agents of this version; null: for all agents. */
  readonly agentVersion: string | null;
}

/** The one task that an open circuit lets through. Its lease is about to be granted. */
export interface Probe extends CircuitRef {
  /** The version of the circuit that admits the probe. */
  readonly version: number;
  readonly runId: RunId;
  readonly step: number;
  readonly fence: number;
  readonly secret: string;
}

/** Outcome counts of an agent in a lane that are not stored yet. */
export interface CountedOutcomes extends Tally {
  readonly lane: number;
  /** How long ago the tasks ended, in milliseconds. */
  readonly agoMs: number;
}

export interface Cordon {
  readonly namespaceId: number;
  readonly kind: CordonKind;
  /** The id of an agent, a version of agents, or a session. */
  readonly name: string;
  /** With the kind `session`: the id of its agent. Otherwise null. */
  readonly agentId: string | null;
  readonly by: string;
  readonly why: string;
  readonly at: EpochMs;
}

export type CordonKind = "agent" | "version" | "session";
export type NewCordon = Omit<Cordon, "at" | "agentId">;
export type CordonRef = Pick<Cordon, "namespaceId" | "kind" | "name">;

/** Shows whether a new snapshot would differ from the last one. */
export interface CircuitVersion {
  readonly now: EpochMs;
  /** Differs after any committed change of what a snapshot contains. */
  readonly changeToken: string;
  /** As in a snapshot. */
  readonly watched: readonly number[];
}

/** All that a server has to know in order to dispatch nothing that it must not. */
export interface CircuitSnapshot {
  readonly now: EpochMs;
  /** Circuits that are open or have a probe, and circuits that a person has forced. */
  readonly circuits: readonly Circuit[];
  /** Of lanes: outages that have not ended or ended in the last day; the latest 1,000 at most. */
  readonly outages: readonly (Outage & { readonly lane: number })[];
  readonly cordons: readonly Cordon[];
  readonly pinned: Pinned;
  /**
   * Lanes of which a server has counted a bad outcome recently. Servers count all outcomes of these
   * lanes.
   */
  readonly watched: readonly number[];
}

/** What the owner of a lane evaluates its circuits by. */
export interface LaneEvidence {
  readonly lane: number;
  readonly now: EpochMs;
  /** Since the window began, or since the circuit of the lane or of the agent last changed. */
  readonly tallies: readonly (Tally & { readonly lastAt: EpochMs })[];
  /** Closed circuits too. */
  readonly circuits: readonly (Circuit & {
    /** How the probe has ended; null: it is still running, or there is none. */
    readonly probeEnd: ProbeEnd | null;
  })[];
}

export interface ProbeEnd {
  readonly end: OutcomeClass;
  readonly at: EpochMs;
  readonly runId: RunId;
  readonly step: number;
  readonly fence: number;
}

export interface CircuitChange extends CircuitRef {
  /** The version of the circuit that was evaluated; 0: the circuit had no row. */
  readonly before: number;
  readonly state: CircuitState;
  readonly saw: string;
  readonly did: string;
  /** When the last outcome came that the decision is based on. */
  readonly dueAt: EpochMs;
  /**
   * A task that the decision is based on: the intervention is stored with its run. Step -1: the run
   * as a whole. null: no intervention is stored.
   */
  readonly about: { readonly runId: RunId; readonly step: number; readonly fence: number } | null;
}

export interface CircuitPage {
  readonly after: { readonly lane: number; readonly agentId: string } | null;
  readonly limit: number;
  /** Only the circuits of these agents; null or left out: all. */
  readonly agentIds?: readonly string[] | null;
  /** Only circuits that do not let everything through; left out: false. */
  readonly openOnly?: boolean;
}

export interface Circuits {
  /** Adds to the stored outcome counts. */
  count(ends: readonly CountedOutcomes[]): Promise<void>;
  /** Reads a snapshot. `windowMs`: how far back a bad outcome makes a lane watched. */
  snapshot(windowMs: number): Promise<CircuitSnapshot>;
  /**
   * The snapshot that belongs to a sign. Costs nothing if the mark of the sign is that of the last
   * snapshot.
   */
  learn(sign: CircuitVersion): Promise<CircuitSnapshot>;
  /** `windowMs`: the length of the window. Lanes without circuits and counts are left out. */
  evidence(lanes: readonly number[], windowMs: number): Promise<readonly LaneEvidence[]>;
  /**
   * Changes the circuits that still have the version which was evaluated and that no person has
   * forced, each with its intervention. Returns the changed ones.
   */
  change(changes: readonly CircuitChange[], actor: Actor): Promise<readonly CircuitRef[]>;
  /**
   * Stores the interventions alone, of changes that the first shard has made and that are about
   * runs of this one.
   */
  record(changes: readonly CircuitChange[], actor: Actor): Promise<void>;
  /**
   * Forces a circuit, also in the lanes of the same task for single versions of agents; null takes
   * that back, and the circuit begins closed. Idempotent: if it is forced in the same way again,
   * the first person and reason stay.
   */
  setOverride(of: CircuitRef, override: CircuitOverride | null, audit?: Audit): Promise<Circuit>;
  /**
   * Idempotent: the first cordon stays. Other servers learn of it within a second. The cordon of a
   * session is removed when the session is forgotten. null: there is no such session.
   */
  cordon(cordon: NewCordon, audit?: Audit): Promise<Cordon | null>;
  /** false: there was no such cordon. */
  uncordon(of: CordonRef, audit?: Audit): Promise<boolean>;
}
