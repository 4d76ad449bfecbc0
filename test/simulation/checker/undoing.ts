// Undoing is whole, in order and not too early; a cancel stops what goes forward: G11 and G16.
import type { FinalAttempt } from "../history.ts";
import {
  allHandOuts,
  callsTo,
  endedBySupervisor,
  type Facts,
  fateOf,
  type HandOut,
  type RunFacts,
  stepName,
  tokenKey,
} from "./facts.ts";
import type { Bounds, Finding } from "./violation.ts";

/**
 * G11. By the rows: a COMPENSATED run has undone each step that can be undone and has left an
 * effect; an undo began after every forward attempt had reported, or its lease plus settle had
 * ended, and after the undos of all steps downstream had succeeded. By the remote service: each
 * effect that was made before that moment is undone at the end.
 */
export function* undoneInReverse(facts: Facts): Iterable<Finding> {
  for (const run of facts.runs.values()) {
    const undos = allHandOuts(run).filter(({ task }) => task === "compensate");
    yield* undoneTooEarly(run, undos, facts.bounds);
    yield* undoneOutOfOrder(run, undos, facts.bounds);
    yield* leftBehind(facts, run);
  }
  yield* leftAtRemote(facts);
}

function* undoneTooEarly(
  run: RunFacts,
  undos: readonly HandOut[],
  { transactionMs }: Bounds,
): Iterable<Finding> {
  const [first] = [...undos].sort((a, b) => a.startedAt - b.startedAt);
  if (!first) return;
  const { runId } = run.run;
  const undo = `the undo of ${stepName(run, first.step)} was handed out at ${first.startedAt}`;
  for (const handOut of allHandOuts(run)) {
    if (handOut.task !== "perform") continue;
    const quietAt = quietFrom(run, handOut);
    if (quietAt !== null && quietAt <= first.startedAt + transactionMs) continue;
    const until = quietAt === null ? "is still out" : `may act until ${quietAt}`;
    const text = `${undo}, but fence ${handOut.fence} of ${stepName(run, handOut.step)} ${until}`;
    yield { runId, text };
  }
}

/** From when on a hand-out can have no further effect; null: it is still out. */
function quietFrom({ plan }: RunFacts, { step, end }: HandOut): number | null {
  if (!end) return null;
  const unheard = end.outcome.kind === "unknown" && endedBySupervisor(end.outcome);
  return end.at + (unheard ? (plan.steps[step]?.timeouts.settleMs ?? 0) : 0);
}

function* undoneOutOfOrder(
  run: RunFacts,
  undos: readonly HandOut[],
  { transactionMs }: Bounds,
): Iterable<Finding> {
  for (const undo of undos) {
    for (const no of downstream(run, undo.step)) {
      const state = run.run.steps.find((row) => row.no === no)?.undo.kind ?? "NONE";
      if (state === "NONE") continue;
      const done = undos.find(({ step, end }) => step === no && end?.outcome.kind === "success");
      if (done?.end && done.end.at <= undo.startedAt + transactionMs) continue;
      const when = done?.end ? `only at ${done.end.at}` : "not yet";
      const text = `${stepName(run, undo.step)} was being undone at ${undo.startedAt}, but "${run.plan.steps[no]?.id}" after it was undone ${when}`;
      yield { runId: run.run.runId, text };
    }
  }
}

function downstream({ plan }: RunFacts, from: number): ReadonlySet<number> {
  const found = new Set(plan.steps[from]?.successors ?? []);
  // A set hands out what is added to it while it is walked.
  for (const no of found) for (const next of plan.steps[no]?.successors ?? []) found.add(next);
  return found;
}

function* leftBehind(facts: Facts, run: RunFacts): Iterable<Finding> {
  const { runId, state, steps } = run.run;
  const effects = run.plan.steps.filter(
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
    if (run.handOuts.get(no)?.some(({ task }) => task === "perform")) continue;
    yield { runId, text: `${stepName(run, no)} was undone, but nobody had ever performed it` };
  }
}

/** Ended without undoing, though nothing but undoing was ever asked for. */
function mustUndo(facts: Facts, { run, plan }: RunFacts): boolean {
  if (run.state === "FAILED") {
    if (run.reason === "TIMED_OUT") return true;
    return !run.steps.some(
      ({ no, forward }) => forward.kind === "FAILED" && plan.steps[no]?.onFailure === "fail",
    );
  }
  if (run.state !== "CANCELLED") return false;
  const cancels = callsTo(facts, "CancelRun").filter(({ request }) => request.runId === run.runId);
  return cancels.every(({ request }) => request.undo);
}

