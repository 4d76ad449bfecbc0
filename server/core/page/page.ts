// The state of a run as it is stored: a few pages. Page 0 has the head of the run and its first
// steps, the next pages the others, and each item of a map has a page of its own, so that a pass
// reads what it touches and never a whole map.
//
// A page contains all that the engine knows of its steps, with their last attempts. Whatever must
// be found from another side is a derived row, computed from the page alone (derived-rows.ts).
import type { Attempt, Counted, EpochMs } from "../attempt.ts";
import { isEnded, type Run, type Step } from "../model.ts";
import type { Payload } from "../payload.ts";
import { itemOf } from "../step-key.ts";

/** Steps of one page; items have one each. */
export const STEPS_PER_PAGE = 32;
/** Attempts that a step keeps in its page; older ones move to the attempt log. */
export const ATTEMPTS_MAX = 8;
/** Bytes of a payload that is stored in the page itself; a larger one has a row of its own. */
export const INLINE_BYTES_MAX = 256;

/** What of a page's keys this version does not know: it keeps them as they are. */
export type UnknownKeys = Readonly<Record<string, unknown>>;

/** The run itself, in page 0. */
export interface PageHead {
  readonly namespaceId: number;
  readonly definitionId: number;
  /** 1 first, 9 last. */
  readonly priority: number;
  readonly run: Run;
  /** null: the run is open. */
  readonly endedAt: EpochMs | null;
  /** What whoever cancelled it said. */
  readonly cancelNote: string | null;
  /** It has other pages than this one. */
  readonly hasMore: boolean;
  readonly unknown?: UnknownKeys;
}

/** A payload: in the page, or in a row of its own, which is named after the attempt. */
export type StoredPayload = Payload | { readonly kind: "row" };

export type StoredOutcome =
  | Exclude<Attempt["outcome"], { kind: "success" }>
  | { readonly kind: "success"; readonly output: StoredPayload | null };

/** An attempt that ended. */
export interface PageAttempt extends Omit<Attempt, "step" | "outcome"> {
  readonly outcome: StoredOutcome;
  /** What its try is charged to. */
  readonly counted: Counted;
  /** As its last heartbeat said; null: it said none. */
  readonly progress: string | null;
  readonly details: StoredPayload | null;
  readonly unknown?: UnknownKeys;
}

/** On which terms a task is handed out, while its step is READY or LEASED. Durations in ms. */
export interface TaskTerms {
  readonly lane: number;
  readonly attemptMs: number;
  readonly heartbeatMs: number;
  readonly cancelMs: number;
  /** null: its progress is not watched. */
  readonly stallMs: number | null;
  /** After so long an attempt is looked at whether it is slow; null: too little is known. */
  readonly slowAfterMs: number | null;
  /** It is the step's first try, as planned: the task is made of the plan and of the run alone. */
  readonly plain: boolean;
}

export interface PageStep {
  readonly step: Step;
  /** null: no task of it waits or is out. */
  readonly terms: TaskTerms | null;
  /** What heartbeats have said of the task that is out. */
  readonly progress: string | null;
  readonly details: StoredPayload | null;
  /** In the order in which they ended; the oldest may have moved to the attempt log. */
  readonly attempts: readonly PageAttempt[];
  /** How many have moved there. */
  readonly logged: number;
  readonly unknown?: UnknownKeys;
}

export interface Page {
  readonly no: number;
  /** Of page 0 alone. */
  readonly head: PageHead | null;
  /** By place; one without an entry is BLOCKED with all its needs. */
  readonly steps: ReadonlyMap<number, PageStep>;
}

/** The page of a step or item. Steps have fewer numbers than the first item has. */
export function pageNoOf(place: number): number {
  return itemOf(place) > 0 ? place : Math.floor(place / STEPS_PER_PAGE);
}

export function isItemPage(no: number): boolean {
  return itemOf(no) > 0;
}

export function emptyPage(no: number): Page {
  return { no, head: null, steps: new Map() };
}

/** Of a run that begins; one may end in its first pass. */
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
