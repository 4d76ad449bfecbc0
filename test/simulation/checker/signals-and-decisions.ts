// What people and the outside world sent to a run is stored, and only that: a part of G1.
import { planStepAt } from "../../../server/core/plan/plan.ts";
import type { FinalRun } from "../history-rows.ts";
import { callsTo, type Facts, fateOf, type RunFacts, stepName } from "./facts.ts";
import type { Finding } from "./violation.ts";

/** Every acknowledged signal, decision and answer to an escalation has its row. */
export function* lostSignalsAndDecisions(facts: Facts): Iterable<Finding> {
  for (const call of callsTo(facts, "Signal")) {
    const { runId, signalId, name } = call.request;
    if (fateOf(call).kind !== "accepted") continue;
    const isStored = facts.runs.get(runId)?.run.signals.some(({ id }) => id === signalId);
    if (!isStored)
      yield {
        runId,
        text: `signal "${signalId}" (${name}) to run ${runId} was acknowledged and is lost`,
      };
  }
  for (const call of callsTo(facts, "Decide")) {
    const { runId, stepId, approver, approved } = call.request;
    const run = facts.runs.get(runId);
    if (fateOf(call).kind !== "accepted") continue;
    const isStored = run?.run.decisions.some(
      (row) =>
        idOf(run, row.step) === stepId && row.approver === approver && row.approved === approved,
    );
    if (!isStored)
      yield {
        runId,
        text: `the decision of ${approver} on "${stepId}" of run ${runId} was acknowledged and is lost`,
      };
  }
  for (const call of callsTo(facts, "ResolveEscalation")) {
    const { runId, n, answer, by } = call.request;
    if (fateOf(call).kind !== "accepted") continue;
    const row = facts.runs.get(runId)?.run.escalations.find((one) => one.n === n);
    if (row?.answer?.answer === answer && row.answer.by === by) continue;
    const stored = row?.answer ? `"${row.answer.answer}" by ${row.answer.by}` : "nothing";
    const text = `the answer "${answer}" of ${by} to escalation ${n} of run ${runId} was acknowledged, and stored is ${stored}`;
    yield { runId, text };
  }
}

/** Each signal, decision and answer that is stored was sent by a call, or came by a deadline. */
export function* unsentSignalsAndDecisions(facts: Facts): Iterable<Finding> {
  const sent = new Set([
    ...callsTo(facts, "Signal").map(
      ({ request: { runId, signalId } }) => `signal ${runId} ${signalId}`,
    ),
    ...callsTo(facts, "Decide").map(
      ({ request: { runId, stepId, approver, approved } }) =>
        `decision ${runId} ${stepId} ${approver} ${approved}`,
    ),
    ...callsTo(facts, "ResolveEscalation").map(
      ({ request: { runId, n, answer, by } }) => `answer ${runId} ${n} ${answer} ${by}`,
    ),
  ]);
  for (const run of facts.runs.values()) {
    const { runId, signals, decisions, escalations } = run.run;
    for (const { id } of signals)
      if (!sent.has(`signal ${runId} ${id}`))
        yield { runId, text: `signal "${id}" is stored for run ${runId}; no call sent it` };
    for (const { step, approver, approved } of decisions)
      if (!sent.has(`decision ${runId} ${idOf(run, step)} ${approver} ${approved}`))
        yield {
          runId,
          text: `a decision of ${approver} is stored for ${stepName(run, step)}; no call sent it`,
        };
    for (const escalation of escalations) {
      const { n, answer } = escalation;
      if (!answer || sent.has(`answer ${runId} ${n} ${answer.answer} ${answer.by}`)) continue;
      if (answer.by === "deadline" && deadlineAnswers(run, escalation)) continue;
      yield {
        runId,
        text: `escalation ${n} of run ${runId} is stored as answered "${answer.answer}" by ${answer.by}; no person did`,
      };
    }
  }
}

/** Its deadline had passed, and the answer is the one of the definition. */
function deadlineAnswers({ plan }: RunFacts, escalation: FinalRun["escalations"][number]): boolean {
  const { step, answer, deadlineAt, closedAt } = escalation;
  const configured = planStepAt(plan, step)?.escalation.deadline?.answer;
  const hasPassed = deadlineAt !== null && closedAt !== null && closedAt >= deadlineAt;
  return hasPassed && configured === answer?.answer;
}

function idOf({ plan }: RunFacts, step: number): string {
  return plan.steps[step]?.id ?? String(step);
}
