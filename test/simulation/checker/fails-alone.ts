// A run whose passes always throw is alone with that: G20.

import { type Facts, stepName } from "./facts.ts";
import { latestAct, outagesOf } from "./lateness.ts";
import { dueFrom, isOfLane } from "./supervision.ts";
import type { Finding } from "./violation.ts";

/**
 * G20. While every pass of one run throws, each intervention in another run comes no more than
 * `besideMs` after the latest moment that G8 allows. That all of them end says G10.
 */
export function* failsAlone(facts: Facts): Iterable<Finding> {
  const { bounds, faults, failing } = facts;
  const begun = faults.find(({ fault }) => fault.kind === "run");
  if (!begun) return;
  const healedAt = faults.find(({ fault }) => fault.kind === "heal")?.at ?? facts.history.final.at;
  const outages = outagesOf(facts);
  for (const run of facts.runs.values()) {
    const { runId } = run.run;
    if (failing.has(runId)) continue;
    for (const act of run.run.interventions) {
      if (isOfLane(act)) continue;
      const dueAt = dueFrom(run, act);
      const lateMs = act.actedAt - latestAct(outages, bounds, dueAt);
      if (dueAt < begun.at || dueAt > healedAt || lateMs <= bounds.besideMs) continue;
      const where = act.step === null ? `run ${runId}` : stepName(run, act.step);
      const text = `the watch "${act.rule}" of ${where} acted ${lateMs} ms too late, while every pass of run ${begun.target} failed`;
      yield { runId, text };
    }
  }
}
