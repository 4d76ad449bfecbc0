// What a pass changed, as rows: the difference between the views before and after, and the rows
// that its effects append. Both stores write exactly this, so SQL and memory cannot drift apart.

import type { Attempt, Counted, Moment, TaskKind } from "../core/attempt.ts";
import type { Effect } from "../core/effect.ts";
import { runWakeAt } from "../core/evolve.ts";
import type { Intervention } from "../core/history.ts";
import type { Message } from "../core/message.ts";
import {
  type Backoff,
  isEnded,
  type Lease,
  type Moving,
  movingSide,
  type Ready,
  type Run,
  type Step,
  type View,
  type Waiting,
} from "../core/model.ts";
import type { Payload } from "../core/payload.ts";
import type { PlanTask } from "../core/plan.ts";
import { sameAttemptRow } from "./attempts.ts";
import { childRef } from "./child-run.ts";
import { type EscalationChanges, escalationChanges } from "./escalation-changes.ts";
import { partitionOf, regionOf } from "./partition.ts";
import type { RunHead, RunId, RunRef } from "./run-head.ts";
import { sameStepRow } from "./step-row.ts";

/** Who acted, for interventions: the owner of the partition, or nobody but an agent's word. */
export interface Actor {
  readonly node: string;
  readonly epoch: number;
}

/** The lane and the plan of a step's task; `planned`: the strategy of the plan, for a perform. */
export type LaneOf = (
  step: number,
  task: TaskKind,
  planned: number,
) => { readonly lane: number; readonly task: PlanTask; readonly workflow: string };

/** A pass to be written. */
export interface PassRecord {
  readonly head: RunHead;
  readonly before: View;
  readonly after: View;
  readonly effects: readonly Effect[];
  readonly laneOf: LaneOf;
  /**
   * How long an attempt to perform the step may run before somebody looks whether it is slow, in
   * milliseconds; null, or left out: nobody knows.
   */
  readonly slowAfter?: (step: number) => number | null;
  /** Rows of steps may not be as `before` says: what is there gives way. Left out: they are. */
  readonly replaces?: true;
  readonly actor: Actor | null;
}

export interface ReadyInsert {
  readonly step: number;
  readonly ready: Ready;
  readonly lane: number;
  readonly task: PlanTask;
  readonly workflow: string;
  /** Its lease is first looked at so long after the grant at the latest; null: not for that. */
  readonly slowAfterMs: number | null;
  /** As `ReadyRow.plain`. */
  readonly plain: boolean;
}

export interface AttemptChange {
  readonly attempt: Attempt;
  /** What its try is charged to now. */
  readonly counted: Counted;
}

export interface SignalInsert {
  readonly seq: number;
  readonly id: string;
  readonly name: string;
  readonly payload: Payload | null;
  /** The step that took it in the same pass; null: it waits. */
  readonly takenBy: number | null;
}

export type DecisionInsert = Extract<Effect, { kind: "decision-stored" }>;

export interface OverrideInsert {
  readonly step: number;
  /** Its place in the step's strategies. */
  readonly strategy: number;
  readonly input: Payload | null;
}

/** A step that has ended in a run before this one. */
export interface KeptInsert {
  readonly step: number;
  /** The run that made its effect. */
  readonly of: RunId;
}

/** What the run tells another one of its region. */
export interface MessageInsert {
  readonly to: RunRef;
  readonly message: Message;
}

/**
 * How long the process that has written a message has to bring it to its run before the owner of
 * the run's partition does, in milliseconds.
 */
export const MESSAGE_GRACE_MS = 500;

/** A step that has a due row. */
export type Due = Backoff | Waiting;

export interface RowChanges extends EscalationChanges {
  readonly head: RunHead;
  /** Whatever row `stepsNew` would meet is to go first. */
  readonly replaces: boolean;
  readonly run: Run | null;
  /** The run has ended: its open row goes, its outcome is written. */
  readonly ended: boolean;
  readonly wakeAt: Moment | null;
  /** Of steps that had none before. */
  readonly stepsNew: readonly Step[];
  readonly stepsChanged: readonly Step[];
  readonly readyGone: readonly { step: number; ready: Ready }[];
  readonly readyNew: readonly ReadyInsert[];
  readonly readyMoved: readonly { step: number; ready: Ready }[];
  readonly leaseGone: readonly { step: number; lease: Lease }[];
  readonly leaseMoved: readonly { step: number; lease: Lease }[];
  readonly dueGone: readonly { step: number; due: Due }[];
  readonly dueNew: readonly { step: number; due: Due }[];
  readonly attempts: readonly AttemptChange[];
  readonly settled: readonly AttemptChange[];
  readonly interventions: readonly Intervention[];
  readonly signals: readonly SignalInsert[];
  /** Of those that were there before. */
  readonly signalsTaken: readonly { seq: number; step: number }[];
  readonly decisions: readonly DecisionInsert[];
  readonly overrides: readonly OverrideInsert[];
  readonly kept: readonly KeptInsert[];
  readonly messages: readonly MessageInsert[];
  readonly messagesApplied: readonly number[];
  readonly cancelNote: string | null;
  readonly actor: Actor | null;
}