/**
 * A success, or something unsettled that no later `no_effect` has settled. A row that a second
 * report has settled no longer shows what the first one claimed, so the reports are asked too.
 */
function hasEffect(facts: Facts, { run }: RunFacts, no: number): boolean {
  const { runId } = run;
  const claimed = (row: FinalAttempt): boolean =>
    facts.reports
      .get(tokenKey({ runId, step: no, task: "perform", fence: row.fence }))
      ?.some(({ report: { outcome } }) => "noEffect" in outcome && outcome.noEffect) ?? false;
  return run.attempts
    .filter((row) => row.step === no && row.kind === "perform")
    .sort((one, other) => one.fence - other.fence)
    .reduce((marked, row) => markAfter(marked, row, claimed(row)), false);
}

function markAfter(marked: boolean, { outcome }: FinalAttempt, claimed: boolean): boolean {
  if (outcome.kind === "success" || outcome.kind === "unknown") return true;
  if (outcome.kind === "cancelled") return !outcome.noEffect;
  return outcome.kind === "failure" && (outcome.noEffect || claimed) ? false : marked;
}

function* leftAtRemote(facts: Facts): Iterable<Finding> {
  const undone = new Set(facts.effects.flatMap(({ did, key }) => (did === "undone" ? [key] : [])));
  for (const { did, key, runId, step, fence, at } of facts.effects) {
    const run = facts.runs.get(runId);
    if (!run || did !== "made" || undone.has(key) || run.run.state !== "COMPENSATED") continue;
    if (!run.plan.steps[step]?.compensate) continue;
    const handOut = run.handOuts
      .get(step)
      ?.find((other) => other.task === "perform" && other.fence === fence);
    // Made by an agent that was frozen past its lease and settle: not promised.
    const quietAt = handOut ? quietFrom(run, handOut) : null;
    if (quietAt !== null && at > quietAt) continue;
    const text = `the remote service still has the effect "${key}" of ${stepName(run, step)}, made at ${at}, in a COMPENSATED run`;
    yield { runId, text };
  }
}

/**
 * G16. After the answer to an accepted CancelRun was heard, no perform task of the run is handed
 * out, by its row or to a poll sent later, and no beat sent later lets one carry on.
 */
export function* cancelStopsForward(facts: Facts): Iterable<Finding> {
  for (const cancel of callsTo(facts, "CancelRun")) {
    const [heard] = cancel.answers;
    const { runId } = cancel.request;
    const run = facts.runs.get(runId);
    if (!heard || !run || fateOf(cancel).kind !== "accepted") continue;
    const since = `after the cancel of run ${runId} was acknowledged at ${heard.at}`;
    for (const handOut of allHandOuts(run)) {
      if (handOut.task !== "perform" || handOut.startedAt <= heard.at) continue;
      const text = `fence ${handOut.fence} of ${stepName(run, handOut.step)} was handed out at ${handOut.startedAt}, ${since}`;
      yield { runId, text };
    }
    for (const { task, call } of facts.seen) {
      const { token } = task;
      if (token.runId !== runId || token.task !== "perform" || call.place < heard.place) continue;
      const text = `a poll sent at ${call.sent.at} got fence ${token.fence} of ${stepName(run, token.step)}, ${since}`;
      yield { runId, text };
    }
    yield* carriedOn(facts, run, heard.place, since);
  }
}

function* carriedOn(facts: Facts, run: RunFacts, place: number, since: string): Iterable<Finding> {
  const { runId } = run.run;
  for (const beat of callsTo(facts, "Heartbeat")) {
    if (beat.place < place) continue;
    for (const { answer } of beat.answers) {
      if (answer.kind !== "beaten") continue;
      for (const [index, token] of beat.request.tokens.entries()) {
        if (token.runId !== runId || token.task !== "perform") continue;
        if (answer.answers[index]?.kind !== "carry-on") continue;
        const text = `a beat sent at ${beat.sent.at} let fence ${token.fence} of ${stepName(run, token.step)} carry on, ${since}`;
        yield { runId, text };
      }
    }
  }
}
