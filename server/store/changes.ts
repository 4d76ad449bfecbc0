// What a pass changed, as rows: the difference between the views before and after, and the rows
// that its effects append. Both stores write exactly this, so SQL and memory cannot drift apart.

import type { PlanTask } from "../core/definition.ts";
import type { Effect } from "../core/effect.ts";
import { runWakeAt } from "../core/evolve.ts";
import {
  type Attempt,
  type Backoff,
  type EscalationReason,
  type Intervention,
  isEnded,
  type Lease,
  type Moment,
  movingSide,
  type Ready,
  type Run,
  type Step,
  type View,
} from "../core/model.ts";
import type { RunHead } from "./run-head.ts";

/** Who acted, for interventions: the owner of the partition, or nobody but an agent's word. */
export interface Actor {
  readonly node: string;
  readonly epoch: number;
}

/** A pass to be written. */
export interface PassRecord {
  readonly head: RunHead;
  readonly before: View;
  readonly after: View;
  readonly effects: readonly Effect[];
  /** The lane and the plan of a step's task. */
  readonly laneOf: (step: number, side: "forward" | "undo") => { lane: number; task: PlanTask };
  readonly actor: Actor | null;
}

export interface ReadyInsert {
  readonly step: number;
  readonly ready: Ready;
  readonly lane: number;
  readonly task: PlanTask;
}

export interface EscalationInsert {
  readonly step: number;
  readonly reason: EscalationReason;
  readonly message: string;
  /** A later effect of the same pass has closed it; null: it stands open. */
  readonly closedBy: string | null;
}

export interface RowChanges {
  readonly head: RunHead;
  readonly run: Run | null;
  /** The run has ended: its open row goes, its outcome is written. */
  readonly ended: boolean;
  readonly wakeAt: Moment | null;
  readonly steps: readonly Step[];
  readonly readyGone: readonly number[];
  readonly readyNew: readonly ReadyInsert[];
  readonly readyMoved: readonly { step: number; alarms: number; wakeAt: Moment }[];
  readonly leaseGone: readonly { step: number; fence: number }[];
  readonly leaseMoved: readonly { step: number; lease: Lease }[];
  readonly dueGone: readonly number[];
  readonly dueNew: readonly { step: number; due: Backoff }[];
  readonly attempts: readonly Attempt[];
  readonly settled: readonly Attempt[];
  readonly interventions: readonly Intervention[];
  readonly escalations: readonly EscalationInsert[];
  readonly escalationsClosed: readonly { step: number; by: string }[];
  readonly cancelNote: string | null;
  readonly actor: Actor | null;
}

export function rowChanges(record: PassRecord): RowChanges {
  const { before, after, effects, head } = record;
  const changed = [...after.steps.values()].filter((step) => before.steps.get(step.no) !== step);
  const moves = changed.map((step) => ({
    step,
    was: movingOf(before.steps.get(step.no)),
    is: movingOf(step),
    side: movingSide(step)?.side ?? "forward",
  }));
  const gone = (kind: "READY" | "BACKOFF"): number[] =>
    moves
      .filter(({ was, is }) => was?.kind === kind && !sameRow(was, is))
      .map(({ step }) => step.no);
  return {
    head,
    run: after.run.version === before.run.version ? null : after.run,
    ended: isEnded(after.run.state) && !isEnded(before.run.state),
    wakeAt: runWakeAt(after.run),
    steps: changed.filter((step) => !sameStepRow(before.steps.get(step.no), step)),
    readyGone: gone("READY"),
    readyNew: moves.flatMap(({ step, was, is, side }) =>
      is?.kind === "READY" && !sameRow(was, is)
        ? [{ step: step.no, ready: is, ...record.laneOf(step.no, side) }]
        : [],
    ),
    readyMoved: moves.flatMap(({ step, was, is }) =>
      is?.kind === "READY" && was !== is && sameRow(was, is)
        ? [{ step: step.no, alarms: is.alarms, wakeAt: is.wakeAt }]
        : [],
    ),
    leaseGone: moves.flatMap(({ step, was, is }) =>
      was?.kind === "LEASED" && !sameRow(was, is) ? [{ step: step.no, fence: was.fence }] : [],
    ),
    leaseMoved: moves.flatMap(({ step, was, is }) =>
      is?.kind === "LEASED" && was !== is && sameRow(was, is) ? [{ step: step.no, lease: is }] : [],
    ),
    dueGone: gone("BACKOFF"),
    dueNew: moves.flatMap(({ step, was, is }) =>
      is?.kind === "BACKOFF" && !sameRow(was, is) ? [{ step: step.no, due: is }] : [],
    ),
    ...appended(effects),
    actor: record.actor,
  };
}

