/**
 * What a store does around the rules, and no more, for the one run of core-world.ts: a claim turns
 * a ready row into a lease, a heartbeat delivers a cancel, an ended attempt is found again by its
 * token.
 */

import type { Decision, Rules } from "../../server/core/decide.ts";
import { evolve, leaseWakeAt, runWakeAt, untouchedStep } from "../../server/core/evolve.ts";
import type { EndedAttempt, EpochMs, TaskKind } from "../../server/core/model/attempt.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import type { Answer, RunEvent } from "../../server/core/model/event.ts";
import type { Message } from "../../server/core/model/message.ts";
import { type Lease, movingSide, type Step, type View } from "../../server/core/model/model.ts";
import { itemOf, numberOf } from "../../server/core/model/step-key.ts";
import { nextSlowCheck, type TypicalDuration } from "../../server/core/model/typical-duration.ts";
import { planTaskOf } from "../../server/core/pass.ts";
import { type Plan, planStepAt, UNDELIVERED_IN_A_ROW_MAX } from "../../server/core/plan/plan.ts";
import { assertView, checkPass, type EdgeTaken, edgeOfStep } from "./core-laws.ts";

/** A task as the agent that got it knows it. */
export interface Held {
  readonly step: number;
  readonly task: TaskKind;
  readonly fence: number;
  readonly attempt: number;
  readonly secret: string;
  readonly session: string;
  readonly grantedAt: EpochMs;
}

export interface TimerFacts {
  readonly polled?: boolean;
  /** A person is asked about its lane. */
  readonly asked?: boolean;
  /** Agents of this version alone get it. */
  readonly agentVersion?: string;
  readonly watchingSince?: EpochMs;
  /** How long attempts of the step take. */
  readonly typical?: TypicalDuration;
}

export interface State {
  readonly rules: Rules;
  readonly plan: Plan;
  now: EpochMs;
  view: View;
  /** Messages received so far. */
  messages: number;
  ended: EndedAttempt[];
  readonly lastHeartbeats: Map<string, EpochMs>;
  readonly accepted: Map<string, string>;
  readonly effects: Effect[];
  readonly effectsAt: EpochMs[];
  readonly edgesTaken: EdgeTaken[];
  readonly handedOut: Held[];
  readonly passes: PassPlayed[];
}

/** A pass as it was decided. */
export interface PassPlayed {
  readonly before: View;
  readonly after: View;
  readonly effects: readonly Effect[];
  readonly now: EpochMs;
}

export function stepIn(state: State, id: string | number): Step {
  const stepKeys = [...state.plan.steps.map(({ no }) => no), ...state.view.steps.keys()];
  const planned = stepKeys
    .map((stepKey) => planStepAt(state.plan, stepKey))
    .find((step) => step?.no === id || step?.id === id);
  if (!planned) throw new Error(`the workflow has no step ${id}`);
  return state.view.steps.get(planned.no) ?? untouchedStep(planned.no, planned.needs.length);
}

export function runPass(
  state: State,
  events: readonly RunEvent[],
  draw: number,
): readonly Answer[] {
  const items = events.map((event) => ({ event, draw }));
  const before: View = {
    ...state.view,
    attempts: attemptsAbout(state, events),
    outputs: outputsAbout(state, events),
  };
  const checked = checkPass({
    rules: state.rules,
    before,
    now: state.now,
    items,
    accepted: state.accepted,
  });
  const decision: Decision<(typeof items)[number]> = checked.decision;
  const { view: after, effects } = decision;
  state.passes.push({ before, after, effects, now: state.now });
  state.view = { ...decision.view, attempts: [], outputs: new Map() };
  state.effects.push(...decision.effects);
  state.effectsAt.push(...decision.effects.map(() => state.now));
  state.edgesTaken.push(...checked.edgesTaken);
  for (const effect of decision.effects) record(state, effect);
  return items.map((item) => {
    const answer = decision.answers.get(item);
    if (!answer) throw new Error(`no answer to ${item.event.kind}`);
    return answer;
  });
}

