// Handles due timers of steps that no agent holds: a backoff, a timer, a signal, an approval, a
// child or a callback that did not come. Handles the timer of the run itself: its start, or its
// deadline.

import { isChildWait } from "../child.ts";
import { runWakeAt } from "../evolve.ts";
import { itemsDue, pauseOver } from "../map.ts";
import type { EpochMs } from "../model/attempt.ts";
import type { Answer, RunEvent } from "../model/event.ts";
import type { Rule } from "../model/history.ts";
import type { Backoff, Step, Waiting, WaitingFor } from "../model/model.ts";
import { begin, skip, succeed } from "../open.ts";
import {
  emit,
  escalate,
  inShort,
  intervene,
  inWords,
  makeReady,
  type Pass,
  planStep,
  planTaskOf,
  stepOf,
  touchedSteps,
} from "../pass.ts";
import { fail, recordFailure } from "../recovery/fail-step.ts";
import { policyFor, recover } from "../recovery/recovery.ts";
import { stop } from "../recovery/saga.ts";
import { childLate } from "./on-child.ts";
import { approve } from "./on-signal.ts";
import { setbackOf } from "./on-task-end.ts";

const DONE: Answer = { kind: "done" };
/** The largest number that its database column holds. */
const INTERVENTION_N_MAX = 2_147_483_647;

export function onDueTime(pass: Pass, event: Extract<RunEvent, { kind: "due-timer" }>): Answer {
  const step = stepOf(pass, event.step);
  const due = dueOf(step);
  // The step may wait for something else by now, and the pass has loaded only what `event.on`
  // needs.
  const on = due?.kind === "WAITING" ? due.on : "backoff";
  if (!due || on !== event.on || pass.time.now < due.wakeAt) return DONE;
  if (due.kind === "BACKOFF") backoffOver(pass, step, due);
  else if (isChildWait(due.on)) childLate(pass, step, due.on, due.wakeAt);
  else waitingOver(pass, step, due.on, due.wakeAt);
  return DONE;
}

function dueOf({ forward, undo }: Step): Backoff | Waiting | null {
  if (forward.kind === "BACKOFF" || forward.kind === "WAITING") return forward;
  return undo.kind === "BACKOFF" || undo.kind === "WAITING" ? undo : null;
}

function backoffOver(pass: Pass, step: Step, { task, cause, wakeAt }: Backoff): void {
  const saw = {
    retry: `the backoff after attempt ${step.attempt} is over`,
    again: "the agent asked to be asked again now",
    settle: "the lost attempt can act no more",
  }[cause];
  const attempt = `ready for attempt ${step.attempt + 1}`;
  interveneDue(pass, step, wakeAt, {
    rule: cause === "settle" ? "settle" : "backoff",
    saw,
    did: task === "verify" ? "ready for a verify" : attempt,
  });
  makeReady(pass, step.no, task);
}

/** A late failure can put one fence into backoff twice: the due time distinguishes the two. */
function interveneDue(
  pass: Pass,
  step: Step,
  dueAt: number,
  about: { rule: Rule; saw: string; did: string },
): void {
  const n = Math.min(dueAt - (step.firstReadyAt ?? 0), INTERVENTION_N_MAX);
  intervene(pass, about.rule, { step, fence: step.fence, n, dueAt, ...about });
}

/** Waits that end at a due time. A wait for a child ends with the child. */
type Timed = Exclude<WaitingFor, "child" | "child-end">;

function waitingOver(pass: Pass, step: Step, on: Timed, wakeAt: EpochMs): void {
  const { no } = step;
  if (on === "items") {
    itemsDue(pass, no);
    return;
  }
  const saw = waitedFor(pass, step, on);
  if (on === "timer") {
    if (planStep(pass, no).work.kind === "map") pauseOver(pass, no);
    else succeed(pass, no, null, null);
  } else if (on === "callback") {
    callbackOver(pass, step);
  } else {
    expire(pass, step, saw);
  }
  interveneDue(pass, step, wakeAt, { rule: on, saw, did: inShort(pass, no) });
}

function waitedFor(pass: Pass, step: Step, on: Exclude<Timed, "items">): string {
  const { id, work } = planStep(pass, step.no);
  switch (on) {
    case "timer":
      return work.kind === "map"
        ? `the pause of "${id}" between two waves is over`
        : `the time that "${id}" waits for has come`;
    case "callback":
      return `the callback of attempt ${step.attempt + 1} of "${id}" did not come`;
    case "signal":
      return `no signal "${work.kind === "signal" ? work.name : ""}" came for "${id}"`;
    case "approval":
      return `"${id}" was not approved in time`;
  }
}

