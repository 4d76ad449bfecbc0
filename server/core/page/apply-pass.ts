// Applies a pass to the pages of its run: the steps that it changed, and the attempts in its
// effects. Both stores write the result, so they cannot differ.
import type { Attempt, Counted } from "../model/attempt.ts";
import type { Effect } from "../model/effect.ts";
import { isEnded, movingSide, type Ready, type Run, type Step, type View } from "../model/model.ts";
import { type Payload, payloadBytes } from "../model/payload.ts";
import type { PlanTask } from "../plan/plan.ts";
import {
  ATTEMPTS_MAX,
  attemptNumber,
  emptyPage,
  INLINE_BYTES_MAX,
  type Page,
  type PageAttempt,
  type PageStep,
  pageNoOf,
  type StoredPayload,
  sameAttempt,
  type TaskTerms,
  taskOf,
  untriedStep,
} from "./page.ts";

/** The lane and the plan of a step's task; `planned`: the strategy of the plan, for a perform. */
export type LaneOf = (
  step: number,
  task: Ready["task"],
  planned: number,
) => { readonly lane: number; readonly task: PlanTask };

interface AppliedPassInput {
  readonly before: View;
  readonly after: View;
  readonly effects: readonly Effect[];
  readonly laneOf: LaneOf;
  /** Milliseconds after which an attempt is slow; null, or left out: too little is known. */
  readonly slowAfter?: (step: number) => number | null;
  readonly endedAt: number | null;
}

/** Identifies a payload that has a row of its own. */
export interface PayloadKey {
  readonly step: number;
  readonly kind: PageAttempt["kind"];
  readonly fence: number;
  readonly n: number;
  readonly what: "output" | "details";
}

export interface PayloadRow extends PayloadKey {
  readonly payload: Payload;
}

export interface LoggedAttempt extends PageAttempt {
  readonly step: number;
}

export interface AppliedPass {
  /** The pages that have changed, as they are now. */
  readonly pages: readonly Page[];
  readonly payloads: readonly PayloadRow[];
  /** Attempts for which their page has no more room. */
  readonly logged: readonly LoggedAttempt[];
  /** Attempts in the log whose outcome was open, and has been reported now. */
  readonly updatedInLog: readonly LoggedAttempt[];
}

/** `pages`: those that hold the steps of the pass, as they were read. */
export function applyPass(
  pages: ReadonlyMap<number, Page>,
  { before, after, effects, laneOf, slowAfter, endedAt }: AppliedPassInput,
): AppliedPass {
  const out: Writing = { payloads: [], logged: [], updatedInLog: [] };
  const changed = new Map<number, Map<number, PageStep>>();
  const stepsOf = (no: number): Map<number, PageStep> => {
    let steps = changed.get(no);
    if (!steps) {
      steps = new Map(pages.get(no)?.steps);
      changed.set(no, steps);
    }
    return steps;
  };
  const stored = (place: number): PageStep | undefined => {
    const no = pageNoOf(place);
    return (changed.get(no) ?? pages.get(no)?.steps)?.get(place);
  };
  for (const step of after.steps.values()) {
    if (before.steps.get(step.no) === step) continue;
    const was = stored(step.no) ?? untriedStep(step);
    expectSameTask(before.steps.get(step.no), was.step);
    const terms = termsAfter(was, step, laneOf, slowAfter);
    const isLeased = movingSide(step)?.state.kind === "LEASED";
    const progressPatch = isLeased ? {} : NO_PROGRESS;
    stepsOf(pageNoOf(step.no)).set(step.no, { ...was, ...progressPatch, step, terms });
  }
  // Progress and details of the lease that ends, from before the pass.
  const progressOf = (place: number): LeaseProgress =>
    pages.get(pageNoOf(place))?.steps.get(place) ?? NO_PROGRESS;
  for (const { attempt, counted } of endedIn(effects)) {
    const was = stored(attempt.step);
    if (!was) throw new Error(`an attempt at step ${attempt.step} ends, and the step is not there`);
    if (isKnown(was, attempt)) continue;
    const progress = taskOf(attempt.kind) === null ? NO_PROGRESS : progressOf(attempt.step);
    const ended = pageAttempt(attempt, counted, progress, out);
    stepsOf(pageNoOf(attempt.step)).set(attempt.step, withAttempt(was, ended, out));
  }
  for (const effect of effects) {
    if (effect.kind !== "attempt-settled") continue;
    const { attempt, counted } = effect;
    const was = stored(attempt.step);
    const updated = was && updateEndedAttempt(was, attempt, counted, out);
    if (updated) stepsOf(pageNoOf(attempt.step)).set(attempt.step, updated);
    else
      out.updatedInLog.push({
        ...pageAttempt(attempt, counted, NO_PROGRESS, out),
        step: attempt.step,
      });
  }
  const isRunChanged = after.run !== before.run || endedAt !== null;
  const note = cancelNoteIn(effects);
  const hasOthers = [...changed.keys()].some((no) => no > 0);
  if (isRunChanged || hasOthers || note !== null) stepsOf(0);
  return {
    ...out,
    pages: [...changed].map(([no, steps]) => {
      const page = pages.get(no) ?? emptyPage(no);
      if (page.head === null) return { ...page, steps };
      const head = {
        ...page.head,
        run: runAfter(page.head.run, after.run, effects),
        endedAt: page.head.endedAt ?? endedAt,
        cancelNote: note ?? page.head.cancelNote,
        hasMore: page.head.hasMore || hasOthers,
      };
      return { ...page, head, steps };
    }),
  };
}

