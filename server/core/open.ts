// Opens a step whose needs have all ended: it is skipped, or it begins. The steps that it leads to
// are opened here too, so one success can open, skip and open again in one pass.
//
//   skipped    every need was skipped, `run_if` asks for more, or `when` is false
//   begins     a task becomes ready, or a child run begins; a timer, a signal or an approval is
//              waited for; the items of a map begin when the counters advance the map (map.ts)
//   ESCALATED  an expression failed, which no retry can change

import type { NeedEnd } from "./model/effect.ts";
import type { StepFacts } from "./model/facts.ts";
import type { ResultRef, RunState } from "./model/model.ts";
import type { Payload } from "./model/payload.ts";
import { addFacts, emit, escalate, factsOf, type Pass, planStep, stepOf } from "./pass.ts";
import type { PlanStep } from "./plan/plan.ts";
import { afterSettling } from "./recovery/unknown-outcome.ts";

/**
 * Begins a run that was PENDING. Its time counts from now, and not from its planned start. A child
 * may not run longer than its parent.
 */
export function begin(pass: Pass): void {
  const { parent } = pass.view.run;
  const until = parent?.until ?? Number.POSITIVE_INFINITY;
  const deadline = Math.min(pass.time.now + pass.plan.timeoutMs, until);
  emit(pass, { kind: "run-moved", by: "start", state: { kind: "RUNNING", deadline } });
  openRoots(pass);
}

/** Opens the steps without needs, or whose needs are all reused, except `always` steps. */
export function openRoots(pass: Pass): void {
  for (const { no, always } of pass.plan.steps) {
    const { forward } = stepOf(pass, no);
    if (forward.kind === "BLOCKED" && forward.waitingFor === 0 && !always) open(pass, no);
  }
}

/** The step has succeeded: opens the steps that waited for it, unless the run stops. */
export function succeed(
  pass: Pass,
  no: number,
  result: ResultRef | null,
  output: Payload | null,
): void {
  emit(pass, { kind: "succeeded", step: no, result });
  passOn(pass, no, "ok", { status: "SUCCEEDED", output, error: null });
}

export function skip(pass: Pass, no: number): void {
  emit(pass, { kind: "skipped", step: no });
  passOn(pass, no, "skipped", { status: "SKIPPED", output: null, error: null });
}

/** The step has failed, and the run continues with a warning. */
export function continueAfter(pass: Pass, no: number, error: StepFacts["error"]): void {
  emit(pass, { kind: "warned", step: no });
  passOn(pass, no, "failed", { status: "FAILED", output: null, error });
}

/** A person leaves the step without an answer. `always` steps behind it run all the same. */
export function leaveAsIs(pass: Pass, no: number): void {
  emit(pass, { kind: "cancelled", step: no });
  passOn(pass, no, "failed", { status: "CANCELLED", output: null, error: null });
}

function passOn(pass: Pass, no: number, how: NeedEnd, facts: StepFacts): void {
  addFacts(pass, no, facts);
  if (!startsForward(pass.view.run.state)) return;
  for (const successor of planStep(pass, no).successors) {
    emit(pass, { kind: "need-ended", step: successor, how });
    const { forward } = stepOf(pass, successor);
    if (forward.kind === "BLOCKED" && forward.waitingFor === 0) open(pass, successor);
  }
}

/**
 * Whether the run begins forward steps. A paused run with a stop reason does not, as it will not
 * once it is resumed.
 */
export function startsForward(state: RunState): boolean {
  if (state.kind === "PAUSED") return state.stopReason === null;
  return state.kind === "RUNNING" || state.kind === "FINISHING";
}

/** Opens a step of which all needs have ended, or which has none. */
export function open(pass: Pass, no: number): void {
  const plan = planStep(pass, no);
  if (missesNeeds(pass, plan)) {
    skip(pass, no);
    return;
  }
  if (plan.when !== null) {
    const runs = pass.evaluator.condition(no, factsOf(pass));
    if (runs.kind === "failed") {
      expressionFailed(pass, no, `"when" of "${plan.id}" failed: ${runs.message}`);
      return;
    }
    if (!runs.value) {
      skip(pass, no);
      return;
    }
  }
  beginStep(pass, plan);
}

