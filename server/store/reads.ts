// One run with all of its history, as people, their tools and the engine read it. Plain reads
// without locks. Lists of runs are in lists.ts.

import type { Liveness } from "../core/explain/explanation.ts";
import type { AttemptKind, EpochMs, Outcome } from "../core/model/attempt.ts";
import type { AnswerKind, EscalationReason, Rule } from "../core/model/history.ts";
import type { EndKind, Forward, Reason, RunFailure, RunState, Step } from "../core/model/model.ts";
import type { Payload } from "../core/model/payload.ts";
import type { Concurrency } from "../core/model/permits.ts";
import type { WaitCounts } from "../core/model/waits.ts";
import type { RunId } from "./run-head.ts";
import type { TracedRun } from "./trace.ts";

export interface RunRecord {
  readonly runId: RunId;
  readonly namespaceId: number;
  readonly key: string | null;
  readonly workflow: string;
  readonly version: number;
  readonly definitionId: number;
  readonly state: RunState["kind"];
  readonly reason: Reason | null;
  /** The note of the caller that cancelled it; null: none. */
  readonly cancelNote: string | null;
  readonly stateVersion: number;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly input: Payload | null;
  readonly createdAt: EpochMs;
  readonly endedAt: EpochMs | null;
  readonly deadlineAt: EpochMs | null;
  /** When a PENDING run begins; null: it waits for a permit, or is not PENDING. */
  readonly startAt: EpochMs | null;
  readonly concurrency: Concurrency | null;
  /** Failures after which it continued. */
  readonly warnings: number;
  /** The failure that says most about the run; null: no step has failed for good. */
  readonly failure: RunFailure | null;
  /** Number of compensated steps. */
  readonly undone: number;
  readonly substates: RunSubstates;
  /** The run that it repeats; null: none. */
  readonly rerunOf: RerunOf | null;
  /** The run whose step began it; null: none. */
  readonly parent: ParentRun | null;
}

/** What the steps of an open run do or wait for. */
export interface RunSubstates {
  readonly waits: WaitCounts;
  /** An agent has a task of the run. */
  readonly isWorking: boolean;
  /** A task is ready, and no agent has it. */
  readonly waitsForAgent: boolean;
}

/** The workflow, version and definition that a run is an execution of. */
export type RunDefinition = Pick<RunRecord, "workflow" | "version" | "definitionId">;

export interface ParentRun {
  readonly runId: RunId;
  readonly stepId: string;
}

export interface RerunOf {
  readonly runId: RunId;
  /** The step from which it repeats; "": from the start; null: from the steps that had failed. */
  readonly from: string | null;
}

export interface AttemptRecord {
  readonly step: number;
  readonly kind: AttemptKind;
  readonly fence: number;
  readonly n: number;
  readonly attempt: number;
  readonly agentId: string | null;
  readonly session: string | null;
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs;
  readonly outcome: Outcome;
  /** As its lease had it at the end (convert-progress.ts); null: the agent reported none. */
  readonly progress: string | null;
}

export interface InterventionRecord {
  readonly runId: RunId;
  readonly step: number | null;
  readonly fence: number;
  readonly rule: Rule;
  readonly n: number;
  readonly saw: string;
  readonly did: string;
  readonly dueAt: EpochMs;
  readonly actedAt: EpochMs;
  /** The node that owned the partition and acted; null: the report of an agent caused it. */
  readonly node: string | null;
  readonly partition: number;
  readonly epoch: number | null;
}

export interface EscalationRecord {
  readonly n: number;
  readonly step: number;
  readonly reason: EscalationReason;
  /** The error code that led to it; empty: none. */
  readonly code: string;
  readonly message: string;
  readonly openedAt: EpochMs;
  readonly closedAt: EpochMs | null;
  readonly closedBy: string | null;
  /** When the lack of an answer counts as an answer, too; null: it waits forever. */
  readonly deadlineAt: EpochMs | null;
  /** The person who looks after it; others may answer all the same. null: no person does. */
  readonly claim: { readonly by: string; readonly at: EpochMs } | null;
  /** The answer of a person; null: there is none, or it was closed otherwise. */
  readonly answer: {
    readonly answer: AnswerKind;
    readonly by: string;
    /** The person proved the name. */
    readonly verified: boolean;
    readonly why: string;
  } | null;
}

/** A signal in its public form. */
export interface SignalRecord {
  readonly seq: number;
  readonly id: string;
  readonly name: string;
  readonly payload: Payload | null;
  readonly at: EpochMs;
  /** The step that took it; null: no step has yet. */
  readonly takenBy: number | null;
}

/** A decision of an approver. */
export interface DecisionRecord {
  readonly step: number;
  readonly approver: string;
  /** The approver proved the name. */
  readonly verified: boolean;
  readonly approved: boolean;
  readonly comment: string;
  readonly form: Payload | null;
  readonly at: EpochMs;
}

/** A run with everything about it, read in one consistent snapshot. */
export interface RunDetail {
  readonly run: RunRecord;
  /** The state in the form that the rules use. */
  readonly state: RunState;
  /** A pivot has succeeded. */
  readonly pivoted: boolean;
  readonly steps: ReadonlyMap<number, Step>;
  readonly attempts: readonly AttemptRecord[];
  readonly interventions: readonly InterventionRecord[];
  readonly escalations: readonly EscalationRecord[];
  readonly signals: readonly SignalRecord[];
  readonly decisions: readonly DecisionRecord[];
  /** Steps that it reuses from another run, with the run that made their effect. */
  readonly reused: ReadonlyMap<number, RunId>;
  readonly totals: HistoryTotals;
}

/** How many rows of each kind the run has; the detail may have only the newest. */
interface HistoryTotals {
  /** Ended attempts; null: not read, or more items are settled than a read counts. */
  readonly attempts: number | null;
  /** null: not read. */
  readonly interventions: number | null;
}

export interface ItemPage {
  /** The number of the map. */
  readonly map: number;
  /** The number of an item; 0: from the first. */
  readonly after: number;
  readonly limit: number;
  /** Only items whose forward state is one of these; null: all. */
  readonly forwards: readonly Forward["kind"][] | null;
}

export interface ChangedInput {
  readonly step: number;
  /** Index in the step's strategies. */
  readonly strategy: number;
  readonly input: Payload | null;
}

/** Liveness of the agents that a run waits for. */
export interface RunLiveness extends Liveness {
  /** The database's time of the read. */
  readonly now: EpochMs;
}

export interface DetailWanted {
  /** Attempts are also needed for the outputs and errors of steps. */
  readonly attempts: boolean;
  readonly interventions: boolean;
  readonly escalations: boolean;
}

export interface Reads {
  findRun(
    namespaceId: number,
    by: { readonly runId: RunId } | { readonly key: string },
  ): Promise<RunRecord | null>;
  runDetail(runId: RunId, wanted: DetailWanted): Promise<RunDetail | null>;
  /** Items of a map in their order, those behind `after`, with their attempts. */
  runItems(runId: RunId, page: ItemPage): Promise<Pick<RunDetail, "steps" | "attempts">>;
  /** The whole inputs that persons gave to strategies of its steps instead of the planned ones. */
  changedInputs(runId: RunId): Promise<readonly ChangedInput[]>;
  /** What the traces of these runs need; runs that do not exist are left out. */
  tracedRuns(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, TracedRun>>;
  /** Of steps that are in their queue or held by an agent; empty if the run does not exist. */
  runLiveness(runId: RunId): Promise<RunLiveness>;
  /** The host of each session, as its agent stated it; sessions without one are left out. */
  hosts(sessions: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export type { EndKind };
