// "Why is it not moving?": what an explanation of a run is made of, and what it is made from.
import type { AttemptKind, EpochMs, Outcome, TaskKind } from "./attempt.ts";
import type { AnswerKind, EscalationReason } from "./history.ts";
import type { Items } from "./items.ts";
import type { CancelCause, RunState, Step } from "./model.ts";

/** A run as it is seen at a moment, with what no rule needs to know: liveness of life. */
export interface SeenRun {
  readonly now: EpochMs;
  readonly state: RunState;
  readonly pivoted: boolean;
  readonly createdAt: EpochMs;
  readonly endedAt: EpochMs | null;
  /** Those in no page are BLOCKED and have done nothing. */
  readonly steps: ReadonlyMap<number, Step>;
  /** Oldest first. */
  readonly attempts: readonly SeenAttempt[];
  /** By number. */
  readonly escalations: readonly SeenEscalation[];
  readonly decisions: readonly { readonly step: number; readonly approved: boolean }[];
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
  /** null: it has none. */
  readonly deadlineAt: EpochMs | null;
}

/** What agents have let hear of themselves, by number of the step. */
export interface Liveness {
  /** Of steps with an agent. */
  readonly leases: ReadonlyMap<number, LeaseLiveness>;
  /** Of steps in their queue: when somebody last polled its lane; null: nobody has of late. */
  readonly polls: ReadonlyMap<number, EpochMs | null>;
  /** A lane counts as polled for so long after a poll. */
  readonly polledMs: number;
  /** Of steps in their queue: those where all agents that polled have fallen silent since. */
  readonly silent: ReadonlySet<number>;
  /** Of steps in their queue: what keeps them there; steps that nothing keeps are left out. */
  readonly pauses: ReadonlyMap<number, LanePause>;
  /** Of steps in their queue: a circuit that lets nothing of its lane through. */
  readonly circuits: ReadonlyMap<number, LaneCircuit>;
  /**
   * Of steps in their queue: how many agent sessions asked for them in the last minute, where every
   * one of those is cordoned.
   */
  readonly cordoned: ReadonlyMap<number, number>;
  /** Of steps in their queue: of which version agents must be, where not any may take it. */
  readonly agentVersions: ReadonlyMap<number, string>;
  /** Nobody acts when a moment of the run comes; null: somebody does. */
  readonly unwatched: Unwatched | null;
  /** Of both: the name of the queue, also where expressions came to it. */
  readonly queues: ReadonlyMap<number, string>;
}

/** No supervisor watches the run's partition. */
export interface Unwatched {
  /** Its region, by name. */
  readonly region: string;
  /** None watches any partition of the region. */
  readonly whole: boolean;
}

/** Somebody has paused the queue, all queues of the namespace, or the workflow. */
export interface LanePause {
  readonly of: "queue" | "namespace" | "workflow";
  readonly since: EpochMs;
  /** In the words of whoever did; may be empty. */
  readonly reason: string;
}

/** Nothing of a lane goes through: its tasks failed nearly every time, or a person says so. */
export interface LaneCircuit {
  readonly since: EpochMs;
  /** From then on one task may try; null: none may, or one does. */
  readonly until: EpochMs | null;
  /** One task is out, and all others wait for how it goes. */
  readonly trying: boolean;
  /** Whoever has opened it by hand; null: the supervisor has. */
  readonly said: { readonly by: string; readonly why: string } | null;
  /** What the supervisor saw. */
  readonly saw: string;
}

export interface LeaseLiveness {
  /** Of the session that holds it; null: it has not sent. */
  readonly lastHeartbeatAt: EpochMs | null;
  /** As the agent last said it; null: it has said none. */
  readonly progress: string | null;
}

/** What a run waits for, and each of its steps that moves or waits. */
export interface Explanation {
  /**
   * What the run waits for: its own, or that of the first of the steps that it waits for. Its
   * actions are those about the run as a whole.
   */
  readonly run: Wait;
  /**
   * The steps that the run waits for, first those that need somebody, then by their next moment.
   * Steps that wait for other steps are not among them.
   */
  readonly waitsOn: readonly number[];
  /** In the order of the plan. */
  readonly steps: readonly StepWait[];
}

export interface Wait {
  readonly waitsFor: WaitsFor;
  readonly since: EpochMs;
  /** What happens by itself if nobody does anything; null: nothing, see `waitsFor`. */
  readonly next: Next | null;
  /** null where no attempt can have been made. */
  readonly tried: Tried | null;
  /** What a person, or who acts for one, can do. */
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
      /** A heartbeat has told it. */
      readonly heard: boolean;
      readonly lastHeartbeatAt: EpochMs | null;
    }
  /** A policy spaces the tries. */
  | { readonly kind: "backoff"; readonly task: TaskKind }
  /** The agent asked to be asked again then. */
  | { readonly kind: "again"; readonly task: TaskKind }
  /** A lost attempt may still act until then. `task` null: so that the run can be undone. */
  | { readonly kind: "settle"; readonly task: TaskKind | null }
  | { readonly kind: "timer" }
  | { readonly kind: "signal"; readonly name: string }
  | {
      readonly kind: "approval";
      readonly approvers: readonly string[];
      readonly approvals: number;
      readonly need: number;
    }
  /** The items of a map: how many there are, have begun, have not ended, and have failed. */
  | ({ readonly kind: "items" } & Pick<Items, "total" | "begun" | "open" | "failed">)
  /** The outcome of an attempt that its agent has deferred. */
  | { readonly kind: "callback"; readonly agentId: string | null }
  /** A child run, begun under this fence; `stopping`: it was told to stop. */
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
  /** The run is paused. `task` null: the run itself. */
  | { readonly kind: "resume"; readonly task: TaskKind | null }
  /** Needs that have not ended; of an undo: what came after it and is not undone. */
  | { readonly kind: "steps"; readonly steps: readonly number[] }
  /** An `always` step, while it is not certain how the run ends. */
  | { readonly kind: "end-of-run" }
  /** The run starts later. */
  | { readonly kind: "start" }
  /** Another run holds the slot of its concurrency key. */
  | { readonly kind: "slot" }
  | { readonly kind: "ended" };

