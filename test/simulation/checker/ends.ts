// Runs that triggers start at the end of others: parts of G1, G2 and G5.
import { keyOfEnd } from "../../../server/core/definition/trigger.ts";
import { setsOff } from "../final-rows.ts";
import { isEndState } from "../history-rows.ts";
import { lostOf } from "./after-a-loss.ts";
import { callsTo, type Facts } from "./facts.ts";
import type { Finding } from "./violation.ts";

const BY_AN_END = /^trigger:([^:]+):([^:]+)$/;

/** The run whose end has started it, and by which trigger; null: none has. */
export function setOffBy(
  key: string | null,
): { readonly name: string; readonly of: string } | null {
  const [, name, of] = BY_AN_END.exec(key ?? "") ?? [];
  return name === undefined || of === undefined ? null : { name, of };
}

/**
 * A part of G1. Each end that a trigger waits for has started one run, none was refused, and each
 * run so started follows a stored end; no call of an unauthenticated caller is executed.
 */
export function* endsSetOff(facts: Facts): Iterable<Finding> {
  const { triggers, refusals, drained } = facts.history.final;
  const lost = lostOf(facts);
  const all = [...facts.runs.values()].map(({ run, plan }) => ({
    ...run,
    workflow: plan.workflow,
  }));
  for (const text of refusals) yield { runId: null, text: `was refused: ${text}` };
  for (const run of all) {
    if (!drained || !isEndState(run.state)) continue;
    for (const one of triggers.filter((trigger) => setsOff(trigger, run.namespace, run))) {
      const key = keyOfEnd(one.name, run.runId);
      const count = all.filter((other) => other.key === key && other.namespace === run.namespace);
      if (count.length === 1) continue;
      // The shard of the run that was set off has lost it, and that of the end has lost nothing.
      if (count.length === 0 && lost?.keys?.includes(key)) continue;
      const text = `the end of run ${run.runId} has set off "${one.name}" ${count.length} times`;
      yield { runId: run.runId, text };
    }
  }
  for (const { request, answers } of callsTo(facts, "CallTrigger"))
    for (const { answer, at } of answers)
      if (request.forged && answer.kind === "scheduled")
        yield { runId: answer.runId, text: `an unsigned call was done at ${at}` };
  for (const { runId, key, namespace, createdAt } of all) {
    const by = setOffBy(key);
    if (!by) continue;
    const ended = all.find((run) => run.runId === by.of && run.namespace === namespace);
    const isMeant = ended && triggers.some((one) => setsOff(one, namespace, ended));
    const started = `run ${runId} was started by "${by.name}"`;
    if (!ended || !isMeant || ended.endedAt === null)
      yield { runId, text: `${started} after run ${by.of}, whose end it does not wait for` };
    else if (createdAt + facts.clockBackMs < ended.endedAt)
      yield { runId, text: `${started} at ${createdAt}, before run ${by.of} ended` };
  }
}