function appended(effects: readonly Effect[]) {
  return {
    attempts: effects.flatMap((effect) =>
      effect.kind === "task-ended" || effect.kind === "attempt-kept" ? [effect.attempt] : [],
    ),
    settled: effects.flatMap((effect) =>
      effect.kind === "attempt-settled" ? [effect.attempt] : [],
    ),
    interventions: effects.flatMap((effect) =>
      effect.kind === "intervened" ? [effect.intervention] : [],
    ),
    escalations: effects.flatMap((effect, place) => {
      if (effect.kind !== "escalated") return [];
      const { step, reason, message } = effect;
      const closed = effects
        .slice(place)
        .find((later) => later.kind === "escalation-closed" && later.step === step);
      const closedBy = closed?.kind === "escalation-closed" ? closed.by : null;
      return [{ step, reason, message, closedBy }];
    }),
    escalationsClosed: effects.flatMap((effect) =>
      effect.kind === "escalation-closed" ? [effect] : [],
    ),
    cancelNote: effects.find((effect) => effect.kind === "cancel-noted")?.note ?? null,
  };
}

function movingOf(step: Step | undefined) {
  return step ? (movingSide(step)?.state ?? null) : null;
}

/**
 * The same ready or lease row is one of the same task and fence: a cancelled forward task and the
 * undo that replaces it in one pass can have one fence. A due row is the same while nobody touched
 * it.
 */
function sameRow(was: ReturnType<typeof movingOf>, is: ReturnType<typeof movingOf>): boolean {
  if (!was || !is || was.kind !== is.kind) return false;
  if (was.kind === "BACKOFF" || is.kind === "BACKOFF") return was === is;
  return was.fence === is.fence && was.task === is.task;
}

/** Whether the step's own row can stay as it is: only a row beside it moved. */
function sameStepRow(was: Step | undefined, is: Step): boolean {
  if (!was) return false;
  return (
    stored(was.forward.kind) === stored(is.forward.kind) &&
    waitingFor(was) === waitingFor(is) &&
    stored(was.undo.kind) === stored(is.undo.kind) &&
    was.effect === is.effect &&
    was.fence === is.fence &&
    was.attempt === is.attempt &&
    was.lost === is.lost &&
    was.tries === is.tries &&
    was.firstReadyAt === is.firstReadyAt &&
    was.settleUntil === is.settleUntil &&
    was.resultFence === is.resultFence
  );
}

export function waitingFor(step: Step): number {
  return step.forward.kind === "BLOCKED" ? step.forward.waitingFor : 0;
}

/** READY and LEASED are told apart by rows; in the step row both are OPEN. */
export function stored<Kind extends string>(
  kind: Kind,
): Exclude<Kind, "READY" | "LEASED"> | "OPEN" {
  return kind === "READY" || kind === "LEASED"
    ? "OPEN"
    : (kind as Exclude<Kind, "READY" | "LEASED">);
}

/**
 * Tells apart the rows that one attempt may have of a kind. A late success is evidence of its own
 * beside a late failure of the same attempt; a second one of either says nothing new.
 */
export function attemptRowNumber(attempt: Attempt): number {
  return attempt.kind === "late" && attempt.outcome.kind === "success" ? 1 : 0;
}