export function rowChanges(record: PassRecord): RowChanges {
  const { before, after, effects, head } = record;
  const changed = [...after.steps.values()].filter((step) => before.steps.get(step.no) !== step);
  const hasEnded = isEnded(before.run.state);
  const isNew = (step: Step) => record.replaces === true || !before.steps.has(step.no);
  const steps = changed.filter((step) => !sameStepRow(before.steps.get(step.no), step));
  return {
    head,
    run: hasEnded || after.run.version === before.run.version ? null : after.run,
    ended: isEnded(after.run.state) && !hasEnded,
    wakeAt: runWakeAt(after.run),
    stepsNew: steps.filter(isNew),
    stepsChanged: steps.filter((step) => !isNew(step)),
    replaces: record.replaces === true,
    ...movedRows(record, changed),
    ...appended(effects),
    ...escalationChanges(effects),
    ...signalChanges(effects),
    overrides: [...overridesOf(record), ...overridesKept(effects)],
    kept: effects.flatMap((effect) =>
      effect.kind === "kept" ? [{ step: effect.step, of: effect.of }] : [],
    ),
    messages: messagesOf(record),
    messagesApplied: effects.flatMap((effect) =>
      effect.kind === "message-applied" ? [effect.no] : [],
    ),
    actor: record.actor,
  };
}

type MovedRows = Pick<
  RowChanges,
  "readyGone" | "readyNew" | "readyMoved" | "leaseGone" | "leaseMoved" | "dueGone" | "dueNew"
>;

/** The rows beside steps: each state that moves, but HELD, is one. */
function movedRows({ before, laneOf, slowAfter }: PassRecord, changed: readonly Step[]): MovedRows {
  const gone: { step: number; row: Moving }[] = [];
  const made: { step: Step; row: Moving }[] = [];
  const moved: { step: number; row: Moving }[] = [];
  for (const step of changed) {
    const earlier = before.steps.get(step.no);
    const was = earlier ? movingSide(earlier)?.state : undefined;
    const is = movingSide(step)?.state;
    const stays = earlier && was && is && sameRow(was, is) && sameLane(earlier, step);
    if (stays && was !== is) moved.push({ step: step.no, row: is });
    if (stays) continue;
    if (was) gone.push({ step: step.no, row: was });
    if (is) made.push({ step, row: is });
  }
  return {
    readyGone: gone.flatMap(({ step, row }) =>
      row.kind === "READY" ? [{ step, ready: row }] : [],
    ),
    readyNew: made.flatMap(({ step, row }) =>
      row.kind === "READY"
        ? [
            {
              step: step.no,
              ready: row,
              ...laneOf(step.no, row.task, plannedNow(step)),
              slowAfterMs: row.task === "perform" ? (slowAfter?.(step.no) ?? null) : null,
              plain: isPlain(step, row),
            },
          ]
        : [],
    ),
    readyMoved: moved.flatMap(({ step, row }) =>
      row.kind === "READY" ? [{ step, ready: row }] : [],
    ),
    leaseGone: gone.flatMap(({ step, row }) =>
      row.kind === "LEASED" ? [{ step, lease: row }] : [],
    ),
    leaseMoved: moved.flatMap(({ step, row }) =>
      row.kind === "LEASED" ? [{ step, lease: row }] : [],
    ),
    dueGone: gone.flatMap(({ step, row }) => (isDue(row) ? [{ step, due: row }] : [])),
    dueNew: made.flatMap(({ step, row }) => (isDue(row) ? [{ step: step.no, due: row }] : [])),
  };
}

function isPlain({ strategies, items }: Step, { task, fence }: Ready): boolean {
  const [first, ...others] = strategies;
  const asPlanned = first?.planned === 0 && !first.changed && others.length === 0;
  return task === "perform" && fence === 1 && asPlanned && items === null;
}

function isDue(state: Moving): state is Due {
  return state.kind === "BACKOFF" || state.kind === "WAITING";
}

/** The strategy of the plan that the step follows now. */
export function plannedNow(step: Step): number {
  return step.strategies.at(-1)?.planned ?? 0;
}

