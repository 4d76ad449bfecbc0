// What can happen to a run, and what is answered to whoever said it.
// An event carries every fact that its rule needs: no rule asks a clock, a database or a die.
import type { EpochMs, Outcome, TaskKind } from "./attempt.ts";
import type { AnswerKind } from "./history.ts";
import { isFinal, isUndoLeft, type RunState, type Step, type WaitingFor } from "./model.ts";
import type { Payload } from "./payload.ts";
import { type Plan, UNDELIVERED_AT_ONCE_MAX } from "./plan.ts";
import { planStepAt } from "./plan-at.ts";
import { itemOf, numberOf } from "./step-key.ts";
import type { TypicalDuration } from "./typical-duration.ts";

/** Facts of the pass, the same for all of its events. */
export interface Occasion {
  /** The database's time of the pass. */
  readonly now: EpochMs;
  /** A number from 0 up to 1, drawn for this event: the jitter of a backoff. */
  readonly draw: number;
}

/** What an agent may say. */
export type Reported = Exclude<Outcome, { kind: "undelivered" | "unsent" | "superseded" }>;

export type RunEvent =
  /** Complete: an agent says how a task ended. */
  | {
      readonly kind: "report";
      readonly step: number;
      readonly task: TaskKind;
      readonly fence: number;
      readonly secret: string;
      readonly outcome: Reported;
      readonly digest: string;
      readonly agentId: string;
      readonly session: string;
    }
  /** CompleteDeferred: somebody who holds the callback token says how the attempt ended. */
  | {
      readonly kind: "callback";
      readonly step: number;
      readonly fence: number;
      /** SHA-256 of the attempt's secret, hex. */
      readonly secretDigest: string;
      /**
       * The secret of this digest, of a lease or an ended attempt of the step; null: none has it.
       * Who sends the event leaves it null: it is found once the run is locked.
       */
      readonly secret: string | null;
      readonly outcome: Extract<Outcome, { kind: "success" | "failure" }>;
      readonly digest: string;
    }
  /** A session says that the poll which this task was granted to ended without an answer. */
  | {
      readonly kind: "undelivered";
      readonly step: number;
      readonly fence: number;
      readonly secret: string;
      /** Why the server could not make the task for the agent; left out: it could. */
      readonly problem?: string;
      /** It never left the server: the answer was full, or the store away. */
      readonly unsent?: boolean;
    }
  /** The session that holds this task lists all that it holds, and leaves it out. */
  | {
      readonly kind: "forgotten";
      readonly step: number;
      readonly fence: number;
      readonly secret: string;
    }
  | {
      readonly kind: "signal";
      /** The caller's own name for it: a repeat is one signal. */
      readonly id: string;
      readonly name: string;
      readonly payload: Payload | null;
    }
  /** An approver's word on an approval step. */
  | {
      readonly kind: "decide";
      readonly step: number;
      readonly approver: string;
      /** Roles that the approver states. */
      readonly roles: readonly string[];
      readonly approved: boolean;
      readonly comment: string;
      readonly form: Payload | null;
      /** Who started the run, where that is known. */
      readonly requester: string | null;
    }
  /** ResolveEscalation. */
  | {
      readonly kind: "answer";
      /** Number of the escalation within the run. */
      readonly n: number;
      readonly answer: AnswerKind;
      readonly by: string;
      readonly why: string;
      /** retry-changed: the whole input; succeed: the output. */
      readonly payload: Payload | null;
    }
  /** The moment of an escalation: its next reminder, or its deadline. */
  | { readonly kind: "escalation-moment"; readonly n: number }
  | { readonly kind: "cancel"; readonly undo: boolean; readonly note: string }
  | { readonly kind: "pause"; readonly note: string }
  | { readonly kind: "resume"; readonly note: string }
  /** Other runs have told it something: all that waits is applied. */
  | { readonly kind: "messages" }
  /** The moment of a lease has come. */
  | {
      readonly kind: "lease-moment";
      readonly step: number;
      readonly fence: number;
      readonly lastHeartbeatAt: EpochMs | null;
      /** Since when the owner of the partition has been looking without a gap. */
      readonly watchingSince: EpochMs;
      /** How long attempts of the step take; null, or left out: too little is known. */
      readonly typical?: TypicalDuration | null;
    }
  /** Nobody took a ready task within `pickup`, or its `total` is over. */
  | {
      readonly kind: "ready-moment";
      readonly step: number;
      readonly fence: number;
      /** Somebody polled its lane in the last minute, or the lane is held. */
      readonly polled: boolean;
      /** The store's number of the lane that it waits in; left out: that of its task. */
      readonly lane?: number;
      /** Agents of this version alone get it; left out: all do. */
      readonly agentVersion?: string;
      /** A person is being asked about its lane, by another task; left out: none is. */
      readonly asked?: boolean;
    }
  /** The moment of a backoff, a timer, a signal, an approval or a callback. */
  | { readonly kind: "due-moment"; readonly step: number; readonly on: "backoff" | WaitingFor }
  /** The run's own moment: its deadline, or the end of what it lets settle. */
  | { readonly kind: "run-moment" };

