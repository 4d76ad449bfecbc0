// One valid attempt of a step at a time, and one end of it: G3, G4 and G5.

import type { EpochMs } from "../../../server/core/model/attempt.ts";
import { stepKeyOf } from "../../../server/core/model/step-key.ts";
import { type PlanStep, planStepAt } from "../../../server/core/plan/plan.ts";
import type { FinalAttempt } from "../history-rows.ts";
import {
  allHandOuts,
  answered,
  callsTo,
  type Facts,
  type HandOut,
  type Report,
  type RunFacts,
  reusedStep,
  stepName,
  tokenKey,
} from "./facts.ts";
import { childrenStayWithin } from "./families.ts";
import { givenBackThoughListed } from "./given-back.ts";
import { tooManyItems, wavesFollowEachOther } from "./maps.ts";
import { tooManyOfKey } from "./permits.ts";
import { childRows, planStepsOf, stepKeyIn } from "./step-keys.ts";
import { undoings } from "./undos.ts";
import type { Bounds, Finding } from "./violation.ts";

/**
 * G3. The hand-outs of a step, by their rows and open leases, have fences 1, 2, 3 and so on, the
 * verifies of one fence numbers 1, 2, 3, and none begins before the one before has ended; what
 * agents received are exactly these, and what they have not called lost is not given back; a report
 * or a callback about one of them always finds it; no heartbeat renews a lease that was sent
 * after a later hand-out. At no time are more runs of one concurrency key under way than the
 * highest limit that any of them allows, nor more items of a map than its concurrency.
 */
export function* oneAttemptAtATime(facts: Facts): Iterable<Finding> {
  for (const run of facts.runs.values())
    for (const { no } of planStepsOf(run)) yield* overlaps(facts, run, no);
  yield* orphanTasks(facts);
  yield* givenBackThoughListed(facts);
  yield* tokensAreGivenOnce(facts);
  yield* unknownTasks(facts);
  yield* renewedBesideAnother(facts);
  yield* tooManyOfKey(facts);
  yield* tooManyItems(facts);
}

/** Every task of a step, in the order in which they must have been handed out. */
export function tasksOf(run: RunFacts, step: number): readonly HandOut[] {
  const all = [...(run.handOuts.get(step) ?? []), ...(run.verifies.get(step) ?? [])];
  const rank = ({ task, attempt }: HandOut): number => (task === "verify" ? attempt : 0);
  return all.sort((a, b) => a.fence - b.fence || rank(a) - rank(b));
}

/**
 * The latest time at which a task can have been handed out. Its own time is when its transaction
 * began, which may be long before its commit; but an agent that had it shows that it was committed.
 */
export function handedOutBy(facts: Facts, { run: { runId } }: RunFacts, handOut: HandOut): EpochMs {
  const key = tokenKey({ runId, ...handOut }, handOut.attempt);
  const arrivals = facts.seen
    .filter(({ task: { token, attempt } }) => tokenKey(token, attempt) === key)
    .map(({ received }) => received.at + facts.clockBackMs);
  return Math.min(handOut.startedAt + facts.bounds.transactionMs, ...arrivals);
}

export function taskName(run: RunFacts, { task, fence, attempt, step }: HandOut): string {
  const what = task === "verify" ? `verify ${attempt} of fence ${fence}` : `fence ${fence}`;
  return `${what} of ${stepName(run, step)}`;
}

function* overlaps(facts: Facts, run: RunFacts, no: number): Iterable<Finding> {
  const { transactionMs } = facts.bounds;
  const { runId } = run.run;
  let before: HandOut | null = null;
  for (const handOut of tasksOf(run, no)) {
    const where = taskName(run, handOut);
    const last = before?.fence ?? fenceOfReused(facts, run, no);
    const expected = expectedAfter(before, handOut, behindChildren(run, no, last));
    if (expected !== null)
      yield { runId, text: `${where} was handed out where ${expected} should have been` };
    // Its row tells when it was settled: a verify may have been out by then.
    const isSettled = before?.task === "perform" && before.settled && handOut.task === "verify";
    if (
      before &&
      !isSettled &&
      (before.end === null || before.end.at > handOut.startedAt + transactionMs)
    ) {
      const still = before.end === null ? "is still out" : `ended at ${before.end.at}`;
      const text = `${where} was handed out at ${handOut.startedAt}, while ${taskName(run, before).split(" of step")[0]} ${still}`;
      yield { runId, text };
    }
    before = handOut;
  }
}

/** The fence of the last child run of the step that began after this fence, without a gap. */
function behindChildren(run: RunFacts, no: number, last: number): number {
  if (reusedStep(run, no)) return last;
  const tasks = new Set(run.handOuts.get(no)?.map(({ fence }) => fence));
  const children = new Set(childRows(run, no).map(({ fence }) => fence)).difference(tasks);
  let fence = last;
  while (children.has(fence + 1)) fence++;
  return fence;
}