/** What a store finds by the tokens of the reports, and for a callback that did not come. */
function attemptsAbout(state: State, events: readonly RunEvent[]): EndedAttempt[] {
  return state.ended.filter((attempt) =>
    events.some(
      (event) =>
        ((event.kind === "report" || event.kind === "callback") &&
          event.step === attempt.step &&
          event.fence === attempt.fence) ||
        (event.kind === "undelivered" &&
          event.step === attempt.step &&
          event.fence - attempt.fence < UNDELIVERED_IN_A_ROW_MAX) ||
        (event.kind === "due-timer" &&
          event.on === "callback" &&
          event.step === attempt.step &&
          stepIn(state, event.step).fence === attempt.fence),
    ),
  );
}

/** Of the maps that the events may end, what their items have come to. */
function outputsAbout(state: State, events: readonly RunEvent[]): View["outputs"] {
  const maps = events.flatMap((event) =>
    event.kind === "due-timer" && event.on === "items" ? [event.step] : [],
  );
  return new Map(
    maps.map((map) => {
      const json = new Map<number, string>();
      for (const { no, forward } of state.view.steps.values())
        if (numberOf(no) === map && itemOf(no) > 0 && forward.kind === "SUCCEEDED")
          json.set(itemOf(no), `"of ${itemOf(no) - 1}"`);
      return [map, { kind: "all", json }];
    }),
  );
}

/** Keeps what a store would keep as rows beside the run and its steps. */
export function record(state: State, effect: Effect): void {
  if (effect.kind !== "task-ended" && effect.kind !== "attempt-settled") return;
  const view = evolve({ ...state.view, attempts: state.ended }, effect, () => NO_SHAPE);
  state.ended = [...view.attempts];
}

const NO_SHAPE = Object.freeze({ needs: 0, always: false, pivot: false, isMap: false });

export function tryClaim(state: State, step: Step, session: string): Held | undefined {
  const moving = movingSide(step);
  if (moving?.state.kind !== "READY") return undefined;
  const { side, state: ready } = moving;
  if (ready.avoid?.session === session && state.now < ready.avoid.until) return undefined;
  const same = (held: Held): boolean =>
    held.step === step.no && held.fence === ready.fence && held.attempt === ready.attempt;
  if (state.handedOut.some((held) => same(held) && held.task === ready.task))
    throw new Error(`fence ${ready.fence} of step ${step.no} is handed out twice`);
  const planned = planStepAt(state.plan, step.no);
  if (!planned) throw new Error(`the plan has no step ${step.no}`);
  const { attemptMs, heartbeatMs, cancelMs, stallMs } = planTaskOf(
    planned,
    step,
    ready.task,
  ).timeouts;
  const lease: Lease = {
    kind: "LEASED",
    task: ready.task,
    fence: ready.fence,
    attempt: ready.attempt,
    secret: `secret ${state.handedOut.length + 1}`,
    session,
    agentId: `agent of ${session}`,
    pollSeq: state.handedOut.length + 1,
    grantedAt: state.now,
    attemptBy: Math.min(state.now + attemptMs, ready.until ?? Number.MAX_SAFE_INTEGER),
    heartbeatMs,
    cancelMs,
    stallMs,
    progressAt: state.now,
    cancel: { kind: "none" },
    suspectAt: null,
    wakeAt: 0,
  };
  const stalledAt = stallMs === null ? Number.POSITIVE_INFINITY : state.now + stallMs;
  const never = Number.POSITIVE_INFINITY;
  const slowAt = lease.task === "perform" ? nextSlowCheck(lease, lease.grantedAt) : never;
  const wakeAt = leaseWakeAt(lease, { unnamedAt: never, stalledAt, slowAt });
  replaceLease(state, step, side, { ...lease, wakeAt }, "claim");
  const { task: kind, fence, attempt, secret, grantedAt } = lease;
  const held = { step: step.no, task: kind, fence, attempt, secret, session, grantedAt };
  state.handedOut.push(held);
  return held;
}

