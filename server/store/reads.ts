// One run with all of its history, as people, their tools and the engine read it. Plain reads, no
// locks. Lists of runs are in lists.ts.

import type { AttemptKind, EpochMs, Outcome } from "../core/attempt.ts";
import type { Liveness } from "../core/explanation.ts";
import type { AnswerKind, EscalationReason, Rule } from "../core/history.ts";
import type { EndKind, Forward, Reason, RunState, Step } from "../core/model.ts";
import type { Payload } from "../core/payload.ts";
import type { Concurrency } from "../core/permits.ts";
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
  /** What whoever cancelled it said. */
  readonly cancelNote: string | null;
  readonly stateVersion: number;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly input: Payload | null;
  readonly createdAt: EpochMs;
  readonly endedAt: EpochMs | null;
  readonly deadlineAt: EpochMs | null;
  /** When a PENDING run begins; null: it waits for a slot of its concurrency key. */
  readonly startAt: EpochMs | null;
  readonly concurrency: Concurrency | null;
  /** Failures that it continued after. */
  readonly warnings: number;
  /** The run that it does again; null: none. */
  readonly rerunOf: RerunOf | null;
  /** The run whose step began it; null: none has. */
  readonly parent: ParentRun | null;
}

/** What a run is one of. */
export type RunDefinition = Pick<RunRecord, "workflow" | "version" | "definitionId">;

export interface ParentRun {
  readonly runId: RunId;
  readonly stepId: string;
}

export interface RerunOf {
  readonly runId: RunId;
  /** The step from which; "": from the start; null: from the steps that had failed. */
  readonly from: string | null;
}

export interface AttemptRecord {
  readonly step: number;
  readonly kind: AttemptKind;
  readonly fence: number;
  readonly n: number;
  readonly attempt: number;
  readonly agentId: string | null;
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs;
  readonly outcome: Outcome;
  /** As its lease had it at the end, see convert-progress.ts; null: it told none. */
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
  /**
   * Who acted: the node that owned the partition, and its epoch; null where an agent's word did it.
   */
  readonly node: string | null;
  readonly partition: number;
  readonly epoch: number | null;
}

export interface EscalationRecord {
  readonly n: number;
  readonly step: number;
  readonly reason: EscalationReason;
  /** The error code that led to it; empty: none did. */
  readonly code: string;
  readonly message: string;
  readonly openedAt: EpochMs;
  readonly closedAt: EpochMs | null;
  readonly closedBy: string | null;
  /** When nobody's answer is one, too; null: it waits for ever. */
  readonly deadlineAt: EpochMs | null;
  /** Who looks after it; it binds nobody who answers. */
  readonly claim: { readonly by: string; readonly at: EpochMs } | null;
  /** What a person answered; null: nobody has, or it was closed otherwise. */
  readonly answer: {
    readonly answer: AnswerKind;
    readonly by: string;
    readonly why: string;
  } | null;
}

/** A signal as people see it. */
export interface SignalRecord {
  readonly seq: number;
  readonly id: string;
  readonly name: string;
  readonly payload: Payload | null;
  readonly at: EpochMs;
  /** The step that took it; null: nobody has yet. */
  readonly takenBy: number | null;
}

/** What an approver has said. */
export interface DecisionRecord {
  readonly step: number;
  readonly approver: string;
  readonly approved: boolean;
  readonly comment: string;
  readonly form: Payload | null;
  readonly at: EpochMs;
}

/** A run with everything about it, in one consistent look. */
export interface RunDetail {
  readonly run: RunRecord;
  /** As the rules know it. */
  readonly state: RunState;
  /** A pivot has succeeded. */
  readonly pivoted: boolean;
  readonly steps: ReadonlyMap<number, Step>;
  readonly attempts: readonly AttemptRecord[];
  readonly interventions: readonly InterventionRecord[];
  readonly escalations: readonly EscalationRecord[];
  readonly signals: readonly SignalRecord[];
  readonly decisions: readonly DecisionRecord[];
  /** Steps that it keeps of another run, with the run that made their effect. */
  readonly kept: ReadonlyMap<number, RunId>;
}

export interface ItemPage {
  /** Number of the map. */
  readonly map: number;
  /** Number of an item; 0: from the first. */
  readonly after: number;
  readonly limit: number;
  /** Only those whose forward state is one of these; null: all. */
  readonly forwards: readonly Forward["kind"][] | null;
}

export interface ChangedInput {
  readonly step: number;
  /** Its place in the step's strategies. */
  readonly strategy: number;
  readonly input: Payload | null;
}

/** What agents have let hear of themselves about a run. */
export interface RunLiveness extends Liveness {
  /** The database's time of the look. */
  readonly now: EpochMs;
}

export interface DetailWanted {
  /** Attempts are needed for the outputs and errors of steps too. */
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
  /** Items of a map in their order, those behind `after`, with the attempts at them. */
  runItems(runId: RunId, page: ItemPage): Promise<Pick<RunDetail, "steps" | "attempts">>;
  /** The whole inputs that were given to strategies of its steps, instead of those of the plan. */
  changedInputs(runId: RunId): Promise<readonly ChangedInput[]>;
  /** What their traces tell of these runs; those that are not there are left out. */
  tracedRuns(runs: readonly RunId[]): Promise<ReadonlyMap<RunId, TracedRun>>;
  /** Of the steps that are in their queue or with an agent; empty for a run that is not there. */
  runLiveness(runId: RunId): Promise<RunLiveness>;
}

export type { EndKind };
