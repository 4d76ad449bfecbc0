// How each effect changes the step that it is about.

import type { Counted, TaskKind } from "./model/attempt.ts";
import type { Effect, NeedEnd, Side } from "./model/effect.ts";
import type { EscalationReason } from "./model/history.ts";
import type { Items } from "./model/items.ts";
import {
  isFinal,
  isMoving,
  isUndoLeft,
  type Moving,
  movingSide,
  type Step,
} from "./model/model.ts";
import type { EffectStatus } from "./model/strategy.ts";

export function sideOf(task: TaskKind): Side {
  return task === "compensate" ? "undo" : "forward";
}

type StepEffect = Exclude<
  Effect,
  {
    kind:
      | "run-moved"
      | "attempt-stored"
      | "intervened"
      | "command-noted"
      | "warned"
      | "signal-stored"
      | "signal-taken"
      | "decision-stored"
      | "escalation-reminded"
      | "escalation-answered"
      | "escalation-closed"
      | "message-sent"
      | "message-applied"
      | "child-messaged";
  }
>;

/** Escalations that leave the forward side of the step unchanged. */
const BESIDE_FORWARD: ReadonlySet<EscalationReason> = new Set(["doubled", "undo-failed"]);

type Blocked = Extract<Step["forward"], { kind: "BLOCKED" }>;

/** The tries of an undo are counted from 0. */
const UNCOUNTED = Object.freeze({ attempt: 0, lost: 0, tries: [] });
const FRESH_TRIES = Object.freeze({ tries: [], lost: 0, unknownOutcome: null });

/** The step after an effect that is about it. */
export function evolveStep(step: Step, effect: StepEffect): Step {
  if (isOfMap(effect)) return evolveMap(step, effect);
  switch (effect.kind) {
    case "need-ended": {
      const { forward } = step;
      if (forward.kind !== "BLOCKED") throw new Error(`step ${step.no} is not BLOCKED`);
      return { ...step, forward: needEnded(forward, effect.how) };
    }
    case "reused":
      return keep(step, effect);
    case "made-ready":
    case "held":
    case "backed-off":
    case "began-waiting":
    case "wake-moved":
    case "pickup-alarmed":
    case "cancel-asked":
    case "suspected":
      return evolveMoving(step, effect);
    case "child-began":
      return beginChild(step, effect);
    case "task-ended":
      return endTask(step, effect);
    case "attempt-settled":
      return { ...charge(discharge(step, effect.was), effect.counted), lost: 0 };
    case "effect-status-set":
      return mark(step, effect.strategy, effect.mark);
    case "settling":
      return { ...step, settleUntil: Math.max(step.settleUntil ?? 0, effect.until) };
    case "outcome-unknown":
      return { ...step, unknownOutcome: effect.unknownOutcome };
    case "strategy-started":
    case "strategy-dropped":
    case "strategy-undoing":
    case "strategy-undo-ended":
      return evolveStrategies(step, effect);
    case "retries-renewed":
      return effect.side === "forward"
        ? { ...step, ...FRESH_TRIES, firstReadyAt: null }
        : { ...step, tries: [], lost: 0 };
    case "total-moved": {
      const { firstReadyAt } = step;
      return { ...step, firstReadyAt: firstReadyAt === null ? null : firstReadyAt + effect.byMs };
    }
    case "succeeded":
      return { ...step, forward: { kind: "SUCCEEDED" }, result: effect.result };
    case "failed":
      return { ...step, forward: { kind: "FAILED" } };
    case "skipped":
      return { ...step, forward: { kind: "SKIPPED" } };
    case "cancelled":
      return { ...step, forward: { kind: "CANCELLED" } };
    case "undo-planned":
      return { ...step, ...UNCOUNTED, undo: { kind: "PENDING" } };
    case "effect-undone":
      return { ...mark(step, effect.strategy, "UNDONE"), ...UNCOUNTED };
    case "undone":
      return { ...step, undo: { kind: "DONE" } };
    case "undo-failed":
      return { ...step, undo: { kind: "FAILED" } };
    case "escalated":
      return isFinal(step.forward) || BESIDE_FORWARD.has(effect.reason)
        ? step
        : { ...step, forward: { kind: "ESCALATED" } };
  }
}

type StrategyEffect = Extract<StepEffect, { kind: `strategy-${string}` }>;

