// The events of a run, and the answers to their senders. An event contains every fact that its rule
// needs: no rule reads a clock, a database or a random source.

import { type Plan, planStepAt, UNDELIVERED_AT_ONCE_MAX } from "../plan/plan.ts";
import type { EpochMs, Outcome, TaskKind } from "./attempt.ts";
import type { AnswerKind } from "./history.ts";
import { isFinal, isUndoLeft, type RunState, type Step, type WaitingFor } from "./model.ts";
import type { Payload } from "./payload.ts";
import { itemOf, numberOf } from "./step-key.ts";
import type { TypicalDuration } from "./typical-duration.ts";

/** The time of the pass, and the random number of an event. */
export interface PassTime {
  /** The database's time, the same for all events of the pass. */
  readonly now: EpochMs;
  /** A random number from 0 up to 1, drawn for this event: the jitter of a backoff. */
  readonly draw: number;
}

/** The outcomes that an agent may report. */
export type Reported = Exclude<Outcome, { kind: "undelivered" | "unsent" | "superseded" }>;

export type RunEvent =
  /** Complete: an agent reports how a task ended. */
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
  /**
   * CompleteDeferred: the holder of the callback token reports how the attempt ended. CompleteStep:
   * an operator does, for a callback that does not come.
   */
  | {
      readonly kind: "callback";
      readonly step: number;
      readonly fence: number;
      /** SHA-256 of the attempt's secret, hex; null: an operator reports, who has no token. */
      readonly secretDigest: string | null;
      /**
       * The secret with this digest, of a lease or an ended attempt of the step; for an operator
       * that of the attempt that has ended; null: there is none. The sender leaves it null: it is
       * looked up once the run is locked.
       */
      readonly secret: string | null;
      readonly outcome: Extract<Outcome, { kind: "success" | "failure" }>;
      readonly digest: string;
    }
  /** A session reports that the poll which this task was granted to ended without an answer. */
  | {
      readonly kind: "undelivered";
      readonly step: number;
      readonly fence: number;
      readonly secret: string;
      /** Why the server could not make the task for the agent; left out: it could. */
      readonly problem?: string;
      /** The task never left the server: the answer was full, or the store was unavailable. */
      readonly unsent?: boolean;
    }
  /** The session that holds this task listed all tasks that it holds, without this one. */
  | {
      readonly kind: "forgotten";
      readonly step: number;
      readonly fence: number;
      readonly secret: string;
    }
  | {
      readonly kind: "signal";
      /** The caller's own id of the signal: a repeat is one signal. */
      readonly id: string;
      readonly name: string;
      readonly payload: Payload | null;
    }
  /** An approver decides on an approval step. */
  | {
      readonly kind: "decide";
      readonly step: number;
      readonly approver: string;
      /** The approver proved the name; left out: it is only claimed. */
      readonly verified?: boolean;
      /** Roles that the approver states. */
      readonly roles: readonly string[];
      readonly approved: boolean;
      readonly comment: string;
      readonly form: Payload | null;
      /** The requester of the run; null: not known. */
      readonly requester: string | null;
    }
  /** ResolveEscalation: a person answers an escalation. */
  | {
      readonly kind: "answer";
      /** Number of the escalation within the run. */
      readonly n: number;
      readonly answer: AnswerKind;
      readonly by: string;
      /** The person proved the name; left out: it is only claimed. */
      readonly verified?: boolean;
      readonly why: string;
      /** retry-changed: the whole input; succeed: the output. */
      readonly payload: Payload | null;
    }
  /** The timer of an escalation is due: its next reminder, or its deadline. */
  | { readonly kind: "escalation-timer"; readonly n: number }
  | { readonly kind: "cancel"; readonly undo: boolean; readonly note: string }
  | { readonly kind: "pause"; readonly note: string }
  | { readonly kind: "resume"; readonly note: string }
  /** Messages of other runs are pending: all of them are applied. */
  | { readonly kind: "messages" }
  /** The timer of a lease is due. */
  | {
      readonly kind: "lease-timer";
      readonly step: number;
      readonly fence: number;
      readonly lastHeartbeatAt: EpochMs | null;
      /** Since when the owner of the partition has been scanning without a gap. */
      readonly watchingSince: EpochMs;
      /** Typical duration of attempts of the step; null, or left out: too little is known. */
      readonly typical?: TypicalDuration | null;
    }
  /** A ready task was not claimed within `pickup`, or its `total` is over. */
  | {
      readonly kind: "ready-timer";
      readonly step: number;
      readonly fence: number;
      /** An agent polled its lane recently, or the lane is paused, or its circuit is open. */
      readonly polled: boolean;
      /** The store's number of its lane; left out: the lane of the planned task. */
      readonly lane?: number;
      /** Only agents of this version get it; left out: all agents do. */
      readonly agentVersion?: string;
      /** An escalation about its lane is open, for another task; left out: none is. */
      readonly asked?: boolean;
    }
  /** The timer of a backoff is due, or the end of a wait. */
  | { readonly kind: "due-timer"; readonly step: number; readonly on: "backoff" | WaitingFor }
  /** The timer of the run itself is due: its start, its deadline, or the end of its settling. */
  | { readonly kind: "run-timer" };

