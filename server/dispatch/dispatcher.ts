// Dispatch hands tasks to waiting agents and takes their reports. This file is the interface that
// `api/` uses; dispatch.ts implements it, with waiters.ts, claims.ts and heartbeats.ts.

import type { LogText } from "../core/log-lines.ts";
import type { TaskKind } from "../core/model/attempt.ts";
import type { Reported } from "../core/model/event.ts";
import type { Payload } from "../core/model/payload.ts";
import type { DroverError } from "../errors.ts";
import type { AgentProcessSeen } from "../store/operators.ts";
import type { Namespace } from "../store/store.ts";
import type { TraceContext } from "../store/trace.ts";
import type { TaskToken } from "./token.ts";

export interface AgentIdentity {
  readonly id: string;
  /** 16 random bytes of the process, hex. */
  readonly session: string;
  readonly version: string;
  /** For operators; left out: none. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface PollRequest {
  readonly namespace: Namespace;
  readonly agent: AgentIdentity;
  readonly pollSeq: number;
  /** Not empty. Queues take turns in proportion to their weights. */
  readonly queues: readonly { readonly name: string; readonly weight: number }[];
  /** Empty: every task of the queues. */
  readonly tasks: readonly string[];
  readonly maxTasks: number;
  readonly waitMs: number;
  readonly lostPolls: readonly number[];
  /** Left out: the agent states nothing of its process. */
  readonly process?: AgentProcessSeen;
}

/** A task as its agent receives it. */
export interface HandedTask {
  readonly token: string;
  readonly callbackToken: string;
  readonly runId: string;
  readonly stepId: string;
  /** The index of the item of a map; null: the step is no item. */
  readonly item: number | null;
  readonly attempt: number;
  readonly workflow: string;
  readonly version: number;
  readonly kind: TaskKind;
  readonly task: string;
  readonly queue: string;
  readonly input: Payload | null;
  readonly lastDetails: Payload | null;
  readonly output: Payload | null;
  readonly idempotencyKey: string;
  /** The key of the effect that this task verifies or undoes; empty for a perform task. */
  readonly effectKey: string;
  readonly fence: number;
  readonly leaseMs: number;
  readonly attemptMs: number;
  readonly heartbeatIntervalMs: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The parent of the agent's spans; null: none. */
  readonly trace: TraceContext | null;
  /** Its step allows that lines of handlers are stored. */
  readonly storesLogs: boolean;
}

export interface PollAnswer {
  readonly tasks: readonly HandedTask[];
  /** Milliseconds from the arrival of the call to the start of the leases. */
  readonly waitedMs: number;
}

export interface SessionHeartbeatRequest {
  readonly namespace: Namespace;
  readonly agent: AgentIdentity;
  readonly lostPolls: readonly number[];
  /** As `SessionHeartbeat.listsAllTo`. Left out if `rpc` has refused a report of the call. */
  readonly listsAllTo?: number;
  readonly reports: readonly {
    readonly token: TaskToken;
    /** The agent's progress as text for people; null: unchanged. */
    readonly progress: string | null;
    readonly details: Payload | null;
  }[];
}

export type HeartbeatResult =
  | { readonly kind: "carry-on"; readonly leaseMs: number }
  | { readonly kind: "cancel"; readonly withinMs: number }
  | { readonly kind: "lease-lost" }
  /** The shard of the task does not answer, and those of others do: the lease is as it was. */
  | { readonly kind: "unanswered" };

export interface CompleteRequest {
  readonly namespace: Namespace;
  readonly agent: AgentIdentity;
  readonly results: readonly {
    readonly token: TaskToken;
    readonly outcome: Reported;
    /** SHA-256, hex, of the outcome as sent. */
    readonly digest: string;
  }[];
  readonly next: Omit<
    PollRequest,
    "waitMs" | "lostPolls" | "process" | "namespace" | "agent"
  > | null;
}

/** An error of the whole call is thrown as a DroverError; an error of one result is returned. */
export type ResultAnswer =
  | { readonly kind: "accepted"; readonly repeated: boolean }
  | { readonly kind: "refused"; readonly error: Error };

/** With the answer of the next poll; without one it has no tasks. */
export interface CompleteAnswer extends PollAnswer {
  readonly answers: readonly ResultAnswer[];
}

/** How a poll may end before its wait is over. */
export interface PollEnds {
  /** The poll stops waiting. It still receives what is being claimed for it at that moment. */
  readonly over: AbortSignal;
  /**
   * The caller receives no answer: what was claimed for it is given back, and the answer is empty.
   */
  readonly gone: AbortSignal;
}

export interface Dispatcher {
  poll(request: PollRequest, ends: PollEnds): Promise<PollAnswer>;
  heartbeat(request: SessionHeartbeatRequest): Promise<readonly HeartbeatResult[]>;
  /** What was claimed for `next` is given back if the signal is aborted before the answer. */
  complete(request: CompleteRequest, signal: AbortSignal): Promise<CompleteAnswer>;
}

/** Lines that the handler of one task has logged. */
export interface TaskLines {
  /** Of the call. A token can be changed to name another namespace than that of its task. */
  readonly namespaceId: number;
  readonly token: TaskToken;
  /** Number of the first line. */
  readonly first: number;
  readonly lines: readonly LogText[];
}

export type LinesAnswer =
  | { readonly kind: "stored"; readonly full: boolean }
  | { readonly kind: "refused"; readonly error: DroverError };

/** What keeps lines of handlers from being stored, whatever their step says. */
export type LogsOff = "server" | "namespace";

/** Where the lines of handlers go, apart from their tasks. */
export interface LogAppends {
  /** null: lines of this namespace are stored, unless their step says otherwise. */
  offBy(namespace: string): LogsOff | null;
  /** An answer for each task, in order. */
  append(namespace: string, tasks: readonly TaskLines[]): Promise<readonly LinesAnswer[]>;
  /** Resolves when nothing waits to be stored. */
  idle(): Promise<void>;
}