/** Changes of the step's list of strategies. */
function evolveStrategies(step: Step, effect: StrategyEffect): Step {
  switch (effect.kind) {
    case "strategy-started":
      return beginStrategy(step, effect);
    case "strategy-dropped":
      return { ...step, attempt: effect.attempt, strategies: step.strategies.slice(0, -1) };
    case "strategy-undoing": {
      const sides = { forward: { kind: "UNDOING" }, undo: { kind: "PENDING" } } as const;
      return { ...step, ...sides, ...UNCOUNTED, unknownOutcome: effect.unknownOutcome };
    }
    case "strategy-undo-ended":
      return {
        ...step,
        ...UNCOUNTED,
        attempt: effect.attempt,
        undo: { kind: "NONE" },
        unknownOutcome: null,
      };
  }
}

function beginStrategy(
  step: Step,
  { index, planned, input }: Extract<Effect, { kind: "strategy-started" }>,
): Step {
  const strategy = { planned, changed: input !== null, effectStatus: "NONE" } as const;
  const strategies = [...step.strategies.slice(0, index), strategy];
  return { ...step, ...FRESH_TRIES, attempt: 0, strategies };
}

function needEnded({ kind, waitingFor, ok, skipped }: Blocked, how: NeedEnd): Blocked {
  return {
    kind,
    waitingFor: waitingFor - 1,
    ok: ok + Number(how === "ok"),
    skipped: skipped + Number(how === "skipped"),
  };
}

type MapEffect = Extract<
  StepEffect,
  { kind: "map-started" | "wave-started" | "items-started" | "items-due" | "items-undoing" }
>;

const OF_MAPS: ReadonlySet<StepEffect["kind"]> = new Set([
  "map-started",
  "wave-started",
  "items-started",
  "items-due",
  "items-undoing",
] satisfies MapEffect["kind"][]);

function isOfMap(effect: StepEffect): effect is MapEffect {
  return OF_MAPS.has(effect.kind);
}

/** Changes of a map, and of its counters. */
function evolveMap(step: Step, effect: MapEffect): Step {
  switch (effect.kind) {
    case "map-started":
      return { ...step, forward: { kind: "MAPPING" }, items: itemsOf(effect.total) };
    case "wave-started":
      return {
        ...step,
        forward: { kind: "MAPPING" },
        firstReadyAt: null,
        attempt: 0,
        ...FRESH_TRIES,
      };
    case "items-started": {
      const { count } = effect;
      return changeItems(step, (items) => {
        const last = items.started + count;
        return { ...items, started: last, open: items.open + count, undoFrom: last };
      });
    }
    case "items-due": {
      const due = { kind: "WAITING", on: "items", wakeAt: effect.wakeAt } as const;
      return place(step, effect.side, due);
    }
    case "items-undoing": {
      const { undoFrom } = effect;
      return changeItems({ ...step, undo: { kind: "MAPPING" } }, (items) => ({
        ...items,
        undoFrom,
      }));
    }
  }
}

function itemsOf(total: number): Items {
  return {
    total,
    started: 0,
    open: 0,
    succeeded: 0,
    failed: 0,
    skipped: 0,
    undoFrom: 0,
    undosMoving: 0,
    undosLeft: 0,
  };
}

function changeItems(step: Step, change: (items: Items) => Items): Step {
  return { ...step, items: step.items && change(step.items) };
}

/** Updates the counters of a map by the state of one item before and after a change. */
export function countItem(map: Step, before: Step, after: Step): Step {
  const difference = (of: (step: Step) => boolean): number =>
    Number(of(after)) - Number(of(before));
  const came = (kind: Step["forward"]["kind"]) =>
    difference(({ forward }) => forward.kind === kind);
  return changeItems(map, (items) => ({
    ...items,
    open: items.open - difference(({ forward }) => isFinal(forward)),
    succeeded: items.succeeded + came("SUCCEEDED"),
    failed: items.failed + came("FAILED"),
    skipped: items.skipped + came("SKIPPED"),
    undosMoving: items.undosMoving + difference(({ undo }) => isMoving(undo)),
    undosLeft: items.undosLeft + difference(({ undo }) => isUndoLeft(undo)),
  }));
}

function keep(step: Step, effect: Extract<Effect, { kind: "reused" }>): Step {
  const { as, strategies, fence, result } = effect;
  return { ...step, forward: { kind: as }, strategies, fence, result };
}

function beginChild(step: Step, effect: Extract<Effect, { kind: "child-began" }>): Step {
  const { fence, at, wakeAt } = effect;
  const forward = { kind: "WAITING", on: "child", wakeAt } as const;
  return { ...step, forward, fence, firstReadyAt: step.firstReadyAt ?? at };
}

