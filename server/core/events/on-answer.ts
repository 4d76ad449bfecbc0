// Handles a person's answer to an escalation (ResolveEscalation): records the answer, its author
// and the reason, and continues the run.

import { beginWave, isAtGate } from "../map.ts";
import type { Answer, RunEvent } from "../model/event.ts";
import { itemOf } from "../model/step-key.ts";
import { currentStrategy, nextStrategyIndex, strategyToUndo } from "../model/strategy.ts";
import { beginStrategy, open, recordAnswer, skip, succeed } from "../open.ts";
import {
  addFacts,
  emit,
  inWords,
  makeReady,
  type Pass,
  planStep,
  setEffectStatus,
  stepOf,
} from "../pass.ts";
import { answersNow, askedWork } from "../recovery/answers.ts";
import { ANSWERED, PERMANENT, recordFailure, stopRun } from "../recovery/fail-step.ts";
import { beginNext, strategyUndone, undoStrategy } from "../recovery/leave-strategy.ts";
import { effectUndone, finishAsIs, resumeStopped } from "../recovery/saga.ts";
import { afterSettling } from "../recovery/unknown-outcome.ts";

type Answered = Extract<RunEvent, { kind: "answer" }>;

const DONE: Answer = { kind: "done" };

export function onAnswer(pass: Pass, event: Answered): Answer {
  const asked = pass.view.escalations.find(({ n }) => n === event.n);
  if (!asked) return { kind: "no-such-question" };
  const { state, pivoted } = pass.view.run;
  const refused = (why: string): Answer => ({ kind: "refused", run: state.kind, why });
  if (asked.closedBy !== null) return refused(`the escalation is closed: ${asked.closedBy}`);
  const work = askedWork(planStep(pass, asked.step), stepOf(pass, asked.step));
  const allowed = answersNow(asked.reason, { state, pivoted, work });
  if (allowed.length === 0) return refused("the run has ended");
  const { answer, by, verified = false, why } = event;
  if (!allowed.includes(answer)) {
    const others = asked.reason === "undo-failed" && answer === "fail";
    return refused(
      others
        ? "other undos of the run still move: answer so once they have ended"
        : `"${answer}" is no answer to it now: ${allowed.join(", ")} are`,
    );
  }
  if (answer === "retry-changed" && event.payload === null)
    return refused('"retry-changed" needs the whole new input as payload');
  const { step, n } = asked;
  emit(pass, { kind: "escalation-answered", step, n, answer, by, verified, why });
  if (answer === "acknowledge") return DONE;
  resumeStopped(pass);
  if (asked.reason === "undo-failed") answerUndo(pass, asked.step, event);
  else answerForward(pass, asked.step, event);
  return DONE;
}

/**
 * The timer of an open escalation is due: a reminder, or after the deadline the answer of the
 * definition, as if a person had given it. An answer that the state of the run does not allow is
 * tried again with each reminder.
 */
export function onEscalationTimer(
  pass: Pass,
  { n }: Extract<RunEvent, { kind: "escalation-timer" }>,
): Answer {
  const { now } = pass.time;
  const asked = pass.view.escalations.find((one) => one.n === n);
  if (!asked || asked.closedBy !== null || asked.wakeAt === null || now < asked.wakeAt) return DONE;
  const { deadlineAt, claimed } = asked;
  const { remindMs, deadline } = planStep(pass, asked.step).escalation;
  const isOver = deadlineAt !== null && now >= deadlineAt;
  if (isOver && deadline) {
    const why = `no person answered within ${inWords(deadline.afterMs)}`;
    const given = { n, answer: deadline.answer, by: "deadline", why, payload: null };
    if (onAnswer(pass, { kind: "answer", ...given }).kind === "done") return DONE;
  }
  const next = now + remindMs;
  const wakeAt = isOver ? next : Math.min(next, deadlineAt ?? Number.POSITIVE_INFINITY);
  emit(pass, { kind: "escalation-reminded", n, wakeAt, tell: !claimed });
  return DONE;
}

