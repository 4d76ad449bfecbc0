// The Scheduler: accepts work and is the only one that decides what happens next.
// This is what `rpc` sees of it; the parts are register.ts, schedule.ts, advance.ts and watch.ts.

import type { EpochMs } from "../core/attempt.ts";
import type { Definition } from "../core/definition.ts";
import type { Answer, RunEvent } from "../core/event.ts";
import type { QueueLimits } from "../core/limits.ts";
import type { Payload } from "../core/payload.ts";
import type { Concurrency } from "../core/permits.ts";
import type { DroverError } from "../errors.ts";
import type { CircuitOverride, CircuitRecord, Cordon, CordonRef } from "../store/circuits.ts";
import type { LearnedDurations } from "../store/durations.ts";
import type { NamespaceLimits } from "../store/namespaces.ts";
import type { Notify } from "../store/outbox.ts";
import type { PinRef } from "../store/pins.ts";
import type { Pause, QueueRef, WorkflowRef } from "../store/queues.ts";
import type { RunDefinition } from "../store/reads.ts";
import type { LaneKey, Namespace, RunRef } from "../store/store.ts";
import type { TraceContext } from "../store/trace.ts";
import type { TriggeredBy } from "../store/triggers.ts";
import type { ScheduleControl } from "./schedule-control.ts";

export interface ScheduleRequest {
  readonly namespace: Namespace;
  readonly target:
    | {
        readonly kind: "named";
        readonly name: string /** 0: the default one. */;
        readonly version: number;
      }
    | { readonly kind: "inline"; readonly definition: Definition };
  readonly input: Payload | null;
  /** The caller's own name for the run; null: the call is not idempotent. */
  readonly key: string | null;
  /** 1 first to 9 last. */
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The hook that is told of the run's end; null: only those that hear of every end. */
  readonly notify: Notify | null;
  /** The run begins then; null, or a moment that has passed: at once. */
  readonly startAt: EpochMs | null;
  /** null: it has no concurrency key. */
  readonly concurrency: Concurrency | null;
  /**
   * SHA-256, hex, of the request as sent: maps sorted, defaults not filled in, version as named.
   */
  readonly digest: string;
  /** How long its key is kept at least; left out: 30 days. */
  readonly keyKeptMs?: number;
  /** The ended run that sets it off; left out: none does. */
  readonly triggered?: TriggeredBy;
  /** Where its caller is in a trace; left out: he has said nothing. No part of the digest. */
  readonly trace?: TraceContext;
}

/** How a run is to be done again. */
export interface Again {
  readonly namespace: Namespace;
  /** From the steps that did not succeed, or from a step; "": from the start. */
  readonly from: { readonly kind: "failed" } | { readonly kind: "step"; readonly stepId: string };
  /** null: as before. */
  readonly input: { readonly payload: Payload | null } | null;
  readonly version: "same" | "newest";
}

/** A run that has ended is to be done again, as a new run that is linked to it. */
export interface RerunRequest extends Again {
  readonly runId: string;
  /** The caller's own name for the request, unique for the run. */
  readonly requestId: string;
  /** SHA-256, hex, of the request as sent. */
  readonly digest: string;
}

/** Most runs of one bulk action. */
export const BULK_RUNS_MAX = 10_000;

/** The first call of an action on many runs: what was counted, and what was expected. */
export interface BulkRequest {
  readonly namespace: Namespace;
  readonly requestId: string;
  /** SHA-256, hex, of the request as sent. */
  readonly digest: string;
  readonly looked: { readonly count: number; readonly now: EpochMs };
  /** null: any. */
  readonly expected: number | null;
  /** Why it may not begin. One that was filed before goes on all the same. */
  readonly refusal: DroverError | null;
}

export type BatchAnswer =
  | { readonly kind: "scheduled"; readonly runId: string; readonly created: boolean }
  | { readonly kind: "refused"; readonly error: DroverError };

/** What the outside world may say to a run through the Scheduler. */
export type RunCommand = Extract<
  RunEvent,
  { kind: "callback" | "signal" | "decide" | "answer" | "cancel" | "pause" | "resume" }
>;

/** What people say about circuits and agents. */
export type CircuitCalls = "sayCircuit" | "cordonAgent" | "uncordonAgent";