/** The fences of a reused step continue those of the run that is done again. */
function fenceOfReused({ runs }: Facts, run: RunFacts, no: number): number {
  if (!reusedStep(run, no)) return 0;
  const old = runs.get(run.run.rerunOf?.runId ?? "");
  const was = old ? stepKeyIn(old, run, no) : -1;
  return old?.run.steps.find((row) => row.no === was)?.fence ?? 0;
}

/** What should have been instead; null: it is as it should be. */
function expectedAfter(before: HandOut | null, handOut: HandOut, fence: number): string | null {
  if (handOut.task !== "verify") return handOut.fence === fence + 1 ? null : `fence ${fence + 1}`;
  const number = before?.task === "verify" && before.fence === handOut.fence ? before.attempt : 0;
  if (handOut.fence === fence && handOut.attempt === number + 1) return null;
  return `verify ${number + 1} of fence ${fence}`;
}

/** A part of G3. A token is never given to two polls, whatever the store has forgotten since. */
export function* tokensAreGivenOnce(facts: Facts): Iterable<Finding> {
  const first = new Map<string, string>();
  for (const { task, session } of facts.seen) {
    const { token, attempt, pollSeq } = task;
    const key = `${tokenKey(token, attempt)}/${token.secret}`;
    const poll = `poll ${pollSeq} of session ${session}`;
    const known = first.get(key) ?? poll;
    first.set(key, known);
    if (known === poll) continue;
    const { runId } = token;
    const text = `one token of step ${token.step} was given to ${known} and to ${poll}`;
    yield { runId, text };
  }
}

function* orphanTasks(facts: Facts): Iterable<Finding> {
  const first = new Map<string, { readonly secret: string; readonly session: string }>();
  for (const { task, session } of facts.seen) {
    const { token, attempt } = task;
    const { runId } = token;
    const run = facts.runs.get(runId);
    const key = tokenKey(token, attempt);
    const where = run ? `${token.task} fence ${token.fence} of ${stepName(run, token.step)}` : key;
    const known = first.get(key);
    if (known && known.session !== session)
      yield { runId, text: `${where} was handed to two sessions, ${known.session} and ${session}` };
    else if (known && known.secret !== token.secret)
      yield { runId, text: `${where} was handed out twice, with two secrets` };
    first.set(key, { secret: token.secret, session });
    const stored = (run ? tasksOf(run, token.step) : []).find(
      (one) =>
        one.fence === token.fence &&
        one.task === token.task &&
        (one.task !== "verify" || one.attempt === attempt),
    );
    if (!stored) yield { runId, text: `${where} reached an agent, but no row knows of it` };
    else if (stored.secret !== null && stored.secret !== token.secret)
      yield { runId, text: `${where} reached an agent with another secret than its lease has` };
  }
}

function* unknownTasks(facts: Facts): Iterable<Finding> {
  for (const { task, call: poll } of facts.seen) {
    const { token, attempt } = task;
    for (const { call, fate } of facts.reports.get(tokenKey(token, attempt)) ?? []) {
      if (fate.kind !== "refused" || fate.reason !== "TASK_NOT_FOUND") continue;
      if (call.request.namespace !== poll.request.namespace) continue;
      const run = facts.runs.get(token.runId);
      const where = run ? stepName(run, token.step) : token.runId;
      const text = `the ${call.request.rpc} sent at ${call.sent.at} about fence ${token.fence} of ${where} was answered that there is no such task`;
      yield { runId: token.runId, text };
    }
  }
}

function* renewedBesideAnother(facts: Facts): Iterable<Finding> {
  for (const call of callsTo(facts, "Heartbeat")) {
    for (const { answer } of call.answers) {
      if (answer.kind !== "heartbeat-answered") continue;
      for (const [index, token] of call.request.tokens.entries()) {
        if (answer.answers[index]?.kind !== "carry-on") continue;
        const run = facts.runs.get(token.runId);
        const later = run && laterThan(run, token.step, token.fence);
        const handedOutAt = (later?.startedAt ?? 0) + facts.bounds.transactionMs;
        if (!run || !later || handedOutAt >= call.sent.at) continue;
        const text = `fence ${token.fence} of ${stepName(run, token.step)} was allowed to carry on at ${call.sent.at}, after fence ${later.fence} had been handed out at ${later.startedAt}`;
        yield { runId: token.runId, text };
      }
    }
  }
}

function laterThan({ handOuts }: RunFacts, step: number, fence: number): HandOut | undefined {
  return handOuts.get(step)?.find((handOut) => handOut.fence > fence);
}

