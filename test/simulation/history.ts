// A recorded history: what clients and agents sent and received, which faults were injected, what a
// remote service saw, and the rows of the store at the end. The simulator and real processes write
// the same form, and `checker/check-history.ts` decides from it alone whether promises hold.
//
//   calls     `call` when it is sent, then `answer` (a stream has several): ok, refused or unknown
//   the rest  `fault`, `effect` (of a fake remote service), `owner` (of a partition), `webhook`
//   final     the rows at the end, as the store's reads give them
//
// As text: JSON lines, `meta` first, a line for each record in the order of `at`, `final` last.
// Times are milliseconds by the database's clock, which may jump (a fault of the kind `clock`);
// everything is plain JSON, without bytes.

import type { Definition } from "../../server/core/definition/definition.ts";
import type { EpochMs, TaskKind } from "../../server/core/model/attempt.ts";
import type { AnswerKind } from "../../server/core/model/history.ts";
import type { RunState } from "../../server/core/model/model.ts";
import type { Concurrency } from "../../server/core/model/permits.ts";
import type { CircuitMove, Held, ScheduleCommand, StoreFault } from "./history-facts.ts";
import type { FinalRows, OutcomeFact } from "./history-rows.ts";

export interface History {
  readonly meta: HistoryMeta;
  readonly records: readonly HistoryRecord[];
  readonly final: FinalRows;
}

export interface HistoryMeta {
  readonly source: "simulation" | "processes";
  readonly seed: number | null;
  /** A text for each namespace that was put into all of its inputs, outputs, keys and labels. */
  readonly canaries: readonly { readonly namespace: string; readonly word: string }[];
  /** How many processes wanted a processor at most, for each that the machine has; left out: 1. */
  readonly load?: number;
  /** How many shards the store has, each of which may lose its tail by itself; left out: 1. */
  readonly shards?: number;
  /** Left out: every server watches all regions. */
  readonly watchers?: readonly Watcher[];
}

/** What a server watches, by the id of the region; null: all. */
export interface Watcher {
  readonly server: string;
  readonly regions: readonly number[] | null;
  readonly standby: boolean;
}

interface Happened {
  readonly at: EpochMs;
  /** Who wrote the record: a client, an agent process, a server, the remote service. */
  readonly process: string;
}

export type HistoryRecord =
  | CallRecord
  | AnswerRecord
  | FaultRecord
  | EffectRecord
  | OwnerRecord
  | CircuitRecord
  | WebhookRecord;

/** A call when its caller sent it. */
export interface CallRecord extends Happened {
  readonly kind: "call";
  /** Unique in the history; each repetition is a call of its own. */
  readonly call: number;
  /** The server that it was sent to; null if not known. */
  readonly server: string | null;
  readonly request: Request;
}

/** The answer that the caller received. A call without an answer has none, or an `unknown` one. */
export interface AnswerRecord extends Happened {
  readonly kind: "answer";
  readonly call: number;
  readonly answer: Answer;
  /** Canary words that the caller found in the whole answer, errors and metadata included. */
  readonly canaries: readonly string[];
}

/** What a task token holds. */
export interface TokenParts {
  readonly runId: string;
  readonly step: number;
  readonly task: TaskKind;
  readonly fence: number;
  readonly secret: string;
}

/** What a poll asks for. An empty list of tasks: every task of the queues. */
export interface PollWish {
  readonly pollSeq: number;
  readonly queues: readonly string[];
  readonly tasks: readonly string[];
  readonly tasksMax: number;
}

export interface TaskReport {
  readonly token: TokenParts;
  readonly outcome: OutcomeFact;
  /** Equal for equal outcomes: the store's own digest, or any other hash of the outcome as sent. */
  readonly digest: string;
}

/** A run that a caller asks for. */
export interface ScheduleAsk {
  readonly key: string | null;
  /** Equal for equal requests. */
  readonly digest: string;
  /** Value of the label `request`, unique for each *intended* run; repeats have the same. */
  readonly mark: string;
  /** The registered version that was named; version 0: the default one. null: inline. */
  readonly workflow: { readonly name: string; readonly version: number } | null;
  /** When it is to begin; null: at once. */
  readonly startAt: EpochMs | null;
  readonly concurrency: Concurrency | null;
  /** The hook that gets its end; null: none is named. */
  readonly notify: string | null;
}

