// One valid attempt of a step at a time, and one end of it: G3, G4 and G5.
import type { FinalAttempt } from "../history.ts";
import {
  allHandOuts,
  callsTo,
  type Facts,
  type HandOut,
  type Report,
  type RunFacts,
  stepName,
  tokenKey,
} from "./facts.ts";
import type { Bounds, Finding } from "./violation.ts";

/**
 * G3. The hand-outs of a step, by their rows and open leases, have fences 1, 2, 3 and so on, and
 * none begins before the one before has ended; what agents received are exactly these; no beat
 * renews a lease that was sent after a later hand-out.
 */
export function* oneAttemptAtATime(facts: Facts): Iterable<Finding> {
  for (const run of facts.runs.values()) {
    for (const handOuts of run.handOuts.values()) yield* overlaps(run, handOuts, facts.bounds);
  }
  yield* strayTasks(facts);
  yield* renewedBesideAnother(facts);
}

function* overlaps(
  run: RunFacts,
  handOuts: readonly HandOut[],
  { transactionMs }: Bounds,
): Iterable<Finding> {
  const { runId } = run.run;
  let before: HandOut | null = null;
  for (const handOut of handOuts) {
    const where = `fence ${handOut.fence} of ${stepName(run, handOut.step)}`;
    const expected: number = (before?.fence ?? 0) + 1;
    if (handOut.fence !== expected)
      yield { runId, text: `${where} was handed out where fence ${expected} should have been` };
    if (before && (before.end === null || before.end.at > handOut.startedAt + transactionMs)) {
      const still = before.end === null ? "is still out" : `ended at ${before.end.at}`;
      const text = `${where} was handed out at ${handOut.startedAt}, while fence ${before.fence} ${still}`;
      yield { runId, text };
    }
    before = handOut;
  }
}

function* strayTasks(facts: Facts): Iterable<Finding> {
  const first = new Map<string, { readonly secret: string; readonly session: string }>();
  for (const { task, session } of facts.seen) {
    const { token } = task;
    const { runId } = token;
    const run = facts.runs.get(runId);
    const where = run
      ? `${token.task} fence ${token.fence} of ${stepName(run, token.step)}`
      : tokenKey(token);
    const known = first.get(tokenKey(token));
    if (known && known.session !== session)
      yield { runId, text: `${where} was handed to two sessions, ${known.session} and ${session}` };
    else if (known && known.secret !== token.secret)
      yield { runId, text: `${where} was handed out twice, with two secrets` };
    first.set(tokenKey(token), { secret: token.secret, session });
    const stored = run?.handOuts
      .get(token.step)
      ?.find(({ fence, task: kind }) => fence === token.fence && kind === token.task);
    if (!stored) yield { runId, text: `${where} reached an agent, but no row knows of it` };
    else if (stored.secret !== null && stored.secret !== token.secret)
      yield { runId, text: `${where} reached an agent with another secret than its lease has` };
  }
}

