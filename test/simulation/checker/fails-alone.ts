// A run whose passes always throw, or whose tasks cannot be made, is alone with that: G20.

import type { FaultRecord } from "../history.ts";
import { callsTo, type Facts, stepName } from "./facts.ts";
import { latestAct, outagesOf } from "./lateness.ts";
import { dueFrom, isOfLane } from "./supervision.ts";
import type { Finding } from "./violation.ts";

/** Hand-outs of one step that were never sent, since the store was away for a short time. */
const UNSENT_MAX = 5;
/** The shortest back-offs of a row from one failure to the next, in milliseconds. */
const RESTS_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000];
const FAILED = /^its handling has failed (\d+) times in a row/;

/**
 * G20. While every pass of one run throws, each intervention in another run comes no more than
 * `besideMs` after the latest time that G8 allows, its rows are tried no sooner than they have
 * rested, and no report about another run is refused as a defect. While the tasks of one run cannot
 * be made, those of others are handed out. G10 checks that all of them end.
 */
export function* failsAlone(facts: Facts): Iterable<Finding> {
  yield* actsInTime(facts);
  yield* isOpenMeanwhile(facts);
  yield* takesReportsOfOthers(facts);
  yield* handsOutOthers(facts);
}

function injectedOf({ faults }: Facts, did: "always-fails" | "cannot-be-made") {
  return faults.find(({ fault }) => fault.kind === "run" && fault.did === did);
}

function healedAt({ faults, history }: Facts): FaultRecord["at"] {
  return faults.find(({ fault }) => fault.kind === "heal")?.at ?? history.final.at;
}

function* actsInTime(facts: Facts): Iterable<Finding> {
  const { bounds, failing } = facts;
  const injected = injectedOf(facts, "always-fails");
  if (!injected) return;
  const until = healedAt(facts);
  const outages = outagesOf(facts);
  for (const run of facts.runs.values()) {
    const { runId } = run.run;
    if (failing.has(runId)) continue;
    for (const act of run.run.interventions) {
      if (isOfLane(act)) continue;
      const dueAt = dueFrom(run, act);
      const lateMs = act.actedAt - latestAct(outages, bounds, dueAt);
      if (dueAt < injected.at || dueAt > until || lateMs <= bounds.besideMs) continue;
      const where = act.step === null ? `run ${runId}` : stepName(run, act.step);
      const text = `the watch "${act.rule}" of ${where} acted ${lateMs} ms too late, while every pass of run ${injected.target} failed`;
      yield { runId, text };
    }
  }
}

/** A row that has failed so many times has rested so many times but one since the first failure. */
function* isOpenMeanwhile(facts: Facts): Iterable<Finding> {
  const injected = injectedOf(facts, "always-fails");
  const run = injected && facts.runs.get(injected.target);
  // The time from one failure to the next is not known where the clock was set.
  if (!injected || !run || facts.faults.some(({ fault }) => fault.kind === "clock")) return;
  const { runId, interventions } = run.run;
  for (const { rule, saw, actedAt } of interventions) {
    const failures = Number(FAILED.exec(saw)?.[1] ?? 0);
    if (rule !== "failing" || failures === 0) continue;
    const leastMs = RESTS_MS.slice(0, failures - 1).reduce((sum, ms) => sum + ms, 0);
    const tookMs = actedAt - injected.at;
    if (tookMs >= leastMs) continue;
    const text = `a row of run ${runId} was tried ${failures} times within ${tookMs} ms, and ${leastMs} ms are the least: it did not back off`;
    yield { runId, text };
  }
}

/** Though they were stored in one transaction with one of the run that fails. */
function* takesReportsOfOthers(facts: Facts): Iterable<Finding> {
  const injected = injectedOf(facts, "always-fails");
  if (!injected) return;
  for (const call of callsTo(facts, "Complete"))
    for (const [index, { token }] of call.request.results.entries()) {
      const isRefused = call.answers.some(({ answer }) => {
        const result = answer.kind === "completed" ? answer.answers[index] : undefined;
        return result?.kind === "refused" && result.reason === "INTERNAL";
      });
      if (!isRefused || facts.failing.has(token.runId)) continue;
      const { runId } = token;
      const text = `a report about run ${runId} was refused as a defect, while every pass of run ${injected.target} failed`;
      yield { runId, text };
    }
}

function* handsOutOthers(facts: Facts): Iterable<Finding> {
  const injected = injectedOf(facts, "cannot-be-made");
  if (!injected) return;
  for (const run of facts.runs.values()) {
    const { runId, attempts } = run.run;
    if (runId === injected.target) continue;
    const unsent = attempts.filter(
      ({ outcome, startedAt }) => outcome.kind === "unsent" && startedAt >= injected.at,
    );
    for (const [step, of] of Map.groupBy(unsent, (one) => one.step)) {
      if (of.length <= UNSENT_MAX) continue;
      const text = `${stepName(run, step)} was handed out ${of.length} times and never sent, while the tasks of run ${injected.target} could not be made`;
      yield { runId, text };
    }
  }
}
