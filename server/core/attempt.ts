// What an agent is asked, and how an attempt at it has ended.
import type { Payload } from "./payload.ts";

/** Milliseconds since 1970 by the database's clock. */
export type EpochMs = number;

/** What an agent is asked to do. */
export type TaskKind = "perform" | "verify" | "compensate";

/** A try that counts, by the index of the policy that it is charged to (null: none matched). */
export type Counted = { readonly policy: number | null } | null;

export type FailureClass = "transient" | "permanent";

/** How an attempt ended, as its agent says or as the supervisor finds. */
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
  /** Not yet: ask again then. */
  | { readonly kind: "again"; readonly afterMs: number }
  /** Accepted; the outcome comes by the callback token. */
  | { readonly kind: "deferred" }
  | { readonly kind: "released" }
  | { readonly kind: "cancelled"; readonly noEffect: boolean }
  /** Granted to a poll that ended without an answer. Only the supervisor's rules say so. */
  | { readonly kind: "undelivered" }
  /** Granted to a poll, and never sent. Only the supervisor's rules say so. */
  | { readonly kind: "unsent" }
  /** A verify that is needless: its attempt was settled meanwhile. Only the rules say so. */
  | { readonly kind: "superseded" };

/**
 * Row kinds of `attempt`: the task that ended, a late report, a failure that no agent reported, or
 * the output of a step without an agent (a signal, an approval, a person's answer).
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
  /** SHA-256 prefix of the outcome as sent; null when the supervisor ended it. */
  readonly digest: string | null;
}

/** What a later report about an ended attempt is evaluated by. */
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
  /** Its failure was transient, so that a callback's success can still settle it. */
  readonly transient: boolean;
  /** What it was charged to when it ended; null: it did not count (lost, deferred, given back). */
  readonly counted: Counted;
  /** Digest of the last report that was accepted for it; null when no agent has reported. */
  readonly digest: string | null;
}
