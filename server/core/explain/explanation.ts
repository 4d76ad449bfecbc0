// "Why is it not moving?": the parts of an explanation of a run, and the facts that it is made
// from.
import type { AttemptKind, EpochMs, Outcome, TaskKind } from "../model/attempt.ts";
import type { AnswerKind, Decision, EscalationReason } from "../model/history.ts";
import type { Items } from "../model/items.ts";
import type { CancelCause, RunState, Step } from "../model/model.ts";

/**
 * The state of a run at `now`, with the liveness of agents and supervisors, which only
 * explanations read.
 */
export interface SeenRun {
  readonly now: EpochMs;
  readonly state: RunState;
  readonly pivoted: boolean;
  readonly createdAt: EpochMs;
  readonly endedAt: EpochMs | null;
  /** Steps that are in no page are BLOCKED and have done nothing. */
  readonly steps: ReadonlyMap<number, Step>;
  /** Oldest first. */
  readonly attempts: readonly SeenAttempt[];
  /** In the order of their numbers. */
  readonly escalations: readonly SeenEscalation[];
  readonly decisions: readonly Decision[];
  readonly liveness: Liveness;
}

export interface SeenAttempt {
  readonly step: number;
  readonly kind: AttemptKind;
  readonly fence: number;
  readonly n: number;
  readonly agentId: string | null;
  readonly endedAt: EpochMs;
  readonly outcome: Outcome;
}

export interface SeenEscalation {
  readonly n: number;
  readonly step: number;
  readonly reason: EscalationReason;
  readonly message: string;
  readonly openedAt: EpochMs;
  readonly closedAt: EpochMs | null;
  /** null: no deadline. */
  readonly deadlineAt: EpochMs | null;
}

/** Liveness of agents, lanes and supervisors, by number of the step. */
export interface Liveness {
  /** Of steps whose task is with an agent. */
  readonly leases: ReadonlyMap<number, LeaseLiveness>;
  /** Of steps in their queue: the last poll of the lane; null: no recent one. */
  readonly polls: ReadonlyMap<number, EpochMs | null>;
  /** Milliseconds after a poll for which its lane counts as polled. */
  readonly polledMs: number;
  /** Steps in their queue whose lane was polled only by agents that have been silent since. */
  readonly silent: ReadonlySet<number>;
  /** Of steps in their queue: the pause that keeps them there; absent: none does. */
  readonly pauses: ReadonlyMap<number, LanePause>;
  /** Of steps in their queue: the open circuit of their lane; absent: it lets tasks pass. */
  readonly circuits: ReadonlyMap<number, LaneCircuit>;
  /**
   * Of steps in their queue: how many agent sessions polled for them in the last minute, if every
   * one of these sessions is cordoned.
   */
  readonly cordoned: ReadonlyMap<number, number>;
  /** Of steps in their queue: the version of the agents that may get them; absent: any. */
  readonly agentVersions: ReadonlyMap<number, string>;
  /** Set if no supervisor handles due timers of the run; null: one does. */
  readonly unwatched: Unwatched | null;
  /** Of steps in their queue or with an agent: the queue's name, with its expressions evaluated. */
  readonly queues: ReadonlyMap<number, string>;
}

/** No supervisor watches the run's partition. */
export interface Unwatched {
  /** Name of its region. */
  readonly region: string;
  /** No partition of the region is watched. */
  readonly whole: boolean;
}

/** A pause of the queue, of all queues of the namespace, or of the workflow. */
export interface LanePause {
  readonly scope: "queue" | "namespace" | "workflow";
  readonly since: EpochMs;
  /** The note of the person who paused it; may be empty. */
  readonly reason: string;
}

/** An open circuit of a lane: almost all of its tasks failed, or an operator opened it. */
export interface LaneCircuit {
  readonly since: EpochMs;
  /** From then on one task may be the probe; null: none may, or one is. */
  readonly until: EpochMs | null;
  /** The probe is with an agent, and all other tasks wait for its outcome. */
  readonly isHalfOpen: boolean;
  /** The operator who opened it, with the reason; null: the supervisor opened it. */
  readonly override: { readonly by: string; readonly why: string } | null;
  /** The evidence of the supervisor. */
  readonly saw: string;
}

export interface LeaseLiveness {
  /** Of the session that holds it; null: it has sent none. */
  readonly lastHeartbeatAt: EpochMs | null;
  /** The progress that the agent last reported; null: none. */
  readonly progress: string | null;
}