/**
 * G4. A report that was sent after a later hand-out of its step is never newly accepted; one that
 * is refused as too late has left a row as evidence; no row was ended after the next hand-out.
 */
export function* lateReportsChangeNothing(facts: Facts): Iterable<Finding> {
  for (const reports of facts.reports.values()) {
    for (const report of reports) {
      const { token } = report.report;
      const run = facts.runs.get(token.runId);
      if (!run) continue;
      yield* acceptedTooLate(run, report, facts.bounds);
      yield* evidenceLost(run, report);
    }
  }
  for (const run of facts.runs.values()) {
    for (const step of run.run.steps) {
      const resultFence = step.result?.fence ?? null;
      const later = allHandOuts(run).find(
        ({ step: no, task, fence }) =>
          no === step.no && task === "perform" && resultFence !== null && fence > resultFence,
      );
      if (!later) continue;
      const text = `${stepName(run, step.no)} took its result from fence ${resultFence}, though fence ${later.fence} was handed out too`;
      yield { runId: run.run.runId, text };
    }
  }
}

function* acceptedTooLate(
  run: RunFacts,
  { report, call, fate }: Report,
  { transactionMs }: Bounds,
): Iterable<Finding> {
  const { token } = report;
  const later = laterThan(run, token.step, token.fence);
  if (fate.kind !== "accepted" || fate.repeated) return;
  if (!later || later.startedAt + transactionMs >= call.sent.at) return;
  const text = `the report of fence ${token.fence} of ${stepName(run, token.step)} was accepted, though it was sent at ${call.sent.at} and fence ${later.fence} had been handed out at ${later.startedAt}`;
  yield { runId: token.runId, text };
}

function* evidenceLost(run: RunFacts, { report, fate }: Report): Iterable<Finding> {
  const { token, outcome } = report;
  if (fate.kind !== "refused" || fate.reason !== "LEASE_LOST") return;
  if (outcome.kind !== "success" && outcome.kind !== "failure") return;
  const success = outcome.kind === "success";
  const stored = run.run.attempts.some(
    (row) =>
      row.kind === "late" &&
      row.step === token.step &&
      row.fence === token.fence &&
      (row.outcome.kind === "success") === success,
  );
  if (stored) return;
  const text = `the late ${outcome.kind} of fence ${token.fence} of ${stepName(run, token.step)} was not stored as evidence`;
  yield { runId: token.runId, text };
}

/**
 * G5. A step that succeeded has one success row, of its result's fence, and any other step has
 * none (the same for its undo); nothing is handed out after a success; each step began only after
 * all that it needs had succeeded, and has started if they have.
 */
export function* oneCompletionOneActivation(facts: Facts): Iterable<Finding> {
  for (const run of facts.runs.values()) {
    const { runId } = run.run;
    const findings: string[] = [];
    for (const step of planStepsOf(run)) {
      const name = stepName(run, step.no);
      findings.push(...completions(run, step.no, name));
      findings.push(...activation(run, step.no, name, facts.bounds));
    }
    for (const text of findings) yield { runId, text };
  }
  yield* wavesFollowEachOther(facts);
  yield* childrenStayWithin(facts);
}

const FORWARD_ROWS: ReadonlySet<FinalAttempt["kind"]> = new Set(["perform", "verify", "answer"]);
const ENGINE_ROWS: ReadonlySet<FinalAttempt["kind"]> = new Set(["answer"]);

function completions(run: RunFacts, no: number, name: string): string[] {
  const step = run.run.steps.find((row) => row.no === no);
  const rows = run.run.attempts.filter((row) => row.step === no && row.outcome.kind === "success");
  const done = step?.forward.kind === "SUCCEEDED";
  const work = planStepAt(run.plan, no)?.work.kind;
  // What a map itself performs are its gates.
  const forward = work === "map" ? ENGINE_ROWS : FORWARD_ROWS;
  const successes = rows.filter(({ kind }) => forward.has(kind));
  const found: string[] = [];
  const isTimer = work === "wait";
  const [first] = successes;
  if (successes.length > 1) found.push(`${name} was performed ${successes.length} times`);
  if (done && !first && !isTimer) found.push(`${name} is performed, but no attempt did it`);
  if (!done && first) found.push(`${name} has a success, but is not performed`);
  const result = step?.result ?? null;
  if (first && result !== null && (first.fence !== result.fence || first.kind !== result.kind))
    found.push(
      `${name} takes its result from ${result.kind} fence ${result.fence}, but ${first.kind} fence ${first.fence} succeeded`,
    );
  found.push(...handedOutAfter(run, first, name));
  found.push(...undoings(run, no, name, rows.filter(({ kind }) => kind === "compensate").length));
  return found;
}

