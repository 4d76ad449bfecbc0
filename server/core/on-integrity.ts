// The rows of a run do not fit each other: they were put right before the pass (examine.ts), and
// what was under way and is lost begins again here, by the rules that everything begins by. What an
// agent may have in its hands counts as lost there: it is verified, retried or asked about.

import { afterSettling, inDoubt } from "./doubt.ts";
import type { Answer, RunEvent } from "./event.ts";
import { currentMark } from "./evolve.ts";
import type { Finding, Lost } from "./examine.ts";
import type { OpenEscalation } from "./history.ts";
import { isEnded, type Step } from "./model.ts";
import { open } from "./open.ts";
import {
  emit,
  escalate,
  inShort,
  intervene,
  makeReady,
  markEffect,
  type Pass,
  planStep,
  planTaskOf,
  stepOf,
} from "./pass.ts";
import { thaw } from "./saga.ts";
import { isUnsettled } from "./strategy.ts";

/** Second of the day and more: tells apart what is found at different times about one fence. */
const NUMBER_MS = 1_000;

export function onIntegrity(pass: Pass, event: Extract<RunEvent, { kind: "integrity" }>): Answer {
  const { findings, lost, unasked, asked, unopened, unwatched } = event.found;
  if (findings.length === 0) return { kind: "done" };
  if (!isEnded(pass.view.run.state)) {
    emit(pass, { kind: "mended" });
    for (const no of asked) emit(pass, { kind: "escalation-closed", step: no, by: "integrity" });
    for (const one of unwatched) remindLater(pass, one);
    for (const one of lost) beginAgain(pass, one);
    for (const no of unasked) askAgain(pass, no);
    for (const no of unopened) if (stepOf(pass, no).forward.kind === "BLOCKED") open(pass, no);
    // Nothing of it waits for a person: its counters say what it does now.
    if (pass.view.run.asking === 0) thaw(pass);
  }
  for (const [no, about] of Map.groupBy(findings, ({ step }) => step)) tell(pass, no, about);
  return { kind: "done" };
}

function beginAgain(pass: Pass, { step: no, task, out }: Lost): void {
  if (out && task !== "verify") {
    const { settleMs } = planTaskOf(planStep(pass, no), stepOf(pass, no), task).timeouts;
    emit(pass, { kind: "hand-out-lost", step: no });
    emit(pass, { kind: "settling", step: no, until: pass.occasion.now + settleMs });
    if (task === "perform") markEffect(pass, no, "UNSETTLED");
  }
  if (task === "compensate") {
    makeReady(pass, no, task);
    return;
  }
  const inQuestion =
    task === "perform" &&
    planStep(pass, no).effects !== "idempotent" &&
    isUnsettled(currentMark(stepOf(pass, no)));
  if (inQuestion)
    inDoubt(pass, no, {
      code: "drover.lost",
      message: "its rows were lost, and an agent may have had it",
      permanent: false,
      unknown: true,
      retryAfterMs: null,
      lostBy: null,
    });
  else afterSettling(pass, no, task);
}

function askAgain(pass: Pass, no: number): void {
  const isUndo = stepOf(pass, no).undo.kind === "FAILED";
  const { id } = planStep(pass, no);
  const reason = isUndo ? "undo-failed" : reasonOf(stepOf(pass, no));
  escalate(pass, no, reason, `"${id}" waits for a person, and its question was lost`);
}

/** Nobody is told again: the question was told when it was asked, and the repair is told now. */
function remindLater(pass: Pass, { n, step, deadlineAt }: OpenEscalation): void {
  const { remindMs } = planStep(pass, step).escalation;
  const wakeAt = Math.min(pass.occasion.now + remindMs, deadlineAt ?? Number.POSITIVE_INFINITY);
  emit(pass, { kind: "escalation-reminded", n, wakeAt, tell: false });
}

function reasonOf(step: Step): "unknown" | "step-failed" {
  return isUnsettled(currentMark(step)) ? "unknown" : "step-failed";
}

function tell(pass: Pass, no: number | null, about: readonly Finding[]): void {
  const { now } = pass.occasion;
  const step = no === null || isEnded(pass.view.run.state) ? null : stepOf(pass, no);
  const what = step ? inShort(pass, step.no) : `the run is ${pass.view.run.state.kind}`;
  intervene(pass, "integrity", {
    step,
    fence: step?.fence ?? 0,
    n: Math.floor(now / NUMBER_MS),
    dueAt: now,
    saw: about.map(({ saw }) => saw).join("; "),
    did: `put its rows right: ${what}. This is a defect of Drover: please report it`,
  });
}