function* renewedBesideAnother(facts: Facts): Iterable<Finding> {
  for (const call of callsTo(facts, "Heartbeat")) {
    for (const { answer } of call.answers) {
      if (answer.kind !== "beaten") continue;
      for (const [place, token] of call.request.tokens.entries()) {
        if (answer.answers[place]?.kind !== "carry-on") continue;
        const run = facts.runs.get(token.runId);
        const later = run && laterThan(run, token.step, token.fence);
        const handedOutAt = (later?.startedAt ?? 0) + facts.bounds.transactionMs;
        if (!run || !later || handedOutAt >= call.sent.at) continue;
        const text = `fence ${token.fence} of ${stepName(run, token.step)} was told to carry on at ${call.sent.at}, after fence ${later.fence} had been handed out at ${later.startedAt}`;
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
      const { resultFence } = step;
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
  const kept = run.run.attempts.some(
    (row) =>
      row.kind === "late" &&
      row.step === token.step &&
      row.fence === token.fence &&
      (row.outcome.kind === "success") === success,
  );
  if (kept) return;
  const text = `the late ${outcome.kind} of fence ${token.fence} of ${stepName(run, token.step)} was not kept as evidence`;
  yield { runId: token.runId, text };
}

/**
 * G5. A step that succeeded has one success row, of its result's fence, and any other step has
 * none (the same for its undo); nothing is handed out after a success; each step began only after
 * all that it needs had succeeded, and has begun if they have.
 */
export function* oneCompletionOneActivation(facts: Facts): Iterable<Finding> {
  for (const run of facts.runs.values()) {
    const { runId } = run.run;
    const findings: string[] = [];
    for (const step of run.plan.steps) {
      const name = stepName(run, step.no);
      findings.push(...completions(run, step.no, name));
      findings.push(...activation(run, step.no, name, facts.bounds));
    }
    for (const text of findings) yield { runId, text };
  }
}

function completions(run: RunFacts, no: number, name: string): string[] {
  const step = run.run.steps.find((row) => row.no === no);
  const rows = run.run.attempts.filter((row) => row.step === no && row.outcome.kind === "success");
  const found: string[] = [];
  const sides = [
    { kind: "perform", done: step?.forward.kind === "SUCCEEDED", what: "performed" },
    { kind: "compensate", done: step?.undo.kind === "DONE", what: "undone" },
  ] as const;
  for (const { kind, done, what } of sides) {
    const successes = rows.filter((row) => row.kind === kind);
    if (successes.length > 1) found.push(`${name} was ${what} ${successes.length} times`);
    if (done && successes.length === 0) found.push(`${name} is ${what}, but no attempt did it`);
    if (!done && successes.length > 0) found.push(`${name} has a success, but is not ${what}`);
    found.push(...handedOutAfter(run, successes[0], name));
  }
  const [first] = rows.filter((row) => row.kind === "perform");
  const fence = step?.resultFence ?? null;
  if (first && fence !== null && first.fence !== fence)
    found.push(`${name} takes its result from fence ${fence}, but fence ${first.fence} succeeded`);
  return found;
}

function handedOutAfter(
  run: RunFacts,
  success: FinalAttempt | undefined,
  name: string,
): readonly string[] {
  const again = run.handOuts
    .get(success?.step ?? -1)
    ?.find(({ task, fence }) => success && task === success.kind && fence > success.fence);
  return again
    ? [`${name} was handed out again with fence ${again.fence} after it had succeeded`]
    : [];
}

function activation(
  run: RunFacts,
  no: number,
  name: string,
  { transactionMs }: Bounds,
): readonly string[] {
  const needs = run.plan.steps[no]?.needs ?? [];
  const step = run.run.steps.find((row) => row.no === no);
  const takenAt = run.handOuts.get(no)?.[0]?.startedAt ?? null;
  const begunAt = step?.firstReadyAt ?? null;
  if (takenAt !== null && (begunAt === null || takenAt + transactionMs < begunAt))
    return [`${name} was handed out at ${takenAt}, but it was made ready at ${begunAt}`];
  const ends = needs.map((need) =>
    run.run.attempts.find(
      (row) => row.step === need && row.kind === "perform" && row.outcome.kind === "success",
    ),
  );
  const idOf = (place: number): string => run.plan.steps[needs[place] ?? -1]?.id ?? "";
  if (begunAt === null) {
    const undecided = run.run.reason === null || run.run.reason === "DONE";
    const due = undecided && ends.every((end) => end !== undefined);
    return due ? [`${name} was never made ready, though all that it needs has succeeded`] : [];
  }
  return ends.flatMap((end, place) => {
    if (end && end.endedAt <= begunAt + transactionMs) return [];
    const when = end ? `which succeeded at ${end.endedAt}` : "which never succeeded";
    return [`${name} was ready at ${begunAt}, but needs "${idOf(place)}", ${when}`];
  });
}