function handedOutAfter(
  run: RunFacts,
  success: FinalAttempt | undefined,
  name: string,
): readonly string[] {
  const again = run.handOuts
    .get(success?.step ?? -1)
    ?.find(({ task, fence }) => success && task === "perform" && fence > success.fence);
  return again
    ? [`${name} was handed out again with fence ${again.fence} after it had succeeded`]
    : [];
}

/** How a need may have ended for those behind it to begin; null: it has not ended so. */
function needEnd(run: RunFacts, no: number): "ok" | "skipped" | "failed" | null {
  switch (run.run.steps.find((row) => row.no === no)?.forward.kind) {
    case "SUCCEEDED":
      return "ok";
    case "SKIPPED":
      return "skipped";
    case "CANCELLED":
      // Behind an always step that a person has left, the others run all the same.
      return planStepAt(run.plan, no)?.always ? "failed" : null;
    case "FAILED":
      return planStepAt(run.plan, no)?.onFailure === "continue" ? "failed" : null;
    default:
      return null;
  }
}

function activation(
  run: RunFacts,
  no: number,
  name: string,
  { transactionMs }: Bounds,
): readonly string[] {
  const plan = planStepAt(run.plan, no);
  const step = run.run.steps.find((row) => row.no === no);
  // A map begins with its first item.
  const first = plan?.work.kind === "map" ? stepKeyOf(no, 1) : no;
  const takenAt = run.handOuts.get(first)?.[0]?.startedAt ?? null;
  const readyAt = run.run.steps.find((row) => row.no === first)?.firstReadyAt ?? null;
  if (!plan || reusedStep(run, no)) return [];
  const ends = plan.needs.map((need) => needEnd(run, need));
  const allEnded = ends.every((end) => end !== null);
  const state = step?.forward.kind ?? "BLOCKED";
  if (state === "BLOCKED") {
    const { reason } = run.run;
    const undecided = (reason === null || reason === "DONE") && run.run.state !== "PAUSED";
    return undecided && allEnded && !plan.always
      ? [`${name} was never made ready, though all that it needs has succeeded`]
      : [];
  }
  if (state === "SKIPPED") return skipped(run, plan, ends, name);
  // A pause, a person's answer and a retry move the begin of the step.
  const moved = wasSuspended(run);
  const { createdAt } = run.run;
  if (takenAt !== null && takenAt + transactionMs < createdAt)
    return [`${name} was handed out at ${takenAt}, before its run, which was made at ${createdAt}`];
  if (takenAt !== null && !moved && (readyAt === null || takenAt + transactionMs < readyAt))
    return [`${name} was handed out at ${takenAt}, but it was made ready at ${readyAt}`];
  if (readyAt === null && takenAt === null) return [];
  const since = Math.min(readyAt ?? Number.POSITIVE_INFINITY, takenAt ?? Number.POSITIVE_INFINITY);
  return plan.needs.flatMap((need, index) => {
    const endedAt = successOf(run, need)?.endedAt ?? null;
    const id = run.plan.steps[need]?.id ?? "";
    const ended = ends[index] !== null;
    if (ended && (endedAt === null || endedAt <= since + transactionMs)) return [];
    const when = ended ? `which succeeded at ${endedAt}` : "which never ended well";
    return [`${name} was ready at ${since}, but needs "${id}", ${when}`];
  });
}

/** The row that ended a step well; a timer and a skip have none. */
function successOf({ run, plan }: RunFacts, no: number): FinalAttempt | undefined {
  const rows = plan.steps[no]?.work.kind === "map" ? ENGINE_ROWS : FORWARD_ROWS;
  return run.attempts.find(
    (row) => row.step === no && rows.has(row.kind) && row.outcome.kind === "success",
  );
}

/** Whether a run, or a step of it, may have been suspended for a person. */
export function wasSuspended({ run, pauses, pausedFromAbove }: RunFacts): boolean {
  return run.escalations.length > 0 || pauses.length > 0 || pausedFromAbove;
}

function skipped(
  run: RunFacts,
  plan: PlanStep,
  ends: readonly ReturnType<typeof needEnd>[],
  name: string,
): readonly string[] {
  const { work, when, runIf, no } = plan;
  if (when !== null || answered(run, no, "skip").length > 0) return [];
  if (work.kind === "signal" && work.onExpiry === "skip") return [];
  const ok = ends.filter((end) => end === "ok").length;
  const all = ends.length > 0 && ends.every((end) => end === "skipped");
  const missed =
    (runIf === "all_ok" && ok < ends.length) || (runIf === "any_ok" && ok === 0) || all;
  return missed ? [] : [`${name} was skipped, though nothing asked for it`];
}