function expire(pass: Pass, step: Step, saw: string): void {
  const { no } = step;
  const { work } = planStep(pass, no);
  if (work.kind !== "signal" && work.kind !== "approval") return;
  switch (work.onExpiry) {
    case "escalate":
      escalate(pass, no, "expired", saw);
      return;
    case "skip":
      skip(pass, no);
      return;
    case "approve":
      approve(pass, no, [], null);
      return;
    default: {
      const code = work.onExpiry === "reject" ? "drover.rejected" : "drover.expired";
      recordFailure(pass, step, code, saw);
      fail(pass, no, { code, message: saw });
    }
  }
}

/** The deferred outcome did not come, so the outcome is unknown. */
function callbackOver(pass: Pass, step: Step): void {
  const { no, fence } = step;
  const plan = planStep(pass, no);
  const message = `no callback within ${inWords(plan.timeouts.callbackMs)}`;
  const outcome = { kind: "unknown", code: "drover.callback", message } as const;
  const ended = pass.view.attempts.find(
    (attempt) => attempt.step === no && attempt.fence === fence && attempt.kind === "perform",
  );
  const { retry } = planTaskOf(plan, step, "perform");
  if (ended)
    emit(pass, {
      kind: "attempt-settled",
      attempt: { ...ended, outcome, endedAt: pass.time.now },
      was: ended.counted,
      counted: { policy: policyFor(retry, outcome.code) },
    });
  const setback = setbackOf(outcome, null);
  if (setback) recover(pass, no, "perform", setback);
}

/** The timer of the run itself: its start, its deadline, or the end of its settling. */
export function onRunTimer(pass: Pass): Answer {
  const { state, pivoted } = pass.view.run;
  const { now } = pass.time;
  const wakeAt = runWakeAt(pass.view.run);
  if (wakeAt === null || now < wakeAt) return DONE;
  if (state.kind === "PENDING") {
    if (state.on === "start") startComes(pass, state.until);
    else permitTooLate(pass, state.until);
    return DONE;
  }
  if (state.kind !== "RUNNING") {
    intervene(pass, "settle", {
      step: null,
      fence: 0,
      dueAt: wakeAt,
      saw: "no lost attempt can act any more",
      did: "began to undo what was done",
    });
    return DONE;
  }
  const saw = `the run is not done within ${inWords(pass.plan.timeoutMs)}`;
  intervene(pass, "deadline", {
    step: null,
    fence: 0,
    dueAt: wakeAt,
    saw,
    did: pivoted
      ? "let it go on: its pivot has succeeded, and from there on it goes only forward"
      : "stopped it: what is in progress is cancelled, what was done is undone",
  });
  if (pivoted) goPastDeadline(pass);
  else stop(pass, { reason: "TIMED_OUT", undo: true });
  return DONE;
}

function startComes(pass: Pass, dueAt: EpochMs): void {
  const { keyed } = pass.view.run;
  const saw = "the start time of the run has come";
  const did = keyed ? "asked for a permit of its concurrency key" : "started it";
  intervene(pass, "start", { step: null, fence: 0, dueAt, saw, did });
  if (!keyed) {
    begin(pass);
    return;
  }
  const until = pass.time.now + pass.plan.timeoutMs;
  emit(pass, { kind: "run-moved", by: "start", state: { kind: "PENDING", on: "permit", until } });
}

/** Its time counts from when it could have started, so waiting for a permit counts. */
function permitTooLate(pass: Pass, dueAt: EpochMs): void {
  const saw = `no permit of its concurrency key came free within ${inWords(pass.plan.timeoutMs)}`;
  const did = "ended it before it started";
  intervene(pass, "deadline", { step: null, fence: 0, dueAt, saw, did });
  const state = { kind: "FAILED", reason: "NEVER_STARTED" } as const;
  emit(pass, { kind: "run-moved", by: "deadline", state });
}

/** The deadline no longer bounds the tasks that are ready. */
function goPastDeadline(pass: Pass): void {
  emit(pass, { kind: "run-moved", by: "deadline", state: { kind: "RUNNING", deadline: null } });
  for (const { no, forward } of touchedSteps(pass))
    if (forward.kind === "READY") makeReady(pass, no, forward.task);
}