function missesNeeds(pass: Pass, plan: PlanStep): boolean {
  const { forward } = stepOf(pass, plan.no);
  if (forward.kind !== "BLOCKED" || plan.needs.length === 0) return false;
  if (forward.skipped === plan.needs.length) return true;
  if (plan.runIf === "all_ok") return forward.ok < plan.needs.length;
  return plan.runIf === "any_ok" && forward.ok === 0;
}

function beginStep(pass: Pass, plan: PlanStep): void {
  const { now } = pass.time;
  const { no, work } = plan;
  switch (work.kind) {
    case "task":
    case "run":
      beginStrategy(pass, no, 0);
      return;
    case "wait": {
      const evaluated =
        work.forMs !== null
          ? ({ kind: "value", value: now + work.forMs } as const)
          : pass.evaluator.time(no, factsOf(pass));
      if (evaluated.kind === "failed")
        expressionFailed(pass, no, `"until" of "${plan.id}" failed: ${evaluated.message}`);
      else
        emit(pass, {
          kind: "began-waiting",
          step: no,
          on: "timer",
          at: now,
          wakeAt: evaluated.value,
        });
      return;
    }
    case "signal": {
      const wakeAt = now + work.withinMs;
      emit(pass, { kind: "began-waiting", step: no, on: "signal", at: now, wakeAt });
      takeSignal(pass, no, work.name);
      return;
    }
    case "approval": {
      const wakeAt = now + work.withinMs;
      emit(pass, { kind: "began-waiting", step: no, on: "approval", at: now, wakeAt });
      return;
    }
    case "map": {
      const count = pass.evaluator.itemCount(no, factsOf(pass));
      if (count.kind === "failed")
        expressionFailed(pass, no, `"over" of "${plan.id}" failed: ${count.message}`);
      else emit(pass, { kind: "map-started", step: no, total: count.value });
    }
  }
}

/** Makes the task of a strategy ready, unless its input or its queue cannot be evaluated. */
export function beginStrategy(pass: Pass, no: number, planned: number): void {
  if (pass.view.facts) {
    const input = pass.evaluator.input(no, planned, pass.view.facts);
    if (input.kind === "failed") {
      const { id } = planStep(pass, no);
      expressionFailed(pass, no, `the input of "${id}" failed: ${input.message}`);
      return;
    }
    const queue = pass.evaluator.queueProblem(no, pass.view.facts);
    if (queue !== null) {
      expressionFailed(pass, no, `a queue of "${planStep(pass, no).id}" failed: ${queue}`);
      return;
    }
  }
  afterSettling(pass, no, "perform");
}

/** The oldest signal of the name that no step took ends the step that waits for it. */
export function takeSignal(pass: Pass, no: number, name: string): void {
  const signal = pass.view.signals.find((one) => !one.taken && one.name === name);
  if (!signal) return;
  emit(pass, { kind: "signal-taken", step: no, seq: signal.seq });
  const result = recordAnswer(pass, no, signal.seq, `signal ${signal.id}`, signal.payload);
  succeed(pass, no, result, signal.payload);
}

/** A failed expression is never transient: it fails again with every try. */
function expressionFailed(pass: Pass, no: number, message: string): void {
  escalate(pass, no, "expression", message, "drover.expression");
}

/**
 * Stores an output that no agent reported: of a signal, an approval, a map, or a person's answer.
 */
export function recordAnswer(
  pass: Pass,
  no: number,
  n: number,
  by: string,
  output: Payload | null,
): ResultRef {
  const { now } = pass.time;
  const step = stepOf(pass, no);
  const { fence, attempt } = step;
  emit(pass, {
    kind: "attempt-stored",
    attempt: {
      step: no,
      kind: "answer",
      fence,
      n,
      attempt,
      agentId: by,
      session: null,
      secret: null,
      startedAt: step.firstReadyAt ?? now,
      endedAt: now,
      outcome: { kind: "success", output },
      digest: null,
    },
  });
  return { fence, kind: "answer", n };
}