export type EventKind = RunEvent["kind"];

export type Answer =
  /** Done, or not necessary: the state is as requested. */
  | { readonly kind: "done" }
  /** The same event was accepted before. */
  | { readonly kind: "repeated" }
  /** Another task of the step was claimed since, or step or run are final. Stored as evidence. */
  | { readonly kind: "lease-lost"; readonly run: RunState["kind"] }
  /** Another report has ended the attempt. */
  | { readonly kind: "over"; readonly outcome: Outcome["kind"] }
  /** No task of this run ever had this token. */
  | { readonly kind: "no-such-task" }
  /** The run has no escalation of this number, or no step of this kind. */
  | { readonly kind: "no-such-question" }
  | {
      readonly kind: "refused";
      readonly run: RunState["kind"];
      readonly why: string;
      /** What of a decision is refused; left out: something else. */
      readonly about?: "approver" | "form";
    }
  /** No step of the run takes a signal of this name, so it would never be used. */
  | { readonly kind: "no-such-signal"; readonly name: string; readonly takes: readonly string[] }
  /** The run has stored as many signals as it may. */
  | { readonly kind: "full"; readonly limit: number };

/** The steps of a run that a pass must load. */
export interface StepsToLoad {
  /** Every step, and each item that is not final, has an undo left, or still settles. */
  readonly whole: boolean;
  /** And the steps and items with these keys. */
  readonly places: readonly number[];
  /** And of these maps the next `most` items to be undone. */
  readonly undoing: readonly { readonly map: number; readonly most: number }[];
}

/**
 * Returns the step of a plain success and the steps that it may open, else all steps. Only a plain
 * success in a RUNNING run can be evaluated without the others; any other event may give the run a
 * stop reason. An event of an item gives none: once its map has counted too many failures, a later
 * pass loads all steps and gives it.
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
    // A map counts its items, so it is loaded with them.
    places.add(numberOf(event.step));
    for (const reached of plan.steps[event.step]?.reach ?? []) places.add(reached);
  }
  const undoing = events.flatMap((event) => {
    if (event.kind !== "due-timer" || event.on !== "items") return [];
    const work = plan.steps[event.step]?.work;
    return work?.kind === "map" ? [{ map: event.step, most: work.concurrency }] : [];
  });
  return { whole, places: [...places], undoing };
}

/**
 * Whether a pass that needs these steps has loaded this one. The stores load exactly such steps.
 */
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
    (event.kind === "due-timer" && event.on === "backoff")
  );
}

/** The task becomes ready at once: it neither backs off nor escalates, whatever happened before. */
function isGivenBackAtOnce({
  problem,
  unsent = false,
  fence,
}: Extract<RunEvent, { kind: "undelivered" }>): boolean {
  return problem === undefined && (unsent || fence <= UNDELIVERED_AT_ONCE_MAX);
}

/**
 * The order of events within one pass: reports first, then callbacks and signals, then commands of
 * people, then timers.
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
  "lease-timer": 4,
  "ready-timer": 4,
  "due-timer": 4,
  "escalation-timer": 4,
  "run-timer": 4,
});