export interface Scheduler extends ScheduleControl {
  /** The definition is one that `definitionProblems` finds nothing wrong with. */
  registerWorkflow(
    namespace: Namespace,
    definition: Definition,
    keepDefault: boolean,
  ): Promise<{ readonly version: number; readonly created: boolean }>;
  /** Returns the default before; null: there is no such version. */
  setDefaultVersion(namespace: Namespace, name: string, version: number): Promise<number | null>;
  schedule(
    request: ScheduleRequest,
  ): Promise<{ readonly runId: string; readonly created: boolean }>;
  /**
   * Begins many runs in one transaction, with an answer for each; what is wrong with one keeps none
   * of the others. Rejects only where nothing of the batch was done, or nobody knows.
   */
  scheduleBatch(requests: readonly ScheduleRequest[]): Promise<readonly BatchAnswer[]>;
  /** Throws RUN_STATE where the run is open, was undone, or has nothing to be done again. */
  rerun(request: RerunRequest): Promise<{ readonly runId: string; readonly created: boolean }>;
  /**
   * Why runs of one of these definitions cannot be done again as it is asked: a step that it has
   * not, a newest version that is not there, an input that breaks its schema. null: none of that.
   */
  rerunRefusal(asked: Again, runs: readonly RunDefinition[]): Promise<DroverError | null>;
  /**
   * Files an action on many runs, once its count is what was expected. Runs created at `until` or
   * later are none of it, whichever call this is.
   */
  openBulk(request: BulkRequest): Promise<{ readonly until: EpochMs; readonly repeated: boolean }>;
  /** Brings an event to a run: a callback, a signal, a person's command or answer. */
  command(run: RunRef, event: RunCommand): Promise<Answer>;
  /** How long the steps of a definition take, by its steps; null in `slowAfterMs`: too few. */
  learnedDurations(
    definitionId: number,
  ): Promise<readonly (LearnedDurations & { readonly slowAfterMs: number | null })[]>;
  /**
   * Resolves when the run has moved past `version` or has ended, or the signal is aborted; never
   * rejects. Woken in this process at once, by another server's change within a second.
   */
  runChange(run: RunRef, version: number, signal: AbortSignal): Promise<void>;
  /**
   * Once it has answered nothing of the queue is handed out, by any server; leased work goes on.
   * Idempotent by state.
   */
  pauseQueue(of: QueueRef, reason: string): Promise<Pause>;
  /** What waits in the queue is handed out at once. Idempotent by state. */
  resumeQueue(of: QueueRef): Promise<void>;
  /**
   * Once it has answered nothing of its runs is handed out, also of those that begin later. null:
   * there is no such workflow. Idempotent by state.
   */
  pauseWorkflow(of: WorkflowRef, reason: string): Promise<Pause | null>;
  /** What waits of its runs is handed out at once. Idempotent by state. */
  resumeWorkflow(of: WorkflowRef): Promise<void>;
  /**
   * What a person says of a circuit, of the lane or (`agentId` not "") of one agent in it; null
   * takes it back. Other servers know within a second. Idempotent by state: the first word stays.
   */
  sayCircuit(of: LaneKey, agentId: string, said: CircuitOverride | null): Promise<CircuitRecord>;
  /** It gets nothing new, on other servers within a second. Idempotent: the first word stays. */
  cordonAgent(cordon: Omit<Cordon, "at">): Promise<Cordon>;
  /** false: it was not cordoned. */
  uncordonAgent(of: CordonRef): Promise<boolean>;
  /** Once it has answered no server hands out more; what agents have already stays theirs. */
  limitQueue(of: QueueRef, limits: QueueLimits): Promise<void>;
  /**
   * Once it has answered no server hands a task of the workflow's version out of the queue to an
   * agent of another version; what agents have already stays theirs. Agents that wait on other
   * servers get them within a second. Another version takes the place of the one before. false:
   * there is no such workflow, or version of it. Idempotent by state.
   */
  pinQueue(of: PinRef, agentVersion: string): Promise<boolean>;
  /** What no other pin keeps goes to any agent at once. Idempotent by state. */
  unpinQueue(of: PinRef): Promise<void>;
  /** Other servers know within 5 s. */
  limitNamespace(namespaceId: number, limits: NamespaceLimits): Promise<void>;
}
