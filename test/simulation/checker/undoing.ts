// Compensation is complete, in order and not too early; a cancel stops new work: G11 and G16.

import { numberOf } from "../../../server/core/model/step-key.ts";
import { planStepAt } from "../../../server/core/plan/plan.ts";
import type { EffectRecord } from "../history.ts";
import type { FinalAttempt, OutcomeFact } from "../history-rows.ts";
import {
  allHandOuts,
  answered,
  callsTo,
  type Facts,
  fateOf,
  type HandOut,
  quietFrom,
  type RunFacts,
  reusedStep,
  stepName,
  tokenKey,
} from "./facts.ts";
import { cancelsReachChildren, isForward } from "./families.ts";
import { taskName, tasksOf } from "./hand-outs.ts";
import { whatIsHeldStays } from "./holds.ts";
import { pausesHold } from "./pauses.ts";
import { pausedSchedulesRest } from "./schedules.ts";
import { childRows, planStepsOf, stepKeyIn } from "./step-keys.ts";
import { isOfRun } from "./undos.ts";
import type { Bounds, Finding } from "./violation.ts";

/**
 * G11. By the rows: a COMPENSATED run has undone each step that can be undone and has left an
 * effect; an undo began after every forward attempt had reported, or its lease plus settle had
 * ended, and after the undos of all steps downstream had succeeded. By the remote service: each
 * effect that was made before that time is undone at the end.
 */
export function* undoneInReverse(facts: Facts): Iterable<Finding> {
  for (const run of facts.runs.values()) {
    const undos = allHandOuts(run).filter(({ task }) => task === "compensate");
    yield* undoneTooEarly(run, undos, facts.bounds);
    yield* undoneOutOfOrder(run, undos, facts.bounds);
    yield* leftBehind(facts, run);
  }
  yield* leftAtRemote(facts);
  yield* effectsLeftAtRemote(facts);
}

function* undoneTooEarly(
  run: RunFacts,
  undos: readonly HandOut[],
  { transactionMs }: Bounds,
): Iterable<Finding> {
  for (const undo of undos)
    if (!isOfRun(run, undo)) yield* strategyUndoneTooEarly(run, undo, transactionMs);
  const ofRun = undos.filter((undo) => isOfRun(run, undo));
  const [first] = ofRun.sort((a, b) => a.startedAt - b.startedAt);
  if (!first) return;
  const { runId } = run.run;
  const undo = `the undo of ${stepName(run, first.step)} was handed out at ${first.startedAt}`;
  for (const handOut of [...allHandOuts(run), ...[...run.verifies.values()].flat()]) {
    if (handOut.task === "compensate" || planStepAt(run.plan, handOut.step)?.always) continue;
    const quietAt = quietFrom(run, handOut);
    if (quietAt !== null && quietAt <= first.startedAt + transactionMs) continue;
    const until = quietAt === null ? "is still out" : `may act until ${quietAt}`;
    const text = `${undo}, but ${taskName(run, handOut)} ${until}`;
    yield { runId, text };
  }
}

/** A strategy is undone once each earlier attempt of its step has reported, or has settled. */
function* strategyUndoneTooEarly(
  run: RunFacts,
  undo: HandOut,
  transactionMs: number,
): Iterable<Finding> {
  for (const handOut of run.handOuts.get(undo.step) ?? []) {
    if (handOut.task !== "perform" || handOut.fence > undo.fence) continue;
    const quietAt = quietFrom(run, handOut);
    if (quietAt !== null && quietAt <= undo.startedAt + transactionMs) continue;
    const until = quietAt === null ? "is still out" : `may act until ${quietAt}`;
    const text = `a strategy of ${stepName(run, undo.step)} was being undone at ${undo.startedAt}, but ${taskName(run, handOut)} ${until}`;
    yield { runId: run.run.runId, text };
  }
}

