// The Scheduler accepts work and alone decides what happens next. This file is the interface that
// `api/` uses; control-plane.ts joins the parts, such as register.ts, schedule.ts, advance.ts and
// run-watchers.ts.

import type { Definition } from "../core/definition/definition.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import type { Evaluated } from "../core/model/evaluator.ts";
import type { Answer, RunEvent } from "../core/model/event.ts";
import type { QueueLimits } from "../core/model/limits.ts";
import type { Payload } from "../core/model/payload.ts";
import type { Concurrency } from "../core/model/permits.ts";
import type { DroverError } from "../errors.ts";
import type { Audit } from "../store/audit.ts";
import type {
  CircuitOverride,
  CircuitRecord,
  Cordon,
  CordonRef,
  NewCordon,
} from "../store/circuits.ts";
import type { LearnedDurations } from "../store/durations.ts";
import type { NamespaceLimits } from "../store/namespaces.ts";
import type { Notify } from "../store/outbox.ts";
import type { PinRef } from "../store/pins.ts";
import type { Pause, QueueRef, WorkflowRef } from "../store/queues.ts";
import type { RunDefinition, RunRecord } from "../store/reads.ts";
import type { LaneKey, Namespace, RunRef } from "../store/store.ts";
import type { TraceContext } from "../store/trace.ts";
import type { TriggeredBy } from "../store/triggers.ts";
import type { ScheduleControl } from "./cron/schedule-control.ts";

export interface ScheduleRequest {
  readonly namespace: Namespace;
  readonly target:
    | {
        readonly kind: "named";
        readonly name: string;
        /** 0: the default version. */
        readonly version: number;
      }
    | { readonly kind: "inline"; readonly definition: Definition };
  readonly input: Payload | null;
  /** The caller's own key for the run; null: the call is not idempotent. */
  readonly key: string | null;
  /** 1 first to 9 last. */
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The hook that receives the run's end; null: only those that receive every end. */
  readonly notify: Notify | null;
  /** When the run begins; null, or a time that has passed: at once. */
  readonly startAt: EpochMs | null;
  /** null: it has no concurrency key. */
  readonly concurrency: Concurrency | null;
  /**
   * SHA-256, hex, of the request as sent: maps sorted, defaults not filled in, version as named.
   */
  readonly digest: string;
  /** How long its key is kept at least, in milliseconds; left out: 30 days. */
  readonly keyRetentionMs?: number;
  /** The ended run whose trigger starts this one; left out: none. */
  readonly triggered?: TriggeredBy;
  /**
   * The incarnation of the database in which the server has read why the run is to begin. The run
   * does not begin in another one, which may have lost the reason. Left out: a caller asks for it.
   */
  readonly readIn?: number;
  /** The trace context of the caller; left out: it has given none. Not part of the digest. */
  readonly trace?: TraceContext;
}

/** How an ended run is to be run again. */
export interface Again {
  readonly namespace: Namespace;
  /** From the steps that did not succeed, or from a step; "": from the start. */
  readonly from: { readonly kind: "failed" } | { readonly kind: "step"; readonly stepId: string };
  /** null: as before. */
  readonly input: { readonly payload: Payload | null } | null;
  readonly version: "same" | "newest";
}

/** Runs an ended run again, as a new run that is linked to it. */
export interface RerunRequest extends Again {
  readonly runId: string;
  /** The caller's own key for the request, unique for the run. */
  readonly requestId: string;
  /** SHA-256, hex, of the request as sent. */
  readonly digest: string;
  /** Recorded with the new run. */
  readonly audit?: Audit;
}

/** Most runs of one bulk action. */
export const BULK_RUNS_MAX = 10_000;

/** The first call of an action on many runs: what was counted, and what was expected. */
export interface BulkRequest {
  readonly namespace: Namespace;
  readonly requestId: string;
  /** SHA-256, hex, of the request as sent. */
  readonly digest: string;
  readonly counted: { readonly count: number; readonly now: EpochMs };
  /** null: any. */
  readonly expected: number | null;
  /** Why the action may not begin. An action that was recorded before goes on all the same. */
  readonly refusal: DroverError | null;
  /** Recorded with the first call. */
  readonly audit?: Audit;
}

export type BatchAnswer =
  | { readonly kind: "scheduled"; readonly runId: string; readonly created: boolean }
  | { readonly kind: "refused"; readonly error: DroverError };

/** What callers may submit to a run through the Scheduler. */
export type RunCommand = Extract<
  RunEvent,
  { kind: "callback" | "signal" | "decide" | "answer" | "cancel" | "pause" | "resume" }
>;

/** What operators do to circuits and agents. */
export type CircuitCalls = "setCircuit" | "cordonAgent" | "uncordonAgent";

