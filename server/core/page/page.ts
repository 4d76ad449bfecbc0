// The stored form of a run: a few pages. Page 0 has the head of the run and its first steps, the
// next pages have the others, and each item of a map has a page of its own, so that a pass reads
// what it touches and never a whole map.
//
// A page contains everything that the rules know of its steps, with their last attempts. Rows by
// which it can be found are derived from the page alone (derived-rows.ts).
import type { Attempt, AttemptKind, Counted, EpochMs, TaskKind } from "../model/attempt.ts";
import { isEnded, type Run, type Step } from "../model/model.ts";
import type { Payload } from "../model/payload.ts";
import { itemOf } from "../model/step-key.ts";

/** Steps of one page. Each item has a page of its own. */
const STEPS_PER_PAGE = 32;
/** Attempts that a step has in its page; older ones move to the attempt log. */
export const ATTEMPTS_MAX = 8;
/** Bytes of a payload that is stored in the page itself; a larger one has a row of its own. */
export const INLINE_BYTES_MAX = 256;

/** Keys of a page that this version does not know. They are preserved. */
export type UnknownKeys = Readonly<Record<string, unknown>>;

/** The run itself, in page 0. */
export interface PageHead {
  readonly namespaceId: number;
  readonly definitionId: number;
  /** 1 is first, 9 is last. */
  readonly priority: number;
  readonly run: Run;
  /** null: the run is open. */
  readonly endedAt: EpochMs | null;
  /** The note of the person who cancelled it; null: not cancelled. */
  readonly cancelNote: string | null;
  /** The run has further pages. */
  readonly hasMore: boolean;
  readonly unknown?: UnknownKeys;
}

/** A payload: in the page, or in a row of its own that is named after the attempt. */
export type StoredPayload = Payload | { readonly kind: "row" };

export type StoredOutcome =
  | Exclude<Attempt["outcome"], { kind: "success" }>
  | { readonly kind: "success"; readonly output: StoredPayload | null };

/** An attempt that has ended. */
export interface PageAttempt extends Omit<Attempt, "step" | "outcome"> {
  readonly outcome: StoredOutcome;
  /** What the attempt is charged to. */
  readonly counted: Counted;
  /** From its last heartbeat; null: none. */
  readonly progress: string | null;
  readonly details: StoredPayload | null;
  readonly unknown?: UnknownKeys;
}

/** The terms of a task while its step is READY or LEASED. Durations in ms. */
export interface TaskTerms {
  readonly lane: number;
  readonly attemptMs: number;
  readonly heartbeatMs: number;
  readonly cancelMs: number;
  /** null: progress is not checked. */
  readonly stallMs: number | null;
  /** From the claim until an attempt is checked for being slow; null: too little is known. */
  readonly slowAfterMs: number | null;
  /** The first try of the step, as planned: the task is made from the plan and the run alone. */
  readonly isFirstTry: boolean;
}

export interface PageStep {
  readonly step: Step;
  /** null: it has no task that is ready or leased. */
  readonly terms: TaskTerms | null;
  /** From the heartbeats of the current lease. */
  readonly progress: string | null;
  readonly details: StoredPayload | null;
  /** In the order of their ends; the oldest may have moved to the attempt log. */
  readonly attempts: readonly PageAttempt[];
  /** Number of attempts that have moved to the log. */
  readonly logged: number;
  readonly unknown?: UnknownKeys;
}

export interface Page {
  readonly no: number;
  /** Set for page 0 alone. */
  readonly head: PageHead | null;
  /** By step key; a step without an entry is BLOCKED with all its needs. */
  readonly steps: ReadonlyMap<number, PageStep>;
}

/** The page of a step or item. Pages of steps have smaller numbers than the first item. */
export function pageNoOf(place: number): number {
  return itemOf(place) > 0 ? place : Math.floor(place / STEPS_PER_PAGE);
}

export function isItemPage(no: number): boolean {
  return itemOf(no) > 0;
}

export function emptyPage(no: number): Page {
  return { no, head: null, steps: new Map() };
}

/** Page 0 of a run that begins. A run may end in its first pass. */
export function firstPage(
  of: Pick<PageHead, "namespaceId" | "definitionId" | "priority" | "run">,
  now: EpochMs,
): Page {
  const { namespaceId, definitionId, priority, run } = of;
  const endedAt = isEnded(run.state) ? now : null;
  const head = { namespaceId, definitionId, priority, run, endedAt };
  return { ...emptyPage(0), head: { ...head, cancelNote: null, hasMore: false } };
}

export function untriedStep(step: Step): PageStep {
  return { step, terms: null, progress: null, details: null, attempts: [], logged: 0 };
}

/** The kinds of attempts that end a lease. Attempts of other kinds are stored beside them. */
export const TASKS: readonly TaskKind[] = ["perform", "compensate", "verify"];

export function taskOf(kind: AttemptKind): TaskKind | null {
  return TASKS.find((task) => task === kind) ?? null;
}

type AttemptIdentity = Pick<PageAttempt, "kind" | "fence" | "n"> & {
  readonly outcome: { readonly kind: Attempt["outcome"]["kind"] };
};

/**
 * Distinguishes attempts of one kind and fence. A late success is stored beside a late failure of
 * the same attempt; a second one of either adds nothing.
 */
export function attemptNumber({ kind, n, outcome }: AttemptIdentity): number {
  return kind === "late" ? 2 * n + Number(outcome.kind === "success") : n;
}

/** Whether both are the same attempt of their step. */
export function sameAttempt(a: AttemptIdentity, b: AttemptIdentity): boolean {
  return a.fence === b.fence && a.kind === b.kind && attemptNumber(a) === attemptNumber(b);
}