export type Request =
  | ({ readonly rpc: "Schedule"; readonly namespace: string } & ScheduleAsk)
  | ({
      readonly rpc: "CallTrigger";
      readonly namespace: string;
      readonly forged: boolean;
    } & ScheduleAsk)
  | {
      readonly rpc: "ScheduleBatch";
      readonly namespace: string;
      readonly runs: readonly ScheduleAsk[];
    }
  /** A rerun of a run that has ended. */
  | {
      readonly rpc: "RetryRun" | "RerunFrom";
      readonly namespace: string;
      readonly runId: string;
      readonly requestId: string;
      /** The step from which; "": from the start; null: from what did not succeed. */
      readonly from: string | null;
      /** Equal for equal requests. */
      readonly digest: string;
    }
  | {
      readonly rpc: "RegisterWorkflow";
      readonly namespace: string;
      readonly definition: Definition;
    }
  | {
      readonly rpc: "CancelRun";
      readonly namespace: string;
      readonly runId: string;
      readonly undo: boolean;
    }
  | { readonly rpc: ReadRpc | PauseRpc; readonly namespace: string; readonly runId: string }
  | {
      readonly rpc: "Signal";
      readonly namespace: string;
      readonly runId: string;
      readonly name: string;
      readonly signalId: string;
    }
  | {
      readonly rpc: "Decide";
      readonly namespace: string;
      readonly runId: string;
      readonly stepId: string;
      readonly approver: string;
      readonly approved: boolean;
    }
  /** By the callback token of a perform task, which does not contain its secret. */
  | {
      readonly rpc: "CompleteDeferred";
      readonly namespace: string;
      readonly result: TaskReport;
    }
  | { readonly rpc: "ListEscalations"; readonly namespace: string }
  | ({ readonly rpc: "ChangeSchedule"; readonly namespace: string } & ScheduleCommand)
  /** To pause, and to resume. */
  | { readonly rpc: "Hold"; readonly namespace: string; readonly held: Held }
  | { readonly rpc: "LetGo"; readonly namespace: string; readonly held: Held }
  | {
      readonly rpc: "ResolveEscalation";
      readonly namespace: string;
      readonly runId: string;
      /** Number of the escalation within the run. */
      readonly n: number;
      readonly answer: AnswerKind;
      readonly by: string;
    }
  | { readonly rpc: "ListRuns"; readonly namespace: string }
  | {
      readonly rpc: "PollTask";
      readonly namespace: string;
      readonly session: string;
      readonly poll: PollWish;
      readonly waitMs: number;
      readonly lostPolls: readonly number[];
    }
  | {
      readonly rpc: "Heartbeat";
      readonly namespace: string;
      readonly session: string;
      readonly tokens: readonly TokenParts[];
      readonly lostPolls: readonly number[];
      /** 0: the list is not complete. */
      readonly listsAllTo: number;
    }
  | {
      readonly rpc: "Complete";
      readonly namespace: string;
      readonly session: string;
      readonly results: readonly TaskReport[];
      readonly next: PollWish | null;
    };

export type ReadRpc = "GetRun" | "WatchRun" | "WaitRun";
export type PauseRpc = "PauseRun" | "ResumeRun";

export type Answer =
  | OkAnswer
  | Refused
  /** No answer, or UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, INTERNAL or UNKNOWN. */
  | { readonly kind: "unknown"; readonly code: string };

interface Scheduled {
  readonly kind: "scheduled";
  readonly runId: string;
  readonly created: boolean;
}

/** Nothing was done, with the reason of its ErrorInfo. */
interface Refused {
  readonly kind: "refused";
  readonly code: string;
  readonly reason: string;
}

export type OkAnswer =
  | Scheduled
  /** In the order of the batch, or of the times of a backfill. */
  | { readonly kind: "batch"; readonly results: readonly (Scheduled | Refused)[] }
  | {
      readonly kind: "registered";
      readonly name: string;
      readonly version: number;
      readonly created: boolean;
    }
  | { readonly kind: "cancelled"; readonly run: RunSeen }
  /** Of any other call about a run; the run where the answer carries it. */
  | { readonly kind: "done"; readonly run: RunSeen | null; readonly repeated: boolean }
  /** Of ListEscalations. */
  | {
      readonly kind: "asked";
      readonly questions: readonly { readonly runId: string; readonly n: number }[];
    }
  /** Of GetRun and WaitRun once; of WatchRun as often as it sends. */
  | { readonly kind: "read"; readonly run: RunSeen }
  | { readonly kind: "listed"; readonly runs: readonly RunSeen[] }
  | { readonly kind: "polled"; readonly tasks: readonly TaskSeen[] }
  /** In the order of the request's tokens. */
  | { readonly kind: "heartbeat-answered"; readonly answers: readonly HeartbeatSeen[] }
  /** In the order of the request's results. */
  | {
      readonly kind: "completed";
      readonly answers: readonly ReportSeen[];
      readonly tasks: readonly TaskSeen[];
    };