export interface Scheduler extends ScheduleControl {
  /** `definitionProblems` finds nothing wrong with the definition. */
  registerWorkflow(
    namespace: Namespace,
    definition: Definition,
    keepDefault: boolean,
    audit?: Audit,
  ): Promise<{ readonly version: number; readonly created: boolean }>;
  /** Returns the default before; null: there is no such version. */
  setDefaultVersion(
    namespace: Namespace,
    name: string,
    version: number,
    audit?: Audit,
  ): Promise<number | null>;
  schedule(
    request: ScheduleRequest,
  ): Promise<{ readonly runId: string; readonly created: boolean }>;
  /**
   * Begins many runs, with an answer for each: in one transaction, or in several if they are too
   * many for one. A refusal of one run does not affect the others. Rejects if none has started, if
   * only a part has started, or if the outcome is unknown.
   */
  scheduleBatch(requests: readonly ScheduleRequest[]): Promise<readonly BatchAnswer[]>;
  /** Throws RUN_STATE if the run is open, was undone, or has nothing to be run again. */
  rerun(request: RerunRequest): Promise<{ readonly runId: string; readonly created: boolean }>;
  /**
   * Why runs of one of these definitions cannot be run again as requested: there is no such step or
   * no newest version, or the input breaks the schema. null: none of these.
   */
  rerunRefusal(asked: Again, runs: readonly RunDefinition[]): Promise<DroverError | null>;
  /**
   * The input of a step or an item by its current strategy, with its expressions evaluated. null:
   * the step has not started, or it has no task and no child run.
   */
  stepInput(
    run: Pick<RunRecord, "runId" | "namespaceId" | "definitionId">,
    stepKey: number,
  ): Promise<Evaluated<Payload | null> | null>;
  /**
   * Records an action on many runs, once its count is what was expected. Runs created at `until` or
   * later are not part of it, also when the call is repeated.
   */
  openBulk(request: BulkRequest): Promise<{ readonly until: EpochMs; readonly repeated: boolean }>;
  /**
   * Submits an event to a run: a callback, a signal, or a person's command or answer. `audit` is
   * recorded if the event changes the run.
   */
  command(run: RunRef, event: RunCommand, audit?: Audit): Promise<Answer>;
  /** How long the steps of a definition take, by step. null in `slowAfterMs`: too few samples. */
  learnedDurations(
    definitionId: number,
  ): Promise<readonly (LearnedDurations & { readonly slowAfterMs: number | null })[]>;
  /**
   * Resolves when the run has moved past `version` or has ended, or when the signal is aborted;
   * never rejects. A change in this process is seen at once, one of another server within a second.
   */
  runChange(run: RunRef, version: number, signal: AbortSignal): Promise<void>;
  /**
   * After its return no server hands out a task of the queue; leased tasks continue. Idempotent: a
   * repeat keeps the first reason.
   */
  pauseQueue(of: QueueRef, reason: string, audit?: Audit): Promise<Pause>;
  /** The waiting tasks of the queue are handed out at once. Idempotent. */
  resumeQueue(of: QueueRef, audit?: Audit): Promise<void>;
  /**
   * After its return no server hands out a task of the workflow's runs, also of those that begin
   * later. null: there is no such workflow. Idempotent: a repeat keeps the first reason.
   */
  pauseWorkflow(of: WorkflowRef, reason: string, audit?: Audit): Promise<Pause | null>;
  /** The waiting tasks of its runs are handed out at once. Idempotent. */
  resumeWorkflow(of: WorkflowRef, audit?: Audit): Promise<void>;
  /**
   * Overrides the rules for a circuit: that of the lane, or (`agentId` not "") of one agent in it;
   * null removes the override. Other servers know within a second. Idempotent: a repeat keeps the
   * first author and reason.
   */
  setCircuit(
    of: LaneKey,
    agentId: string,
    override: CircuitOverride | null,
    audit?: Audit,
  ): Promise<CircuitRecord>;
  /**
   * It gets no new task, on other servers within a second. Idempotent: the first cordon is kept.
   * null: there is no such session.
   */
  cordonAgent(cordon: NewCordon, audit?: Audit): Promise<Cordon | null>;
  /** false: it was not cordoned. */
  uncordonAgent(of: CordonRef, audit?: Audit): Promise<boolean>;
  /** After its return no server exceeds the limits; tasks that agents already have stay theirs. */
  limitQueue(of: QueueRef, limits: QueueLimits, audit?: Audit): Promise<void>;
  /**
   * After its return no server hands a task of the workflow's version out of the queue to an agent
   * of another version; tasks that agents already have stay theirs. Agents that wait on other
   * servers get the tasks within a second. Another agent version replaces the one before. false:
   * there is no such workflow, or no such version of it. Idempotent.
   */
  pinQueue(of: PinRef, agentVersion: string, audit?: Audit): Promise<boolean>;
  /** Tasks that no other pin reserves go to any agent at once. Idempotent. */
  unpinQueue(of: PinRef, audit?: Audit): Promise<void>;
  /** Other servers know within 5 s. */
  limitNamespace(namespaceId: number, limits: NamespaceLimits, audit?: Audit): Promise<void>;
  /** Whether the lines of handlers are stored. Other servers know within 5 s. */
  setNamespaceLogs(namespaceId: number, stored: boolean, audit?: Audit): Promise<void>;
}