function* undoneOutOfOrder(
  run: RunFacts,
  undos: readonly HandOut[],
  { transactionMs }: Bounds,
): Iterable<Finding> {
  for (const undo of undos) {
    if (!isOfRun(run, undo)) continue;
    for (const no of downstream(run, undo.step)) {
      const state = run.run.steps.find((row) => row.no === no)?.undo.kind ?? "NONE";
      if (state === "NONE") continue;
      const doneAt = state === "DONE" ? undoneAt(run, undos, no) : null;
      if (doneAt !== null && doneAt <= undo.startedAt + transactionMs) continue;
      const when = doneAt !== null ? `only at ${doneAt}` : "not yet";
      const text = `${stepName(run, undo.step)} was being undone at ${undo.startedAt}, but "${run.plan.steps[no]?.id}" after it was undone ${when}`;
      yield { runId: run.run.runId, text };
    }
  }
}

/** When the last of its effects was undone, by an agent or a person's answer; null: it was not. */
function undoneAt(run: RunFacts, undos: readonly HandOut[], no: number): number | null {
  const ends = undos.flatMap(({ step, end }) =>
    numberOf(step) === no && end?.outcome.kind === "success" ? [end.at] : [],
  );
  const stepKeys = run.run.steps.flatMap((row) => (numberOf(row.no) === no ? [row.no] : []));
  const resolved = stepKeys
    .flatMap((key) => answered(run, key, "succeed"))
    .flatMap(({ reason, at }) => (reason === "undo-failed" ? [at] : []));
  // No item of the map had left anything.
  if (isMap(run, no) && ends.length + resolved.length === 0) return 0;
  return ends.length + resolved.length === 0 ? null : Math.max(...ends, ...resolved);
}

function isMap({ plan }: RunFacts, no: number): boolean {
  return planStepAt(plan, no)?.work.kind === "map";
}

function downstream({ plan }: RunFacts, from: number): ReadonlySet<number> {
  const found = new Set(plan.steps[numberOf(from)]?.successors ?? []);
  // A set hands out what is added to it while it is walked.
  for (const no of found) for (const next of plan.steps[no]?.successors ?? []) found.add(next);
  return found;
}

function* leftBehind(facts: Facts, run: RunFacts): Iterable<Finding> {
  const { runId, state, steps } = run.run;
  const effects = planStepsOf(run).filter(
    ({ no, compensate }) => compensate !== null && hasEffect(facts, run, no),
  );
  const undone = steps.filter(({ undo }) => undo.kind === "DONE");
  const all = state === "COMPENSATED" || mustUndo(facts, run);
  for (const { no } of all ? effects : []) {
    if (undone.some((row) => row.no === no)) continue;
    yield { runId, text: `${stepName(run, no)} has left an effect in a ${state} run; not undone` };
  }
  if (state === "COMPENSATED" && undone.length === 0)
    yield { runId, text: `run ${runId} is COMPENSATED, but nothing was undone` };
  for (const { no } of undone) {
    if (isMap(run, no) || reusedStep(run, no) || childRows(run, no).length > 0) continue;
    if (run.handOuts.get(no)?.some(({ task }) => task === "perform")) continue;
    if (answered(run, no, "succeed").length > 0) continue;
    yield { runId, text: `${stepName(run, no)} was undone, but no attempt had performed it` };
  }
}

/** Ended without undoing, though nothing but undoing was ever asked for. */
function mustUndo(facts: Facts, { run, plan }: RunFacts): boolean {
  // What never began leaves alone what it has reused.
  const began = run.steps.some(({ no, forward }) => {
    return forward.kind !== "BLOCKED" && !run.reused.some(({ step }) => step === no);
  });
  if (!began) return false;
  // A person may leave things as they are, whatever was asked for.
  if (run.escalations.some(({ answer }) => answer?.answer === "fail")) return false;
  if (run.state === "FAILED") {
    if (run.reason === "TIMED_OUT") return true;
    return !run.steps.some(
      ({ no, forward }) => forward.kind === "FAILED" && planStepAt(plan, no)?.onFailure === "fail",
    );
  }
  if (run.state !== "CANCELLED") return false;
  // The rows do not tell what it was sent from above.
  if (run.parent !== null) return false;
  const cancels = callsTo(facts, "CancelRun").filter(({ request }) => request.runId === run.runId);
  return cancels.every(({ request }) => request.undo);
}