export interface RunSeen {
  readonly runId: string;
  /** `null` where the answer does not carry it. */
  readonly version: number | null;
  readonly state: RunState["kind"];
  /** Forward states by the id of the step, where the answer carries steps. */
  readonly steps: readonly { readonly stepId: string; readonly state: string }[];
}

export interface TaskSeen {
  readonly token: TokenParts;
  readonly stepId: string;
  readonly pollSeq: number;
  readonly attempt: number;
  readonly queue: string;
  readonly taskName: string;
  readonly leaseMs: number;
  readonly idempotencyKey: string;
  /** Of a compensate task: the key under which the effect was made. */
  readonly effectKey: string | null;
  /** Equal for equal inputs. */
  readonly inputDigest: string;
}

export type HeartbeatSeen =
  | { readonly kind: "carry-on"; readonly leaseMs: number }
  | { readonly kind: "cancel"; readonly withinMs: number }
  | { readonly kind: "lease-lost" }
  | { readonly kind: "error"; readonly reason: string };

export type ReportSeen =
  | { readonly kind: "accepted"; readonly repeated: boolean }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * `crash`, `pause` and `cut` last until `start`, `resume` and `join` of the same target; the
 * store's `down` until `up`; with `tail-lost` it has lost its last transactions. `stop` asks a
 * server to drain, `exit` ends that. A `jump` has the new time. From `always-fails` on each pass of
 * a run throws, from `cannot-be-made` on making its tasks. `heal` ends all that; others are single.
 */
export interface FaultRecord extends Happened {
  readonly kind: "fault";
  readonly fault:
    | {
        readonly kind: "process";
        readonly did: "crash" | "start" | "pause" | "resume" | "stop" | "exit";
      }
    | { readonly kind: "clock"; readonly did: "jump"; readonly byMs: number }
    | { readonly kind: "network"; readonly did: "cut" | "join" | MessageFault }
    | StoreFault
    /** No server may depend on a notification, so a lost one excuses nothing. */
    | { readonly kind: "notification"; readonly did: "lost" }
    | { readonly kind: "run"; readonly did: "always-fails" | "cannot-be-made" }
    | { readonly kind: "heal" };
  /** The process that it happened to; of a message, its receiver; "store" and "all" as they are. */
  readonly target: string;
  /** Whether the target is a server, so that the partitions which it watches are concerned. */
  readonly server: boolean;
}

export type MessageFault = "lost" | "repeated" | "delayed" | "reordered";

/** An effect as the remote service saw it, without repeats that changed nothing. */
export interface EffectRecord extends Happened {
  readonly kind: "effect";
  readonly did: "made" | "undone";
  /** The idempotency key under which the effect was *made*, also where it is undone. */
  readonly key: string;
  readonly runId: string;
  readonly step: number;
  /** The fence of the task that did it. */
  readonly fence: number;
}

/** A webhook as its receiver got it. */
export interface WebhookRecord extends Happened {
  readonly kind: "webhook";
  /** Of the delivery: the same for each try. */
  readonly id: string;
  readonly url: string;
  /** What it contains, as text. */
  readonly body: string;
}

export interface CircuitRecord extends Happened, CircuitMove {
  readonly kind: "circuit";
}

export interface OwnerRecord extends Happened {
  readonly kind: "owner";
  readonly node: string;
  readonly partition: number;
  readonly epoch: number;
  /** `gave`: given back in order; a take-over needs no such record. */
  readonly did: "took" | "gave";
}

export function historyText(history: History): string {
  const lines: unknown[] = [
    { kind: "meta", ...history.meta },
    ...history.records,
    { kind: "final", ...history.final },
  ];
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

/** Reads what `historyText` wrote. */
export function historyOf(text: string): History {
  const lines: readonly unknown[] = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const first = lines[0];
  const last = lines.at(-1);
  if (!isLine(first, "meta") || !isLine(last, "final") || lines.length < 2)
    throw new Error("this is no history: its first line must be `meta`, its last line `final`");
  const { kind: _, ...meta } = first;
  const { kind: __, ...final } = last;
  return { meta, records: lines.slice(1, -1) as readonly HistoryRecord[], final };
}

type Line = ({ kind: "meta" } & HistoryMeta) | ({ kind: "final" } & FinalRows);

/** Written by this module: the shape behind the kind is trusted. */
function isLine<K extends Line["kind"]>(
  value: unknown,
  kind: K,
): value is Extract<Line, { kind: K }> {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === kind;
}