export interface AgentToPoll {
  readonly kind: "agent-to-poll";
  readonly task: TaskKind;
  readonly queue: string;
  readonly taskName: string;
  readonly lastPolledAt: EpochMs | null;
  /** Somebody did in the last minute: the agents are busy. Else none is there. */
  readonly polled: boolean;
  /** All agents that polled it have fallen silent. */
  readonly silent: boolean;
  /** How often it was alarmed that nobody is there. */
  readonly alarms: number;
  /** Agent sessions that ask for it and are all cordoned; 0: not all are, or none asks. */
  readonly cordoned: number;
  /** Only agents of this version get it; null: all do. */
  readonly agentVersion: string | null;
}

/** In a queue out of which nobody may take it. */
export interface QueueToResume {
  readonly kind: "queue-to-resume";
  readonly task: TaskKind;
  readonly queue: string;
  readonly taskName: string;
  readonly pause: LanePause;
}

/** In a queue of whose task nothing goes through. */
export interface CircuitToClose {
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
  /** What it last said, and since when it says so; null: it has said nothing. */
  readonly progress: { readonly text: string; readonly since: EpochMs } | null;
  /** Since when it is known to run far longer than others of its step; null: it does not. */
  readonly suspectAt: EpochMs | null;
}

export interface Next {
  readonly what: NextKind;
  readonly at: EpochMs;
  /** It will not happen by itself: nobody is there to do it. */
  readonly unwatched?: Unwatched;
}

export type NextKind =
  /** Its lane is polled or paused: the supervisor looks at it again. */
  | "look-again"
  /** Nobody polls its lane: an alarm. */
  | "alarm"
  /** One task of its lane may try. */
  | "try-one"
  | "escalate"
  | "fall-back"
  /** The step fails, and `on_failure` says what follows. */
  | "fail"
  /** If the agent has not sent, and made progress where that is watched, it is given up. */
  | "check-lease"
  /** The attempt is over its time. */
  | "tell-to-stop"
  /** Whatever the agent does. */
  | "end-lease"
  /** The task goes into its queue; while the run is paused, it is held. */
  | "make-ready"
  /** The step succeeds. */
  | "succeed"
  | "skip"
  /** Nobody knows whether it took effect, and `effects` says what follows. */
  | "count-as-unknown"
  /** Its time is over, and it has its child stop. */
  | "stop-child"
  /** Its first steps begin. */
  | "start"
  /** It ends without having begun. */
  | "give-up"
  /** The gate of a map looks whether its next wave may begin, or the wave begins. */
  | "next-wave"
  /** What was done begins to be undone. */
  | "undo";

export interface Tried {
  /** That counted, of the strategy or the undo. */
  readonly attempts: number;
  /** Attempts lost in a row. */
  readonly lost: number;
  /** Perform and compensate tasks so far, also those that did not count. */
  readonly handedOut: number;
  /** About the last attempt. */
  readonly verifies: number;
  /** Which way: 0 as defined, n by the n-th fallback. */
  readonly strategy: number;
  /** How many ways the plan has, the one as defined included. */
  readonly strategies: number;
  /** How the last one ended; null: none has. */
  readonly last: SeenAttempt | null;
}

export type Action =
  /** `agentVersion`: of this version; null: of any. */
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
  /** Decide; `approvers`: names and roles, empty: anybody. */
  | { readonly kind: "decide"; readonly step: number; readonly approvers: readonly string[] }
  /** CompleteDeferred, by whoever has the callback token. */
  | { readonly kind: "complete-deferred"; readonly step: number }
  | { readonly kind: "pause" }
  | { readonly kind: "resume" }
  | { readonly kind: "resume-queue"; readonly queue: string }
  /** SetCircuit: let the tasks through, or leave it to the supervisor again. */
  | { readonly kind: "set-circuit"; readonly queue: string; readonly taskName: string }
  /** UncordonAgent, of an agent or a version that asks for the task. */
  | { readonly kind: "uncordon-agent"; readonly queue: string; readonly taskName: string }
  | { readonly kind: "resume-namespace" }
  | { readonly kind: "resume-workflow" }
  /** Start a process that watches the region of this name. */
  | { readonly kind: "start-supervisor"; readonly region: string }
  /** CancelRun. */
  | { readonly kind: "cancel"; readonly undo: readonly ("compensate" | "leave")[] };
