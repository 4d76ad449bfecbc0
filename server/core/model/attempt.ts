// Tasks and attempts: what a task asks of an agent, and how an attempt ended.
import type { Payload } from "./payload.ts";

/** Milliseconds since 1970 by the database's clock. */
export type EpochMs = number;

/** The action that a task asks of an agent. */
export type TaskKind = "perform" | "verify" | "compensate";

/**
 * An attempt that counts: `policy` is the index of the retry policy that it is charged to (null:
 * none matched). null: the attempt does not count.
 */
export type Counted = { readonly policy: number | null } | null;

export type FailureClass = "transient" | "permanent";

/** The outcome of an attempt, as reported by its agent or found by the supervisor. */
export type Outcome =
  | { readonly kind: "success"; readonly output: Payload | null }
  | {
      readonly kind: "failure";
      readonly class: FailureClass;
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs: number | null;
      readonly noEffect: boolean;
    }
  | { readonly kind: "unknown"; readonly code: string; readonly message: string }
  /** Not possible yet: the agent asks for the task again after `afterMs`. */
  | { readonly kind: "again"; readonly afterMs: number }
  /** The agent accepted the task; the outcome follows by the callback token. */
  | { readonly kind: "deferred" }
  | { readonly kind: "released" }
  | { readonly kind: "cancelled"; readonly noEffect: boolean }
  /** Granted to a poll that ended without an answer. No agent may report this outcome. */
  | { readonly kind: "undelivered" }
  /** Granted to a poll and never sent. No agent may report this outcome. */
  | { readonly kind: "unsent" }
  /** A verify that became needless, since its attempt was settled meanwhile. Never reported. */
  | { readonly kind: "superseded" };

/**
 * Kinds of stored attempts. `late`: a late report. `engine`: a failure that no agent reported.
 * `answer`: the output of a step without an agent (a signal, an approval, a person's answer). The
 * others: the task that ended.
 */
export type AttemptKind = TaskKind | "late" | "engine" | "answer";

export interface Attempt {
  readonly step: number;
  readonly kind: AttemptKind;
  readonly fence: number;
  readonly n: number;
  readonly attempt: number;
  readonly agentId: string | null;
  readonly session: string | null;
  readonly secret: string | null;
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs;
  readonly outcome: Outcome;
  /** SHA-256 prefix of the reported outcome; null: the supervisor ended the attempt. */
  readonly digest: string | null;
}

/** The part of an ended attempt that the rules need for a later report about it. */
export interface EndedAttempt {
  readonly step: number;
  readonly kind: TaskKind;
  readonly fence: number;
  readonly n: number;
  readonly attempt: number;
  readonly secret: string;
  readonly agentId: string;
  readonly session: string;
  readonly startedAt: EpochMs;
  readonly outcome: Outcome["kind"];
  /** Its failure was transient, so a success by the callback token can still settle it. */
  readonly transient: boolean;
  /** What it was charged to at its end; null: it did not count (lost, deferred, returned). */
  readonly counted: Counted;
  /** Digest of the last report that was accepted for it; null: no agent has reported. */
  readonly digest: string | null;
}
