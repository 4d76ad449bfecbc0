// Handles signals by name, and the decisions of approvers. A signal that comes early is stored, and
// is taken by the first step that waits for its name. A signal that no step of the run takes is
// refused: one with a mistyped name would be stored for ever while its run waits.
import { requiredFields } from "../definition/required-fields.ts";
import type { Answer, RunEvent } from "../model/event.ts";
import { isEnded } from "../model/model.ts";
import type { Payload } from "../model/payload.ts";
import { recordAnswer, succeed, takeSignal } from "../open.ts";
import { emit, type Pass, planStep, stepOf, touchedSteps } from "../pass.ts";
import type { Plan, PlanWork } from "../plan/plan.ts";
import { fail, recordFailure } from "../recovery/fail-step.ts";

/** Most signals that a run stores. */
export const SIGNALS_MAX = 1_000;

const DONE: Answer = { kind: "done" };

export function onSignal(pass: Pass, event: Extract<RunEvent, { kind: "signal" }>): Answer {
  const { state } = pass.view.run;
  if (pass.view.signals.some(({ id }) => id === event.id)) return { kind: "repeated" };
  if (isEnded(state))
    return {
      kind: "refused",
      run: state.kind,
      why: "it has ended, and nothing waits for a signal",
    };
  const takes = signalNames(pass.plan);
  if (!takes.includes(event.name)) return { kind: "no-such-signal", name: event.name, takes };
  const seq = pass.view.signals.length + 1;
  if (seq > SIGNALS_MAX) return { kind: "full", limit: SIGNALS_MAX };
  const { id, name, payload } = event;
  emit(pass, { kind: "signal-stored", seq, id, name, payload });
  if (state.kind !== "RUNNING" && state.kind !== "PAUSED" && state.kind !== "FINISHING")
    return DONE;
  const waiting = touchedSteps(pass).find(({ no, forward }) => {
    const { work } = planStep(pass, no);
    return forward.kind === "WAITING" && work.kind === "signal" && work.name === name;
  });
  if (waiting) takeSignal(pass, waiting.no, name);
  return DONE;
}

/** The names of the signals that steps of the plan take, each once. No name is computed. */
export function signalNames({ steps }: Plan): readonly string[] {
  return [...new Set(steps.flatMap(({ work }) => (work.kind === "signal" ? [work.name] : [])))];
}

/** An approver approves or rejects. The first rejection decides; approvals are counted. */
export function onDecide(pass: Pass, event: Extract<RunEvent, { kind: "decide" }>): Answer {
  const { work, id } = pass.plan.steps[event.step] ?? {};
  if (work?.kind !== "approval") return { kind: "no-such-question" };
  const before = pass.view.decisions.find(
    ({ step, approver }) => step === event.step && approver === event.approver,
  );
  const refused = (refusal: Refusal): Answer => ({
    kind: "refused",
    run: pass.view.run.state.kind,
    ...refusal,
  });
  if (before)
    return before.approved === event.approved
      ? { kind: "repeated" }
      : refused({
          about: "approver",
          why: `"${event.approver}" has already ${before.approved ? "approved" : "rejected"} "${id}", and a decision does not change.`,
        });
  const { forward } = stepOf(pass, event.step);
  if (forward.kind !== "WAITING")
    return refused({ why: `"${id}" does not wait for approval: it is ${forward.kind}.` });
  const refusal = refusalOf(pass, work, event);
  if (refusal !== null) return refused(refusal);
  const { step, approver, verified = false, approved, comment, form } = event;
  const at = pass.time.now;
  emit(pass, { kind: "decision-stored", step, approver, verified, approved, comment, form, at });
  if (!approved) {
    const message = `${approver} rejected it${comment === "" ? "" : `: ${comment}`}`;
    recordFailure(pass, stepOf(pass, step), "drover.rejected", message);
    fail(pass, step, { code: "drover.rejected", message });
    return DONE;
  }
  const approvals = pass.view.decisions.filter((one) => one.step === step && one.approved);
  if (approvals.length >= work.need)
    approve(
      pass,
      step,
      approvals.map((one) => one.approver),
      form,
    );
  return DONE;
}

type Refusal = Pick<Extract<Answer, { kind: "refused" }>, "why" | "about">;

function refusalOf(
  pass: Pass,
  work: Extract<PlanWork, { kind: "approval" }>,
  event: Extract<RunEvent, { kind: "decide" }>,
): Refusal | null {
  const { approver, roles, requester, form } = event;
  const about = "approver";
  if (!isApprover(work, [approver, ...roles])) {
    const who = `"${approver}"${roles.length === 0 ? "" : ` (roles: ${roles.join(", ")})`}`;
    const why = `${who} is not an approver of this step. Approvers: ${work.approvers.join(", ")}.`;
    return { about, why };
  }
  if (work.notRequester && requester === approver) {
    const why = `"${approver}" has started the run, and its requester may not approve it.`;
    return { about, why };
  }
  if (!event.approved) return null;
  const problem = pass.evaluator.formProblem(event.step, form);
  if (problem === null) return null;
  const needs = `This approval needs a form: ${requiredFields(work.form) ?? problem}.`;
  const isWrong = `The form of this approval is wrong: ${problem}.`;
  return { about: "form", why: form === null ? needs : isWrong };
}

/** Whether one of these, the name or a role of a person, may decide. */
export function isApprover(
  { approvers }: { readonly approvers: readonly string[] },
  names: readonly string[],
): boolean {
  return approvers.length === 0 || names.some((name) => approvers.includes(name));
}

/** Ends the approval. Its output has the approvers, and the form of the last one. */
export function approve(
  pass: Pass,
  no: number,
  approvers: readonly string[],
  form: Payload | null,
): void {
  const filled = form?.kind === "json" ? form.json : "null";
  const json = `{"approved_by":${JSON.stringify(approvers)},"form":${filled}}`;
  const output: Payload = { kind: "json", json };
  const result = recordAnswer(pass, no, 0, approvers.join(", "), output);
  succeed(pass, no, result, output);
}