/** The lease has ended. The next effect of the same pass replaces the LEASED state. */
function endTask(step: Step, effect: Extract<Effect, { kind: "task-ended" }>): Step {
  if (effect.attempt.kind === "verify") {
    const tries = (step.unknownOutcome?.tries ?? 0) + Number(effect.counted !== null);
    const unknownOutcome = step.unknownOutcome && { ...step.unknownOutcome, tries };
    return { ...step, unknownOutcome, verifies: step.verifies + 1 };
  }
  // A returned task says nothing about the work: it does not break a row of losses.
  const { kind } = effect.attempt.outcome;
  const breaksLosses = effect.counted !== null || kind === "again" || kind === "deferred";
  const lost = effect.lost ? step.lost + 1 : breaksLosses ? 0 : step.lost;
  return { ...charge(step, effect.counted), fence: effect.attempt.fence, lost, verifies: 0 };
}

type MovingEffect = Extract<
  StepEffect,
  {
    kind:
      | "made-ready"
      | "held"
      | "backed-off"
      | "began-waiting"
      | "wake-moved"
      | "pickup-alarmed"
      | "cancel-asked"
      | "suspected";
  }
>;

/** Changes of the moving side. */
function evolveMoving(step: Step, effect: MovingEffect): Step {
  switch (effect.kind) {
    case "made-ready": {
      const firstReadyAt = step.firstReadyAt ?? effect.ready.readyAt;
      return { ...place(step, sideOf(effect.ready.task), effect.ready), firstReadyAt };
    }
    case "held":
      return place(step, sideOf(effect.task), { kind: "HELD", task: effect.task });
    case "backed-off": {
      const { task, cause, wakeAt } = effect;
      return place(step, sideOf(task), { kind: "BACKOFF", task, cause, wakeAt });
    }
    case "began-waiting": {
      const { on, at, wakeAt } = effect;
      const firstReadyAt = step.firstReadyAt ?? at;
      return { ...step, forward: { kind: "WAITING", on, wakeAt }, firstReadyAt };
    }
    case "wake-moved":
      return changeMoving(step, (state) => {
        if (state.kind === "HELD") return state;
        const { wakeAt, until } = effect;
        if (state.kind === "READY" && until !== undefined) return { ...state, wakeAt, until };
        return { ...state, wakeAt };
      });
    case "pickup-alarmed":
      return changeMoving(step, (state) =>
        state.kind === "READY"
          ? { ...state, alarms: state.alarms + 1, wakeAt: effect.wakeAt }
          : state,
      );
    case "cancel-asked":
      return changeMoving(step, (state) =>
        state.kind === "LEASED"
          ? {
              ...state,
              cancel: { kind: "asked", cause: effect.cause, at: effect.at },
              wakeAt: effect.at + state.heartbeatMs,
            }
          : state,
      );
    case "suspected":
      return changeMoving(step, (state) =>
        state.kind === "LEASED" ? { ...state, suspectAt: effect.at, wakeAt: effect.wakeAt } : state,
      );
  }
}

/** Reverts `charge`. */
function discharge(step: Step, counted: Counted): Step {
  if (!counted) return step;
  // An undo that was abandoned and is planned again counts from 0.
  const less = (count: number) => Math.max(0, count - 1);
  const tries = step.tries.map((count, index) => (index === counted.policy ? less(count) : count));
  return { ...step, attempt: less(step.attempt), tries };
}

function charge(step: Step, counted: Counted): Step {
  if (!counted) return step;
  const tries = [...step.tries];
  if (counted.policy !== null) {
    while (tries.length <= counted.policy) tries.push(0);
    tries[counted.policy] = (tries[counted.policy] ?? 0) + 1;
  }
  return { ...step, attempt: step.attempt + 1, tries };
}

function mark(step: Step, strategy: number, as: EffectStatus): Step {
  return {
    ...step,
    strategies: step.strategies.map((one, index) =>
      index === strategy ? { ...one, effectStatus: effectStatusAfter(one.effectStatus, as) } : one,
    ),
  };
}

/** A strategy that was tried never returns to NONE: the remote service knows its key. */
function effectStatusAfter(before: EffectStatus, as: EffectStatus): EffectStatus {
  return as === "NONE" && before !== "NONE" ? "CLEARED" : as;
}

function place(step: Step, side: Side, state: Moving): Step {
  return side === "forward" ? { ...step, forward: state } : { ...step, undo: state };
}

function changeMoving(step: Step, change: (state: Moving) => Moving): Step {
  const moving = movingSide(step);
  return moving ? place(step, moving.side, change(moving.state)) : step;
}