/** What the run waits for, and what each of its moving or waiting steps waits for. */
export interface Explanation {
  /**
   * The wait of the run itself, or that of the first step that the run waits for. Its actions are
   * those on the whole run.
   */
  readonly run: Wait;
  /**
   * The steps that the run waits for: first those that need a person or an agent, then by their
   * next due time. Steps that wait for other steps are left out.
   */
  readonly waitsOn: readonly number[];
  /** In the order of the plan. */
  readonly steps: readonly StepWait[];
}

export interface Wait {
  readonly waitsFor: WaitsFor;
  readonly since: EpochMs;
  /** What happens next without an action of a person; null: nothing, see `waitsFor`. */
  readonly next: Next | null;
  /** null: no attempt can have been made. */
  readonly tried: Tried | null;
  /** What a person, or a program that acts for one, can do. */
  readonly actions: readonly Action[];
}

export interface StepWait extends Wait {
  readonly step: number;
  readonly side: "forward" | "undo";
}

export type WaitsFor =
  | AgentToPoll
  | QueueToResume
  | CircuitToClose
  | AgentWorking
  | {
      readonly kind: "agent-to-stop";
      readonly task: TaskKind;
      readonly agentId: string;
      readonly cause: CancelCause;
      /** The agent was asked to stop in the answer to a heartbeat. */
      readonly informed: boolean;
      readonly lastHeartbeatAt: EpochMs | null;
    }
  /** The retry policy delays the next try. */
  | { readonly kind: "backoff"; readonly task: TaskKind }
  /** The agent asked to get the task again later. */
  | { readonly kind: "again"; readonly task: TaskKind }
  /** A lost attempt may still take effect. `task` null: compensation waits for that. */
  | { readonly kind: "settle"; readonly task: TaskKind | null }
  | { readonly kind: "timer" }
  | { readonly kind: "signal"; readonly name: string }
  | {
      readonly kind: "approval";
      readonly approvers: readonly string[];
      readonly approvals: number;
      readonly need: number;
    }
  /** Counts of the items of a map: all, started, not ended, failed. */
  | ({ readonly kind: "items" } & Pick<Items, "total" | "started" | "open" | "failed">)
  /** The outcome of an attempt that its agent has deferred. */
  | { readonly kind: "callback"; readonly agentId: string | null }
  /** A child run, started under this fence; `stopping`: it was sent a cancel. */
  | {
      readonly kind: "child";
      readonly step: number;
      readonly fence: number;
      readonly stopping: boolean;
    }
  | {
      readonly kind: "person";
      readonly escalation: number;
      readonly reason: EscalationReason;
      readonly message: string;
    }
  /** The run is paused. `task` null: the run itself waits. */
  | { readonly kind: "resume"; readonly task: TaskKind | null }
  /** Needs that have not ended; of an undo: later steps that are not undone yet. */
  | { readonly kind: "steps"; readonly steps: readonly number[] }
  /** An `always` step, while the end of the run is not certain. */
  | { readonly kind: "end-of-run" }
  /** The run starts later. */
  | { readonly kind: "start" }
  /** Other runs hold the permits of its concurrency key. */
  | { readonly kind: "permit" }
  | { readonly kind: "ended" };

export interface AgentToPoll {
  readonly kind: "agent-to-poll";
  readonly task: TaskKind;
  readonly queue: string;
  readonly taskName: string;
  readonly lastPolledAt: EpochMs | null;
  /** An agent polled in the last minute, so the agents are busy. Else no agent is there. */
  readonly polled: boolean;
  /** All agents that polled the lane have been silent since. */
  readonly silent: boolean;
  /** Alarms so far about the lane without agents. */
  readonly alarms: number;
  /** Agent sessions that poll for it and are all cordoned; 0: not all are, or none polls. */
  readonly cordoned: number;
  /** Only agents of this version get it; null: all agents do. */
  readonly agentVersion: string | null;
}

/** The task is in a queue that is paused. */
interface QueueToResume {
  readonly kind: "queue-to-resume";
  readonly task: TaskKind;
  readonly queue: string;
  readonly taskName: string;
  readonly pause: LanePause;
}

/** The task is in a lane with an open circuit. */
interface CircuitToClose {
  readonly kind: "circuit-to-close";
  readonly task: TaskKind;
  readonly queue: string;
  readonly taskName: string;
  readonly circuit: LaneCircuit;
}