/** A run that has ended does not change, except for escalations that a late report opens. */
function runAfter(stored: Run, after: Run, effects: readonly Effect[]): Run {
  if (!isEnded(stored.state)) return after;
  const asked = effects.map((effect) => (effect.kind === "escalated" ? effect.n : 0));
  return { ...stored, escalations: Math.max(stored.escalations, ...asked) };
}

/** Numbers of the pages that a pass changes, page 0 among them. */
export function pagesTouched({
  before,
  after,
  effects,
}: Pick<AppliedPassInput, "before" | "after" | "effects">): readonly number[] {
  const numbers = new Set([0]);
  for (const step of after.steps.values())
    if (before.steps.get(step.no) !== step) numbers.add(pageNoOf(step.no));
  for (const { attempt } of endedIn(effects)) numbers.add(pageNoOf(attempt.step));
  for (const effect of effects)
    if (effect.kind === "attempt-settled") numbers.add(pageNoOf(effect.attempt.step));
  return [...numbers];
}

interface Writing {
  readonly payloads: PayloadRow[];
  readonly logged: LoggedAttempt[];
  readonly updatedInLog: LoggedAttempt[];
}

/** Refuses to write a pass that was decided on an outdated state. */
function expectSameTask(seen: Step | undefined, stored: Step): void {
  if (!seen || seen === stored) return;
  const expected = taskText(seen);
  const found = taskText(stored);
  if (expected !== found)
    throw new Error(`step ${seen.no} is ${found}, and a pass that expects ${expected} is written`);
}

function taskText(step: Step): string {
  const state = movingSide(step)?.state;
  switch (state?.kind) {
    case "READY":
      return `ready for ${state.task} ${state.fence}, attempt ${state.attempt}`;
    case "LEASED":
      return `leased for ${state.task} ${state.fence} under ${state.secret}`;
    case "BACKOFF":
      return `in backoff for ${state.task}, ${state.cause}`;
    case "WAITING":
      return `waiting for ${state.on}`;
    case "HELD":
      return `held for ${state.task}`;
    case undefined:
      return `${step.forward.kind}, ${step.undo.kind}`;
  }
}

type LeaseProgress = Pick<PageStep, "progress" | "details">;
const NO_PROGRESS: LeaseProgress = Object.freeze({ progress: null, details: null });

/**
 * A task that does not change keeps its terms; a task that becomes ready gets those of its plan.
 */
function termsAfter(
  was: PageStep,
  step: Step,
  laneOf: LaneOf,
  slowAfter: AppliedPassInput["slowAfter"],
): TaskTerms | null {
  const state = movingSide(step)?.state;
  if (state?.kind === "LEASED") return was.terms;
  if (state?.kind !== "READY") return null;
  const before = movingSide(was.step)?.state;
  const stays =
    before?.kind === "READY" &&
    was.terms !== null &&
    plannedNow(was.step) === plannedNow(step) &&
    was.step.strategies.length === step.strategies.length &&
    before.task === state.task &&
    before.fence === state.fence &&
    before.attempt === state.attempt &&
    before.readyAt === state.readyAt &&
    before.avoid === state.avoid;
  if (stays) return was.terms;
  const { lane, task } = laneOf(step.no, state.task, plannedNow(step));
  const { attemptMs, heartbeatMs, cancelMs, stallMs } = task.timeouts;
  const slowAfterMs = state.task === "perform" ? (slowAfter?.(step.no) ?? null) : null;
  return {
    lane,
    attemptMs,
    heartbeatMs,
    cancelMs,
    stallMs,
    slowAfterMs,
    isFirstTry: isFirstTryAsPlanned(step, state),
  };
}

