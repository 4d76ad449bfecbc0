// Acknowledged calls are stored, stored rows were requested, and refused calls are not stored:
// G1, G2 and G13.

import { planStepAt } from "../../../server/core/plan/plan.ts";
import type { FinalAttempt, OutcomeFact } from "../history-rows.ts";
import { OVERLOADED } from "../seen.ts";
import { endsSetOff, setOffBy } from "./ends.ts";
import {
  callsTo,
  endedBySupervisor,
  type Facts,
  fateOf,
  type Report,
  type RunFacts,
  stepName,
  tokenKey,
} from "./facts.ts";
import { stoppedFromAbove } from "./families.ts";
import { makesRoomFrom } from "./permits.ts";
import { lostVersions } from "./registered.ts";
import { lostReruns, oneRequestOneRerun, refusedReruns } from "./reruns.ts";
import { occurrencesAreStored, oneOccurrenceOneRun } from "./schedules.ts";
import { type Scheduling, schedulings } from "./schedulings.ts";
import { lostSignalsAndDecisions, unsentSignalsAndDecisions } from "./signals-and-decisions.ts";
import { rowOf } from "./task-rows.ts";
import type { Finding } from "./violation.ts";
import { webhooksReport } from "./webhooks.ts";

/**
 * G1. Every acknowledged Schedule, Complete and CancelRun has its row; every run, every reported
 * outcome and every cancel in the rows was asked for by some call; runs are of the version that was
 * named. A run that does another one again reuses what it should, and only that; webhooks report
 * all of it, and only that.
 */
export function* nothingAcknowledgedIsLost(facts: Facts): Iterable<Finding> {
  yield* lostSchedules(facts);
  yield* lostReports(facts);
  yield* lostCancels(facts);
  yield* lostSignalsAndDecisions(facts);
  yield* lostVersions(facts);
  yield* lostReruns(facts);
  yield* webhooksReport(facts);
  yield* occurrencesAreStored(facts);
  yield* endsSetOff(facts);
  yield* unaskedRows(facts);
}

function* lostSchedules(facts: Facts): Iterable<Finding> {
  for (const { ask, answers } of schedulings(facts)) {
    const { key, mark } = ask;
    for (const { answer } of answers) {
      if (answer.kind !== "scheduled") continue;
      const { runId } = answer;
      const run = facts.runs.get(runId)?.run;
      if (!run) {
        yield { runId, text: `Schedule was acknowledged with run ${runId}, which is not stored` };
      } else if (run.mark !== mark || run.key !== key) {
        const text = `Schedule "${mark}" under key ${key} was answered with run ${runId}, which was stored for "${run.mark}" under key ${run.key}`;
        yield { runId, text };
      }
    }
  }
}

function* lostReports(facts: Facts): Iterable<Finding> {
  for (const [key, reports] of facts.reports) {
    for (const { report, fate } of reports) {
      if (fate.kind !== "accepted") continue;
      const { runId, step } = report.token;
      const run = facts.runs.get(runId);
      const row = run && rowOf(run, report.token, facts.numbers.get(report.token.secret) ?? 0);
      if (row && explains(row.outcome, report.outcome, reports)) continue;
      const stored = row ? `stored is ${outcomeText(row.outcome)}` : "no row of it is stored";
      const where = run ? stepName(run, step) : key;
      const text = `the report ${outcomeText(report.outcome)} of fence ${report.token.fence} of ${where} was acknowledged, but ${stored}`;
      yield { runId, text };
    }
  }
}

/** An open outcome may have been settled since by another report of the same task. */
function explains(stored: OutcomeFact, accepted: OutcomeFact, reports: readonly Report[]): boolean {
  if (sameOutcome(stored, accepted) || explainsWhy(stored, accepted)) return true;
  const reported = reports.filter(({ report }) => sameOutcome(stored, report.outcome));
  switch (accepted.kind) {
    case "unknown":
    case "cancelled":
      return reported.length > 0;
    case "deferred":
      return reported.length > 0 || endedBySupervisor(stored);
    case "failure":
      // A callback that brings a success is right about a call that seemed to fail.
      return (
        accepted.class === "transient" &&
        stored.kind === "success" &&
        reported.some(({ called }) => called)
      );
    default:
      return false;
  }
}

function* lostCancels(facts: Facts): Iterable<Finding> {
  for (const call of callsTo(facts, "CancelRun")) {
    const { runId } = call.request;
    if (fateOf(call).kind !== "accepted") continue;
    const run = facts.runs.get(runId)?.run;
    if (run && run.reason !== null && run.reason !== "DONE") continue;
    if (run && !call.request.undo && wasLeft(facts, runId)) continue;
    const stored = run ? `is ${run.state} without a stop reason` : "is not stored";
    yield { runId, text: `the cancel of run ${runId} was acknowledged, but the run ${stored}` };
  }
}