/** A step that falls back while it is READY changes its lane. */
function sameLane(was: Step, is: Step): boolean {
  const [before, after] = [was.strategies, is.strategies];
  return before.length === after.length && plannedNow(was) === plannedNow(is);
}

/**
 * Whether the row stays, with perhaps another moment: a ready row of the same hand-out, not one
 * that a pause and a resume have made anew; the lease of the same secret; a due row that is about
 * the same, at the same moment.
 */
function sameRow(was: Moving, is: Moving): boolean {
  switch (was.kind) {
    case "READY":
      return (
        is.kind === "READY" &&
        was.task === is.task &&
        was.fence === is.fence &&
        was.attempt === is.attempt &&
        was.readyAt === is.readyAt &&
        was.avoid === is.avoid
      );
    case "LEASED":
      return is.kind === "LEASED" && was.secret === is.secret;
    case "HELD":
      return is.kind === "HELD";
    case "BACKOFF":
      return (
        is.kind === "BACKOFF" &&
        was.task === is.task &&
        was.cause === is.cause &&
        was.wakeAt === is.wakeAt
      );
    case "WAITING":
      return is.kind === "WAITING" && was.on === is.on && was.wakeAt === is.wakeAt;
  }
}

function appended(effects: readonly Effect[]) {
  const attempts = effects.flatMap((effect): AttemptChange[] => {
    if (effect.kind === "task-ended") return [effect];
    return effect.kind === "attempt-kept" ? [{ attempt: effect.attempt, counted: null }] : [];
  });
  return {
    // Of what no agent holds the last word counts, and one statement writes a row once.
    attempts: attempts.filter(
      ({ attempt }, place) =>
        attempt.secret !== null ||
        !attempts.slice(place + 1).some((later) => sameAttemptRow(later.attempt, attempt)),
    ),
    settled: effects.filter((effect) => effect.kind === "attempt-settled"),
    interventions: effects.flatMap((effect) =>
      effect.kind === "intervened" ? [effect.intervention] : [],
    ),
    decisions: effects.filter((effect) => effect.kind === "decision-stored"),
    cancelNote:
      effects
        .filter((effect) => effect.kind === "command-noted")
        .find(({ command }) => command === "cancel")?.note ?? null,
  };
}

function signalChanges(effects: readonly Effect[]): Pick<RowChanges, "signals" | "signalsTaken"> {
  const taken = effects.filter((effect) => effect.kind === "signal-taken");
  const made = effects.filter((effect) => effect.kind === "signal-stored");
  return {
    signals: made.map(({ seq, id, name, payload }) => {
      const takenBy = taken.find((effect) => effect.seq === seq)?.step ?? null;
      return { seq, id, name, payload, takenBy };
    }),
    signalsTaken: taken.filter(({ seq }) => !made.some((effect) => effect.seq === seq)),
  };
}

/** In the order in which the pass wrote them. */
export function messagesOf({ head, effects }: PassRecord): readonly MessageInsert[] {
  const region = regionOf(head.partition);
  return effects.flatMap((effect) => {
    if (effect.kind === "child-told") {
      const { step, fence, message } = effect;
      return [{ to: childRef(head, step, fence), message }];
    }
    if (effect.kind !== "message-sent") return [];
    const { to: runId, message } = effect;
    return [{ to: { runId, partition: partitionOf(region, runId) }, message }];
  });
}

/** Runs that a pass of their own has to look for: those that were told something, and children. */
export function runsToLookAt(record: PassRecord): readonly RunRef[] {
  return [
    ...messagesOf(record).map(({ to }) => to),
    ...record.effects.flatMap((effect) =>
      effect.kind === "child-began" ? [childRef(record.head, effect.step, effect.fence)] : [],
    ),
  ];
}

/** One pass may begin a strategy where it has dropped another: the last at a place is kept. */
function overridesOf({ effects }: PassRecord): readonly OverrideInsert[] {
  const found = new Map<string, OverrideInsert>();
  for (const effect of effects) {
    if (effect.kind !== "strategy-begun" || effect.input === null) continue;
    const { step, place: strategy, input } = effect;
    found.set(`${step}/${strategy}`, { step, strategy, input });
  }
  return [...found.values()];
}

/** What undoes the effect of a kept step gets the input under which it was made. */
function overridesKept(effects: readonly Effect[]): readonly OverrideInsert[] {
  return effects.flatMap((effect) =>
    effect.kind === "kept"
      ? [...effect.inputs].map(([strategy, input]) => ({ step: effect.step, strategy, input }))
      : [],
  );
}