/** `moved`: with each heartbeat comes progress. */
export function sendHeartbeat(state: State, session: string, moved: boolean): void {
  state.lastHeartbeats.set(session, state.now);
  for (const step of state.view.steps.values()) {
    const moving = movingSide(step);
    if (moving?.state.kind !== "LEASED" || moving.state.session !== session) continue;
    const lease = moved ? { ...moving.state, progressAt: state.now } : moving.state;
    if (moved) replaceLease(state, step, moving.side, lease, null);
    if (lease.cancel.kind !== "asked") continue;
    const by = state.now + lease.cancelMs;
    const cancel = { kind: "received", cause: lease.cancel.cause, by } as const;
    replaceLease(state, step, moving.side, { ...lease, cancel, wakeAt: by }, "heartbeat");
  }
}

function replaceLease(
  state: State,
  step: Step,
  side: "forward" | "undo",
  lease: Lease,
  on: "claim" | "heartbeat" | null,
): void {
  const after: Step = { ...step, [side]: lease };
  if (on !== null) state.edgesTaken.push(edgeOfStep(side, step[side].kind, on, "LEASED"));
  state.view = { ...state.view, steps: new Map(state.view.steps).set(step.no, after) };
  assertView(state.plan, state.view);
}

export function timerEventOf(
  state: State,
  id: string | number,
  facts: TimerFacts,
): RunEvent | null {
  const step = stepIn(state, id);
  const moving = movingSide(step)?.state;
  switch (moving?.kind) {
    case "LEASED":
      return {
        kind: "lease-timer",
        step: step.no,
        fence: moving.fence,
        lastHeartbeatAt: state.lastHeartbeats.get(moving.session) ?? null,
        watchingSince: facts.watchingSince ?? 0,
        typical: facts.typical ?? null,
      };
    case "READY":
      return {
        kind: "ready-timer",
        step: step.no,
        fence: moving.fence,
        polled: facts.polled ?? false,
        asked: facts.asked ?? false,
        ...(facts.agentVersion === undefined ? {} : { agentVersion: facts.agentVersion }),
      };
    case "BACKOFF":
      return { kind: "due-timer", step: step.no, on: "backoff" };
    case "WAITING":
      return { kind: "due-timer", step: step.no, on: moving.on };
    default:
      return null;
  }
}

export function nextTimer(state: State): { at: EpochMs; step: number | null } | null {
  const timers: { at: EpochMs; step: number | null }[] = [];
  const runAt = runWakeAt(state.view.run);
  if (runAt !== null) timers.push({ at: runAt, step: null });
  for (const step of state.view.steps.values()) {
    const moving = movingSide(step);
    if (!moving || moving.state.kind === "HELD") continue;
    timers.push({ at: moving.state.wakeAt, step: step.no });
    // The silence of its session is watched beside its own times; what knows that it should
    // stop is waited for until its grace is over.
    if (moving.state.kind === "LEASED" && moving.state.cancel.kind !== "received") {
      const { session, grantedAt, heartbeatMs } = moving.state;
      const silentSince = Math.max(grantedAt, state.lastHeartbeats.get(session) ?? 0);
      timers.push({ at: silentSince + heartbeatMs, step: step.no });
    }
  }
  return timers.sort((a, b) => a.at - b.at)[0] ?? null;
}

/** Messages of other runs, in rows that no pass has applied yet. */
export function messagesEvent(state: State, messages: readonly Message[]): RunEvent {
  const first = state.messages + 1;
  state.messages += messages.length;
  const rows = messages.map((message, index) => {
    return { no: first + index, from: "another run", message };
  });
  state.view = { ...state.view, messages: [...state.view.messages, ...rows] };
  return { kind: "messages" };
}