/** Where only an always step asked, leaving it takes away the question, and the end stays. */
function wasLeft(facts: Facts, runId: string): boolean {
  const found = facts.runs.get(runId);
  return (
    found?.run.escalations.some(
      ({ step, answer, closedAt }) =>
        planStepAt(found.plan, step)?.always && answer === null && closedAt !== null,
    ) ?? false
  );
}

function beginsByItself({ run: { rerunOf, scheduledBy, key } }: RunFacts): boolean {
  return rerunOf !== null || scheduledBy !== null || setOffBy(key) !== null;
}

function* unaskedRows(facts: Facts): Iterable<Finding> {
  const marks = new Set(schedulings(facts).map(({ namespace, ask }) => `${namespace}/${ask.mark}`));
  const cancelled = new Set(callsTo(facts, "CancelRun").map(({ request }) => request.runId));
  for (const run of facts.runs.values()) {
    const { runId, namespace, mark, reason, state } = run.run;
    if (!beginsByItself(run) && !marks.has(`${namespace}/${mark}`))
      yield {
        runId,
        text: `run ${runId} ("${mark}" in ${namespace}) is stored; no call asked for it`,
      };
    const isWanted = cancelled.has(runId) || stoppedFromAbove(facts, run);
    if (reason === "CANCELLED_BY_USER" && !isWanted)
      yield { runId, text: `run ${runId} is stored as cancelled by a user; no call cancelled it` };
    if (state === "CANCELLED" && reason === "NEVER_STARTED" && !isWanted)
      yield { runId, text: `run ${runId} was cancelled before it began; no call cancelled it` };
    if (reason === "CANCELLED_BY_NEWER" && makesRoomFrom(facts, run) === Number.POSITIVE_INFINITY)
      yield { runId, text: `run ${runId} made room for a newer run of its key; there is none` };
    for (const row of run.run.attempts) {
      if (row.kind === "engine" || row.kind === "answer") continue;
      if (endedBySupervisor(row.outcome)) continue;
      const reported = reportsAbout(facts, run, row);
      if (reported.some(({ report: { outcome } }) => sameOutcome(outcome, row.outcome))) continue;
      if (reported.some(({ report: { outcome } }) => explainsWhy(row.outcome, outcome))) continue;
      const text = `${outcomeText(row.outcome)} is stored for fence ${row.fence} of ${stepName(run, row.step)}; no agent reported it`;
      yield { runId, text };
    }
  }
  yield* unsentSignalsAndDecisions(facts);
}

/**
 * G2. All acknowledged calls with one key in a namespace name one run, created once, for one
 * request; KEY_REUSED is answered only where two requests were sent; the key's row names the run.
 */
export function* oneKeyOneRun(facts: Facts): Iterable<Finding> {
  const byKey = new Map<string, Scheduling[]>();
  for (const one of schedulings(facts)) {
    if (one.ask.key === null) continue;
    const name = keyName(one.namespace, one.ask.key);
    byKey.set(name, [...(byKey.get(name) ?? []), one]);
  }
  for (const [name, calls] of byKey) yield* brokenKey(facts, name, calls);
  yield* oneRequestOneRerun(facts);
  yield* oneOccurrenceOneRun(facts);
  const runOfKey = new Map<string, string>();
  for (const { run } of facts.runs.values()) {
    if (run.key === null) continue;
    const name = keyName(run.namespace, run.key);
    const other = runOfKey.get(name);
    if (other !== undefined)
      yield { runId: run.runId, text: `${name} has two runs, ${other} and ${run.runId}` };
    runOfKey.set(name, run.runId);
  }
  for (const { namespace, key, runId } of facts.history.final.keys) {
    const name = keyName(namespace, key);
    if (runOfKey.get(name) !== runId)
      yield {
        runId,
        text: `${name} is stored for run ${runId}, but its run is ${runOfKey.get(name)}`,
      };
  }
}

function* brokenKey(facts: Facts, name: string, asked: readonly Scheduling[]): Iterable<Finding> {
  const answered = asked.flatMap(({ answers, ask }) =>
    answers.flatMap(({ answer }) =>
      answer.kind === "scheduled" ? [{ ...answer, digest: ask.digest }] : [],
    ),
  );
  const [first] = answered;
  if (first) {
    const { runId } = first;
    const runs = new Set(answered.map((answer) => answer.runId));
    if (runs.size > 1)
      yield { runId, text: `${name} was answered with several runs: ${[...runs].join(", ")}` };
    if (answered.filter((answer) => answer.created).length > 1)
      yield { runId, text: `${name} was answered twice with a run that it had just created` };
    if (new Set(answered.map((answer) => answer.digest)).size > 1)
      yield { runId, text: `two different requests were accepted under ${name}` };
    const stored = facts.history.final.keys.find((row) => keyName(row.namespace, row.key) === name);
    if (!stored) yield { runId, text: `${name} was acknowledged, but its reservation is gone` };
  }
  const reused = asked.find(({ fate }) => fate.kind === "refused" && fate.reason === "KEY_REUSED");
  if (reused && new Set(asked.map(({ ask }) => ask.digest)).size === 1)
    yield {
      runId: null,
      text: `${name} was refused as reused, but only one request was ever sent`,
    };
}