function answerForward(pass: Pass, no: number, event: Answered): void {
  const { by, payload } = event;
  switch (event.answer) {
    case "retry":
      emit(pass, { kind: "retries-renewed", step: no, side: "forward" });
      beginAgain(pass, no);
      return;
    case "retry-changed": {
      const step = stepOf(pass, no);
      const planned = step.strategies[currentStrategy(step)]?.planned ?? 0;
      const index = nextStrategyIndex(step);
      emit(pass, { kind: "strategy-started", step: no, index, planned, input: payload });
      emit(pass, { kind: "retries-renewed", step: no, side: "forward" });
      if (planStep(pass, no).compensate && strategyToUndo(step) !== null)
        undoStrategy(pass, no, { ...PERMANENT, code: ANSWERED, message: answeredBy(event) });
      else afterSettling(pass, no, "perform");
      return;
    }
    case "succeed":
      emit(pass, { kind: "outcome-unknown", step: no, unknownOutcome: null });
      setEffectStatus(pass, no, "MADE");
      if (isAtGate(pass, no)) {
        beginWave(pass, no);
        return;
      }
      succeed(pass, no, recordAnswer(pass, no, event.n, by, payload), payload);
      return;
    case "skip":
      skip(pass, no);
      return;
    default:
      declareFailed(pass, no, event);
  }
}

function beginAgain(pass: Pass, no: number): void {
  const step = stepOf(pass, no);
  if (step.fence === 0 && step.strategies.length === 1) {
    // It never ran: what prevented it, such as a `when` that failed, is evaluated again.
    open(pass, no);
    return;
  }
  const strategy = step.strategies[currentStrategy(step)];
  if (strategy?.effectStatus === "UNDONE") {
    // The remote service knows the key as done and undone: the next try has another key, and the
    // planned input.
    beginNext(pass, no, strategy.planned);
  } else if (strategy?.changed) afterSettling(pass, no, "perform");
  else beginStrategy(pass, no, strategy?.planned ?? 0);
}

function answeredBy({ by, why }: Answered): string {
  return why === "" ? `${by} decided so` : `${by} decided so: ${why}`;
}

/** The person declares that the step failed: its effects are undone, or left as they are. */
function declareFailed(pass: Pass, no: number, event: Answered): void {
  const { answer } = event;
  const message = answeredBy(event);
  const code = ANSWERED;
  const { id } = planStep(pass, no);
  const { state } = pass.view.run;
  const ofMap = itemOf(no) > 0 && answer === "fail";
  recordFailure(pass, stepOf(pass, no), code, message);
  if (state.kind === "STOPPING") {
    // The escalation asked whether the effect took place. The person answers that it did not.
    emit(pass, { kind: "outcome-unknown", step: no, unknownOutcome: null });
    setEffectStatus(pass, no, "NONE");
    emit(pass, { kind: "failed", step: no, id, code, message, effect: "none" });
    return;
  }
  emit(pass, { kind: "failed", step: no, id, code, message, effect: ofMap ? "none" : "stop" });
  if (ofMap) return;
  addFacts(pass, no, { status: "FAILED", output: null, error: { code, message } });
  stopRun(pass, { reason: "STEP_FAILED", undo: answer === "compensate" });
}

function answerUndo(pass: Pass, no: number, event: Answered): void {
  const { answer } = event;
  const ofStrategy = stepOf(pass, no).forward.kind === "UNDOING";
  if (answer === "retry") {
    emit(pass, { kind: "retries-renewed", step: no, side: "undo" });
    makeReady(pass, no, "compensate");
  } else if (ofStrategy && answer === "succeed") {
    strategyUndone(pass, no);
  } else if (ofStrategy) {
    emit(pass, { kind: "strategy-undo-ended", step: no, attempt: 0 });
    declareFailed(pass, no, event);
  } else if (answer === "succeed") {
    effectUndone(pass, no);
  } else {
    finishAsIs(pass, "answered: leave things as they are", "FAILED");
  }
}
