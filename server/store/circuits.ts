// Circuits and cordons: what may not be handed out for now, and what that is evaluated by. Which
// way a circuit goes is said by core/circuit.ts; here it is kept, and moved by compare and set.
import type { EpochMs } from "../core/attempt.ts";
import type { CircuitState, EndKind, Forced, Outage, Tally } from "../core/circuit.ts";
import type { Actor } from "./pass-record.ts";
import type { Pinned } from "./pins.ts";
import type { RunId } from "./run-head.ts";

/** `agentId` "": the circuit of the lane itself. */
export interface CircuitRef {
  readonly lane: number;
  readonly agentId: string;
}

/** What a person has said of a circuit. */
export interface CircuitOverride {
  readonly forced: Exclude<Forced, null>;
  readonly by: string;
  readonly why: string;
}

export interface Circuit extends CircuitRef {
  readonly state: CircuitState;
  /** null: the rules decide. */
  readonly override: (CircuitOverride & { readonly at: EpochMs }) | null;
  /** Another one with each change. */
  readonly version: number;
  /** What the rules saw when they last moved it, in words; empty: they have not. */
  readonly saw: string;
}

/** As it is listed. */
export interface CircuitRecord extends Circuit {
  readonly queue: string;
  readonly task: string;
  /** Of the lane for agents of this version; null: of that for all. */
  readonly agentVersion: string | null;
}

/** The task that tries: a lease that is about to be granted. */
export interface Probe extends CircuitRef {
  /** The version of the circuit that lets it try. */
  readonly version: number;
  readonly runId: RunId;
  readonly step: number;
  readonly fence: number;
  readonly secret: string;
}

/** Ends of tasks of an agent in a lane that are not counted yet. */
export interface CountedOutcomes extends Tally {
  readonly lane: number;
  /** How long ago they were, in milliseconds. */
  readonly agoMs: number;
}

export interface Cordon {
  readonly namespaceId: number;
  readonly kind: CordonKind;
  /** The agent's id, or its version. */
  readonly name: string;
  readonly by: string;
  readonly why: string;
  readonly at: EpochMs;
}

export type CordonKind = "agent" | "version";
export type CordonRef = Pick<Cordon, "namespaceId" | "kind" | "name">;

/** Whether anything has changed of what a look would show. */
export interface CircuitSign {
  readonly now: EpochMs;
  /** Another one after any change that has been committed. */
  readonly mark: string;
  /** As in a look. */
  readonly watched: readonly number[];
}

/** All that a server has to know to hand out nothing that it should not. */
export interface CircuitSnapshot {
  readonly now: EpochMs;
  /** Those that are not plainly closed. */
  readonly circuits: readonly Circuit[];
  /** Of lanes, the latest 1,000 that ended in the last day or have not ended. */
  readonly outages: readonly (Outage & { readonly lane: number })[];
  readonly cordons: readonly Cordon[];
  readonly pinned: Pinned;
  /** Lanes of which somebody has counted a bad end of late: all of their ends are counted. */
  readonly watched: readonly number[];
}

/** What the owner of a lane judges it by. */
export interface LaneEvidence {
  readonly lane: number;
  readonly now: EpochMs;
  /** Since the window began, or the circuit of the lane or of the agent last changed. */
  readonly tallies: readonly (Tally & { readonly lastAt: EpochMs })[];
  /** Also closed ones. */
  readonly circuits: readonly (Circuit & {
    /** How the task that tried has ended; null: it is out, or none is. */
    readonly probeEnd: ProbeEnd | null;
  })[];
}

export interface ProbeEnd {
  readonly end: EndKind;
  readonly at: EpochMs;
  readonly runId: RunId;
  readonly step: number;
  readonly fence: number;
}

export interface CircuitChange extends CircuitRef {
  /** The version that it was decided by; 0: there was none. */
  readonly before: number;
  readonly state: CircuitState;
  readonly saw: string;
  readonly did: string;
  /** When the last end came that it was decided by. */
  readonly dueAt: EpochMs;
  /** A task that it was decided by: where the intervention is kept. Step -1: the run as a whole. */
  readonly about: { readonly runId: RunId; readonly step: number; readonly fence: number } | null;
}

export interface CircuitPage {
  readonly after: { readonly lane: number; readonly agentId: string } | null;
  readonly limit: number;
  /** Those of these agents alone; null or left out: all. */
  readonly agentIds?: readonly string[] | null;
  /** Those alone through which not everything goes; left out: false. */
  readonly openOnly?: boolean;
}

export interface Circuits {
  /** Adds to what was counted. */
  count(ends: readonly CountedOutcomes[]): Promise<void>;
  /** `windowMs`: how far back a bad end makes a lane watched. */
  look(windowMs: number): Promise<CircuitSnapshot>;
  /** The look that follows from a sign; costs nothing where its mark is the last one's. */
  learn(sign: CircuitSign): Promise<CircuitSnapshot>;
  /** `windowMs`: how far back. Lanes of which nothing is known are left out. */
  evidence(lanes: readonly number[], windowMs: number): Promise<readonly LaneEvidence[]>;
  /**
   * Moves those whose version is what it was decided by, and that no person has moved, each with
   * its intervention. Returns them.
   */
  change(changes: readonly CircuitChange[], actor: Actor): Promise<readonly CircuitRef[]>;
  /**
   * What a person says, also of the lanes of that task for single versions of agents; null takes it
   * back, and the circuit begins closed. Idempotent: said again it stays with who said it first.
   */
  say(of: CircuitRef, said: CircuitOverride | null): Promise<Circuit>;
  /** Idempotent: the first stays. Other servers know within a second. */
  cordon(cordon: Omit<Cordon, "at">): Promise<Cordon>;
  /** false: it was not. */
  uncordon(of: CordonRef): Promise<boolean>;
}