/**
 * G13. A run, an outcome or a cancel is stored only if at least one call that asked for it was
 * accepted or had no definite answer; and an outcome no earlier than the first of these was sent.
 */
export function* refusedMeansNotDone(facts: Facts): Iterable<Finding> {
  yield* refusedReruns(facts);
  const schedules = schedulings(facts);
  const cancels = callsTo(facts, "CancelRun");
  for (const run of facts.runs.values()) {
    const { runId, mark, namespace, reason } = run.run;
    const asked = schedules.filter((one) => one.ask.mark === mark && one.namespace === namespace);
    if (run.run.rerunOf === null && allRefused(asked.map(({ fate }) => fate)))
      yield { runId, text: `every Schedule of "${mark}" was refused, but run ${runId} is stored` };
    const stops = cancels.filter(({ request }) => request.runId === runId);
    const isStopped = stoppedFromAbove(facts, run);
    if (reason === "CANCELLED_BY_USER" && !isStopped && allRefused(stops.map(fateOf)))
      yield { runId, text: `every cancel of run ${runId} was refused, but it is cancelled` };
    for (const row of run.run.attempts) {
      // A report that was refused as too late is stored as evidence: that changes no state.
      if (row.kind === "late" || row.kind === "engine" || row.kind === "answer") continue;
      if (endedBySupervisor(row.outcome)) continue;
      const reported = reportsAbout(facts, run, row).filter(({ report }) =>
        sameOutcome(report.outcome, row.outcome),
      );
      yield* storedThoughRefused(facts, run, row, reported);
      if (!allRefused(reported.map(({ fate }) => fate))) continue;
      const text = `every report ${outcomeText(row.outcome)} of fence ${row.fence} of ${stepName(run, row.step)} was refused, but it is stored`;
      yield { runId, text };
    }
  }
}

/** It is sent again until it is taken, so in the end one was. */
function* storedThoughRefused(
  { clockBackMs }: Facts,
  run: RunFacts,
  row: FinalAttempt,
  reported: readonly Report[],
): Iterable<Finding> {
  const taken = reported
    .filter(({ fate }) => fate.kind !== "refused")
    .map(({ call }) => call.sent.at);
  const refused = reported.find(({ call: { sent }, fate }) => {
    return fate.kind === "refused" && fate.reason === OVERLOADED && sent.at <= row.endedAt;
  });
  if (!refused || taken.length === 0 || Math.min(...taken) <= row.endedAt + clockBackMs) return;
  const { runId } = run.run;
  const text = `${outcomeText(row.outcome)} of fence ${row.fence} of ${stepName(run, row.step)} was stored at ${row.endedAt}, when the only report of it, of ${refused.call.sent.at}, was refused as a call`;
  yield { runId, text };
}

function allRefused(fates: readonly { readonly kind: string }[]): boolean {
  return fates.length > 0 && fates.every(({ kind }) => kind === "refused");
}

function keyName(namespace: string, key: string): string {
  return `key "${key}" of namespace ${namespace}`;
}

/** Reports that a row can come from; a late row does not tell of which task it was. */
function reportsAbout(facts: Facts, { run, verifies }: RunFacts, row: FinalAttempt) {
  const { runId } = run;
  const { step, fence } = row;
  const of = (task: "perform" | "verify" | "compensate", number: number): readonly Report[] =>
    facts.reports.get(tokenKey({ runId, step, task, fence }, number)) ?? [];
  if (row.kind === "verify") return of("verify", row.n);
  if (row.kind === "perform" || row.kind === "compensate") return of(row.kind, 0);
  const numbers = (verifies.get(step) ?? []).flatMap((one) =>
    one.fence === fence ? [one.attempt] : [],
  );
  return [
    ...of("perform", 0),
    ...of("compensate", 0),
    ...numbers.flatMap((number) => of("verify", number)),
  ];
}

/** An agent that stopped when asked to, as its task was late or stalled, is stored as that. */
function explainsWhy(stored: OutcomeFact, reported: OutcomeFact): boolean {
  if (reported.kind !== "cancelled") return false;
  if (stored.kind !== (reported.noEffect ? "failure" : "unknown")) return false;
  return stored.code === "drover.timeout" || stored.code === "drover.stalled";
}

/** Equal as far as policies care. An agent that names no code for an unknown gets one. */
export function sameOutcome(a: OutcomeFact, b: OutcomeFact): boolean {
  if (a.kind !== b.kind) return false;
  if (a.kind !== "failure" || b.kind !== "failure") return true;
  return a.code === b.code && a.class === b.class && a.noEffect === b.noEffect;
}

export function outcomeText(outcome: OutcomeFact): string {
  return "code" in outcome ? `${outcome.kind} ${outcome.code}` : outcome.kind;
}