function isFirstTryAsPlanned({ strategies, items }: Step, { task, fence }: Ready): boolean {
  const [first, ...others] = strategies;
  const asPlanned = first?.planned === 0 && !first.changed && others.length === 0;
  return task === "perform" && fence === 1 && asPlanned && items === null;
}

/** The strategy of the plan that the step follows now. */
export function plannedNow(step: Step): number {
  return step.strategies.at(-1)?.planned ?? 0;
}

interface Ended {
  readonly attempt: Attempt;
  readonly counted: Counted;
}

/** The attempts that end in the pass. One that no agent holds may occur twice: the last counts. */
function endedIn(effects: readonly Effect[]): readonly Ended[] {
  const ended = effects.flatMap((effect): readonly Ended[] => {
    if (effect.kind === "task-ended") return [effect];
    return effect.kind === "attempt-stored" ? [{ attempt: effect.attempt, counted: null }] : [];
  });
  return ended.filter(
    ({ attempt }, place) =>
      attempt.secret !== null ||
      !ended
        .slice(place + 1)
        .some(
          (later) => later.attempt.step === attempt.step && sameAttempt(later.attempt, attempt),
        ),
  );
}

function pageAttempt(
  { step, ...attempt }: Attempt,
  counted: Counted,
  { progress, details }: LeaseProgress,
  out: Writing,
): PageAttempt {
  const { outcome } = attempt;
  if (outcome.kind !== "success") return { ...attempt, outcome, counted, progress, details };
  const { kind, fence } = attempt;
  const n = attemptNumber(attempt);
  const key = { step, kind, fence, n, what: "output" } as const;
  const output = outcome.output && storedPayload(outcome.output, key, out.payloads);
  return { ...attempt, outcome: { kind: "success", output }, counted, progress, details };
}

/** Stores a small payload in the page, and any other in a row of its own. */
export function storedPayload(
  payload: Payload,
  key: PayloadKey,
  rows: PayloadRow[],
): StoredPayload {
  if (isSmall(payload)) return payload;
  rows.push({ ...key, payload });
  return { kind: "row" };
}

function isSmall(payload: Payload): boolean {
  // A character has at least one byte, so a long text need not be encoded.
  if (payload.kind === "json" && payload.json.length > INLINE_BYTES_MAX) return false;
  return payloadBytes(payload) <= INLINE_BYTES_MAX;
}

/** A report that is stored already stays as it is. */
function isKnown({ attempts }: PageStep, attempt: Attempt): boolean {
  return attempts.some((one) => one.secret !== null && sameAttempt(one, attempt));
}

/** Adds an attempt; one that no agent holds replaces an earlier one. The oldest move to the log. */
function withAttempt(was: PageStep, ended: PageAttempt, out: Writing): PageStep {
  const before = was.attempts.findIndex((one) => sameAttempt(one, ended));
  if (before >= 0) return { ...was, attempts: was.attempts.with(before, ended) };
  const all = [...was.attempts, ended];
  const over = all.slice(0, Math.max(0, all.length - ATTEMPTS_MAX));
  for (const one of over) out.logged.push({ ...one, step: was.step.no });
  return { ...was, attempts: all.slice(over.length), logged: was.logged + over.length };
}

/** null: the attempt is no longer in the page. */
function updateEndedAttempt(
  was: PageStep,
  attempt: Attempt,
  counted: Counted,
  out: Writing,
): PageStep | null {
  const at = was.attempts.findIndex((one) => sameAttempt(one, attempt));
  const before = was.attempts[at];
  if (!before) return null;
  const { endedAt, outcome, digest } = pageAttempt(attempt, counted, NO_PROGRESS, out);
  return {
    ...was,
    attempts: was.attempts.with(at, { ...before, endedAt, outcome, digest, counted }),
  };
}

function cancelNoteIn(effects: readonly Effect[]): string | null {
  const cancel = effects.find(
    (effect) => effect.kind === "command-noted" && effect.command === "cancel",
  );
  return cancel?.kind === "command-noted" ? cancel.note : null;
}