export interface AgentWorking {
  readonly kind: "agent-working";
  readonly task: TaskKind;
  readonly queue: string;
  readonly taskName: string;
  readonly agentId: string;
  readonly attemptBy: EpochMs;
  readonly lastHeartbeatAt: EpochMs | null;
  /** The last reported progress, and since when it is the same; null: none was reported. */
  readonly progress: { readonly text: string; readonly since: EpochMs } | null;
  /** Since when it is known to run far longer than others of its step; null: it does not. */
  readonly suspectAt: EpochMs | null;
}

export interface Next {
  readonly what: NextKind;
  readonly at: EpochMs;
  /** Set if no supervisor is there to do it. */
  readonly unwatched?: Unwatched;
}

export type NextKind =
  /** The lane is polled, paused or behind an open circuit: the supervisor checks the task again. */
  | "check-again"
  /** No agent polls the lane: an alarm. */
  | "alarm"
  /** One task of its lane may be the probe. */
  | "try-one"
  | "escalate"
  | "fall-back"
  /** The step fails, and `on_failure` says what follows. */
  | "fail"
  /**
   * The supervisor checks heartbeats and, where required, progress. It gives up an attempt without
   * them.
   */
  | "check-lease"
  /** The attempt is over its time: the agent is asked to stop. */
  | "tell-to-stop"
  /** The lease ends, whatever the agent does. */
  | "end-lease"
  /** The task becomes READY; while the run is paused, it is held. */
  | "make-ready"
  /** The step succeeds. */
  | "succeed"
  | "skip"
  /** The outcome counts as unknown, and `effects` says what follows. */
  | "count-as-unknown"
  /** `total` is over: the child is sent a cancel. */
  | "stop-child"
  /** Its first steps begin. */
  | "start"
  /** The run ends without having started. */
  | "give-up"
  /** The gate of a map decides about the next wave, or the wave begins. */
  | "next-wave"
  /** Effects begin to be undone. */
  | "undo";

export interface Tried {
  /** Attempts that counted, of the strategy or the undo. */
  readonly attempts: number;
  /** Attempts lost in a row. */
  readonly lost: number;
  /** Perform and compensate tasks claimed so far, also those that did not count. */
  readonly handedOut: number;
  /** Verifies about the last attempt. */
  readonly verifies: number;
  /** The current strategy of the plan: 0 as defined, n for the n-th fallback. */
  readonly strategy: number;
  /** Strategies of the plan, the one as defined included. */
  readonly strategies: number;
  /** How the last attempt ended; null: none has. */
  readonly last: SeenAttempt | null;
}

export type Action =
  /** `agentVersion`: start an agent of this version; null: of any. */
  | {
      readonly kind: "start-agent";
      readonly queue: string;
      readonly taskName: string;
      readonly agentVersion: string | null;
    }
  /** ResolveEscalation. */
  | {
      readonly kind: "answer";
      readonly step: number;
      readonly escalation: number;
      readonly answers: readonly AnswerKind[];
    }
  /** Signal. */
  | { readonly kind: "signal"; readonly name: string }
  /** Decide; `approvers`: names and roles, empty: any person. */
  | { readonly kind: "decide"; readonly step: number; readonly approvers: readonly string[] }
  /** CompleteDeferred, by the holder of the callback token. */
  | { readonly kind: "complete-deferred"; readonly step: number }
  | { readonly kind: "pause" }
  | { readonly kind: "resume" }
  | { readonly kind: "resume-queue"; readonly queue: string }
  /** SetCircuit: let the tasks pass, or return the decision to the supervisor. */
  | { readonly kind: "set-circuit"; readonly queue: string; readonly taskName: string }
  /** UncordonAgent, of an agent or a version that polls for the task. */
  | { readonly kind: "uncordon-agent"; readonly queue: string; readonly taskName: string }
  | { readonly kind: "resume-namespace" }
  | { readonly kind: "resume-workflow" }
  /** Start a process that watches the region of this name. */
  | { readonly kind: "start-supervisor"; readonly region: string }
  /** RetryRun: what had succeeded is reused. */
  | { readonly kind: "retry-run" }
  /** RerunFrom: from the start or from a step, perhaps with another input. */
  | { readonly kind: "rerun" }
  /** CancelRun. */
  | { readonly kind: "cancel"; readonly undo: readonly ("compensate" | "leave")[] };