/**
 * A success, or something unsettled that no later `no_effect` of the same strategy, verify or
 * person has settled. A row that a second report has settled no longer records what the first one
 * claimed, so the reports are asked too. Where the strategy of a try is not known, nothing is
 * checked.
 */
function hasEffect(facts: Facts, run: RunFacts, no: number): boolean {
  const { runId } = run.run;
  const reused = reusedStep(run, no);
  const maker = reused && facts.runs.get(reused.of);
  const made = maker ? stepKeyIn(maker, run, no) : -1;
  if (reused) return maker && made >= 0 ? hasEffect(facts, maker, made) : false;
  if (childRows(run, no).some(byChild)) return true;
  const tasks = tasksOf(run, no).filter((one) => one.task !== "compensate" || !isOfRun(run, one));
  // A person may have answered that a strategy is undone.
  if (tasks.some(({ task }) => task === "compensate") && answered(run, no, "succeed").length > 0)
    return false;
  const resolved = answered(run, no, "succeed", "fail");
  if (resolved.length > 0) return resolved.some(({ by }) => by === "succeed") && tasks.length > 0;
  const many = (run.run.steps.find((row) => row.no === no)?.strategies.length ?? 1) > 1;
  if (many && tasks.some(({ strategy, task }) => strategy === null && task === "perform"))
    return false;
  const claims = (handOut: HandOut): boolean =>
    facts.reports
      .get(tokenKey({ runId, ...handOut }, handOut.attempt))
      ?.some(({ report: { outcome } }) => "noEffect" in outcome && outcome.noEffect) ?? false;
  const marks = new Map<number, boolean>();
  let current = 0;
  for (const handOut of tasks) {
    if (handOut.task === "perform") current = many ? (handOut.strategy ?? current) : 0;
    const outcome = handOut.end?.outcome;
    if (handOut.task === "compensate") {
      if (outcome?.kind === "success") marks.set(handOut.strategy ?? current, false);
      continue;
    }
    const marked = marks.get(current) ?? false;
    if (outcome) marks.set(current, markAfter(marked, handOut, outcome, claims(handOut)));
  }
  return [...marks.values()].some((marked) => marked);
}

/** The name of a child is stored where an agent's would be. */
function byChild({ outcome, agentId }: FinalAttempt): boolean {
  return outcome.kind === "success" && (agentId?.startsWith("run ") ?? false);
}

function markAfter(
  marked: boolean,
  { task }: HandOut,
  outcome: OutcomeFact,
  claimed: boolean,
): boolean {
  if (outcome.kind === "success") return true;
  if (outcome.kind === "failure") return outcome.noEffect || claimed ? false : marked;
  if (task === "verify") return marked;
  if (outcome.kind === "unknown") return true;
  if (outcome.kind === "again" || outcome.kind === "deferred") return true;
  return outcome.kind === "cancelled" ? !outcome.noEffect : marked;
}

function* leftAtRemote(facts: Facts): Iterable<Finding> {
  const undone = new Set(facts.effects.flatMap(({ did, key }) => (did === "undone" ? [key] : [])));
  for (const effect of facts.effects) {
    const { did, key, runId, step, at } = effect;
    const run = facts.runs.get(runId);
    if (!run || did !== "made" || undone.has(key) || run.run.state !== "COMPENSATED") continue;
    if (!planStepAt(run.plan, step)?.compensate) continue;
    // The person who is asked may answer that nothing is there, or that it is undone.
    if (answered(run, step, "succeed", "fail").length > 0) continue;
    if (madeTooLate(facts, run, effect)) continue;
    const text = `the remote service still has the effect "${key}" of ${stepName(run, step)}, made at ${at}, in a COMPENSATED run`;
    yield { runId, text };
  }
}