export type EventKind = RunEvent["kind"];

export type Answer =
  /** It is done, or was needless: the state is what was asked for. */
  | { readonly kind: "done" }
  /** The same was accepted before. */
  | { readonly kind: "repeated" }
  /** Another task of the step was handed out since, or step or run are final: kept as evidence. */
  | { readonly kind: "lease-lost"; readonly run: RunState["kind"] }
  /** The attempt was ended by another report. */
  | { readonly kind: "over"; readonly outcome: Outcome["kind"] }
  /** No task of this run ever had this token. */
  | { readonly kind: "no-such-task" }
  /** The run has no escalation of this number, or no step of this kind. */
  | { readonly kind: "no-such-question" }
  | { readonly kind: "refused"; readonly run: RunState["kind"]; readonly why: string }
  /** No step of the run takes a signal of this name, so it would be kept for nothing. */
  | { readonly kind: "no-such-signal"; readonly name: string; readonly takes: readonly string[] }
  /** The run keeps as many signals as it may. */
  | { readonly kind: "full"; readonly limit: number };

/** What of a run's steps a pass must load. */
export interface StepsToLoad {
  /** Every step, and each item that is not done for good: it moves, or a person owns it. */
  readonly whole: boolean;
  /** And these places. */
  readonly places: readonly number[];
  /** And of these maps the items that are undone next, at most so many. */
  readonly undoing: readonly { readonly map: number; readonly most: number }[];
}

/**
 * The steps named by a success and those that it may open, else all. Only a plain success in a
 * RUNNING run can be evaluated without the rest; everything else may give a verdict. What happens
 * to an item gives none: a pass that loads all does, once its map has counted too many.
 */
export function stepsToLoad(
  state: RunState["kind"],
  plan: Plan,
  events: readonly RunEvent[],
): StepsToLoad {
  const whole = !events.every((event) => isPlain(state, plan, event));
  const places = new Set<number>();
  for (const event of events) {
    if (!("step" in event)) continue;
    places.add(event.step);
    // A map counts its items.
    places.add(numberOf(event.step));
    for (const reached of plan.steps[event.step]?.reach ?? []) places.add(reached);
  }
  const undoing = events.flatMap((event) => {
    if (event.kind !== "due-moment" || event.on !== "items") return [];
    const work = plan.steps[event.step]?.work;
    return work?.kind === "map" ? [{ map: event.step, most: work.concurrency }] : [];
  });
  return { whole, places: [...places], undoing };
}

/** Whether a pass that wants these has loaded the step. The stores load exactly such. */
export function isWanted(
  { whole, places, undoing }: StepsToLoad,
  step: Step,
  steps: ReadonlyMap<number, Step>,
): boolean {
  const { no, forward, undo, settleUntil } = step;
  const item = itemOf(no);
  if (places.includes(no)) return true;
  if (whole && (item === 0 || !isFinal(forward) || isUndoLeft(undo) || settleUntil !== null))
    return true;
  return undoing.some(({ map, most }) => {
    const from = steps.get(map)?.items?.undoFrom ?? 0;
    return numberOf(no) === map && item > Math.max(0, from - most) && item <= from;
  });
}

function isPlain(state: RunState["kind"], plan: Plan, event: RunEvent): boolean {
  if (state !== "RUNNING" && state !== "COMPENSATING") return false;
  if ("step" in event && itemOf(event.step) > 0) return true;
  if (state !== "RUNNING") return false;
  return (
    (event.kind === "report" &&
      event.task === "perform" &&
      (event.outcome.kind === "success" || event.outcome.kind === "released") &&
      !planStepAt(plan, event.step)?.outputSchema) ||
    (event.kind === "undelivered" && isGivenBackAtOnce(event)) ||
    (event.kind === "due-moment" && event.on === "backoff")
  );
}

/** It neither rests nor asks a person, whatever became of the tries before. */
function isGivenBackAtOnce({
  problem,
  unsent = false,
  fence,
}: Extract<RunEvent, { kind: "undelivered" }>): boolean {
  return problem === undefined && (unsent || fence <= UNDELIVERED_AT_ONCE_MAX);
}

/**
 * The order of events within one pass: reports first, then callbacks and signals, then people's
 * commands, then moments.
 */
export function inPassOrder<T extends { readonly event: RunEvent }>(items: readonly T[]): T[] {
  return [...items].sort((a, b) => RANKS[a.event.kind] - RANKS[b.event.kind]);
}

const RANKS: Readonly<Record<EventKind, number>> = Object.freeze({
  report: 0,
  undelivered: 1,
  forgotten: 1,
  callback: 2,
  signal: 2,
  messages: 2,
  decide: 3,
  answer: 3,
  cancel: 3,
  pause: 3,
  resume: 3,
  "lease-moment": 4,
  "ready-moment": 4,
  "due-moment": 4,
  "escalation-moment": 4,
  "run-moment": 4,
});