/** The same of effects that a run has reused of another one. */
function* effectsLeftAtRemote(facts: Facts): Iterable<Finding> {
  const undone = new Set(facts.effects.flatMap(({ did, key }) => (did === "undone" ? [key] : [])));
  for (const run of facts.runs.values()) {
    if (run.run.state !== "COMPENSATED") continue;
    for (const { step, of } of run.run.reused) {
      const plan = planStepAt(run.plan, step);
      if (!plan?.compensate || answered(run, step, "succeed", "fail").length > 0) continue;
      const maker = facts.runs.get(of);
      if (!maker || !hasEffect(facts, run, step)) continue;
      const no = stepKeyIn(maker, run, step);
      const left = facts.effects.find(
        (one) => one.did === "made" && one.runId === of && one.step === no && !undone.has(one.key),
      );
      if (!left || madeTooLate(facts, maker, left)) continue;
      const text = `the remote service still has the effect "${left.key}", which ${stepName(run, step)} reused of run ${of}, in a COMPENSATED run`;
      yield { runId: run.run.runId, text };
    }
  }
}

/** By an agent that was frozen past its lease and settle: not promised. */
export function madeTooLate(
  { clockBackMs }: Facts,
  run: RunFacts,
  { step, fence, at }: EffectRecord,
): boolean {
  const handOut = run.handOuts
    .get(step)
    ?.find((other) => other.task === "perform" && other.fence === fence);
  const quietAt = handOut ? quietFrom(run, handOut) : null;
  return quietAt !== null && at + clockBackMs > quietAt;
}

/**
 * G16. After the answer to an accepted CancelRun was received, no perform task of the run is handed
 * out but of its `always` steps, by its row or to a poll sent later, and no heartbeat sent later
 * lets one carry on. And from an acknowledged PauseRun to the next call that lets the run move,
 * nothing of it is handed out; nor of a queue, a workflow or a namespace that is paused; nor does a
 * paused schedule begin runs.
 */
export function* cancelStopsForward(facts: Facts): Iterable<Finding> {
  for (const cancel of callsTo(facts, "CancelRun")) {
    const [received] = cancel.answers;
    const { runId } = cancel.request;
    const run = facts.runs.get(runId);
    if (!received || !run || fateOf(cancel).kind !== "accepted") continue;
    const since = `after the cancel of run ${runId} was acknowledged at ${received.at}`;
    for (const handOut of allHandOuts(run)) {
      if (!isForward(run, handOut)) continue;
      if (handOut.startedAt <= received.at + facts.clockBackMs) continue;
      const text = `fence ${handOut.fence} of ${stepName(run, handOut.step)} was handed out at ${handOut.startedAt}, ${since}`;
      yield { runId, text };
    }
    for (const { task, call } of facts.seen) {
      const { token } = task;
      if (token.runId !== runId || !isForward(run, token) || call.index < received.index) continue;
      const text = `a poll sent at ${call.sent.at} got fence ${token.fence} of ${stepName(run, token.step)}, ${since}`;
      yield { runId, text };
    }
    yield* carriedOn(facts, run, received.index, since);
  }
  yield* cancelsReachChildren(facts);
  yield* pausesHold(facts);
  yield* whatIsHeldStays(facts);
  yield* pausedSchedulesRest(facts);
}

function* carriedOn(facts: Facts, run: RunFacts, from: number, since: string): Iterable<Finding> {
  const { runId } = run.run;
  for (const heartbeat of callsTo(facts, "Heartbeat")) {
    if (heartbeat.index < from) continue;
    for (const { answer } of heartbeat.answers) {
      if (answer.kind !== "heartbeat-answered") continue;
      for (const [index, token] of heartbeat.request.tokens.entries()) {
        if (token.runId !== runId || !isForward(run, token)) continue;
        if (answer.answers[index]?.kind !== "carry-on") continue;
        const text = `a heartbeat sent at ${heartbeat.sent.at} let fence ${token.fence} of ${stepName(run, token.step)} carry on, ${since}`;
        yield { runId, text };
      }
    }
  }
}
