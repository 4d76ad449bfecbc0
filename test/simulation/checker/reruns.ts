// Runs that do another one again: parts of G1, G2 and G13.
import type { Step } from "../../../server/core/model/model.ts";
import { isEndState } from "../history-rows.ts";
import { callsTo, type Facts, fateOf, type RunFacts, reusedStep } from "./facts.ts";
import { wasRepeated } from "./schedulings.ts";
import type { Finding } from "./violation.ts";

type Asked = ReturnType<typeof rerunsAsked>[number];

function rerunsAsked(facts: Facts) {
  return callsTo(facts, "RetryRun", "RerunFrom");
}

/**
 * An acknowledged re-run is stored as what was asked for, and what is stored was asked for. What it
 * reuses ended well in a run that had ended, and was not undone; it performs nothing of that again;
 * and one from what did not succeed reuses all that it can.
 */
export function* lostReruns(facts: Facts): Iterable<Finding> {
  const asked = rerunsAsked(facts);
  for (const { request, answers } of asked)
    for (const { answer } of answers) {
      if (answer.kind !== "scheduled") continue;
      const { runId } = answer;
      const stored = facts.runs.get(runId)?.run.rerunOf;
      if (stored?.runId === request.runId && stored.from === request.from) continue;
      const text = `run ${runId} was acknowledged as run ${request.runId} done again from ${fromName(request)}, and is stored as something else`;
      yield { runId, text };
    }
  for (const run of facts.runs.values()) {
    const { runId, rerunOf } = run.run;
    if (!rerunOf) continue;
    const old = facts.runs.get(rerunOf.runId);
    if (!old || !asked.some(({ request }) => request.runId === rerunOf.runId))
      yield { runId, text: `run ${runId} does run ${rerunOf.runId} again; no call asked for it` };
    else yield* wronglyReused(run, old, facts.bounds.transactionMs);
  }
}

function fromName({ from }: Asked["request"]): string {
  if (from === null) return "what failed";
  return from === "" ? "the start" : `"${from}"`;
}

function* wronglyReused(run: RunFacts, old: RunFacts, transactionMs: number): Iterable<Finding> {
  const { runId, reused, createdAt } = run.run;
  const about = `run ${runId}, which does run ${old.run.runId} again,`;
  if (!isEndState(old.run.state) || (old.run.endedAt ?? 0) > createdAt + transactionMs)
    yield { runId, text: `${about} was made before that had ended` };
  for (const { step, of } of reused) {
    const id = run.plan.steps[step]?.id ?? "";
    const was = rowOf(old, id);
    const maker = (was && reusedStep(old, was.no)?.of) ?? old.run.runId;
    if (!was || !mayReuse(was))
      yield { runId, text: `${about} reuses "${id}", which did not end well` };
    else if (of !== maker)
      yield { runId, text: `${about} reuses "${id}" of run ${of}; its effect is of run ${maker}` };
    if (run.handOuts.get(step)?.some(({ task }) => task === "perform"))
      yield { runId, text: `${about} reuses "${id}", and performed it again` };
  }
  for (const id of forgotten(run, old))
    yield { runId, text: `${about} does "${id}" again, which had ended well` };
}

/** What could have been reused by one that begins at what did not succeed, and was not. */
function forgotten({ run, plan }: RunFacts, old: RunFacts): readonly string[] {
  if (run.rerunOf?.from !== null) return [];
  const isReused = new Set(run.reused.map(({ step }) => step));
  return plan.steps.flatMap(({ no, id, always, needs, work }) => {
    const was = rowOf(old, id);
    const sameWork = old.plan.steps.find((one) => one.id === id)?.work.kind === work.kind;
    if (isReused.has(no) || always || !sameWork || !was || !mayReuse(was)) return [];
    return needs.every((need) => isReused.has(need)) ? [id] : [];
  });
}

function rowOf({ run, plan }: RunFacts, id: string): Step | undefined {
  const no = plan.steps.find((step) => step.id === id)?.no;
  return run.steps.find((step) => step.no === no);
}

function mayReuse({ forward, undo, strategies }: Step): boolean {
  if (undo.kind !== "NONE") return false;
  if (forward.kind === "SKIPPED") return true;
  const mark = strategies.at(-1)?.effectStatus;
  return forward.kind === "SUCCEEDED" && mark !== "UNSETTLED" && mark !== "UNDONE";
}

/** A part of G2: one request names one new run, made once, and is one request. */
export function* oneRequestOneRerun(facts: Facts): Iterable<Finding> {
  for (const [name, calls] of byRequest(facts)) {
    const received = calls.flatMap(({ answers }) => answers.map(({ answer }) => answer));
    const made = received.filter((answer) => answer.kind === "scheduled");
    const runIds = new Set(made.map(({ runId }) => runId));
    const digests = new Set(calls.map(({ request }) => request.digest));
    const [runId = null] = runIds;
    if (runIds.size > 1)
      yield { runId, text: `${name} was answered with several runs: ${[...runIds].join(", ")}` };
    if (made.filter(({ created }) => created).length > 1)
      yield { runId, text: `${name} was answered twice with a run that it had just created` };
    if (received.some((one) => one.kind === "refused" && one.reason === "KEY_REUSED"))
      if (digests.size === 1)
        yield { runId, text: `${name} was refused as reused, but only one request was ever sent` };
  }
}

function byRequest(facts: Facts): ReadonlyMap<string, readonly Asked[]> {
  return Map.groupBy(
    rerunsAsked(facts),
    ({ request: { requestId, runId } }) => `request "${requestId}" to do run ${runId} again`,
  );
}

/** A part of G13, by the number of requests: each new run needs one that was not refused. */
export function* refusedReruns(facts: Facts): Iterable<Finding> {
  const open = new Map<string, Set<string>>();
  for (const call of rerunsAsked(facts)) {
    const { runId, requestId } = call.request;
    // A run may end before a copy of the call comes.
    if (fateOf(call).kind === "refused" && !wasRepeated(facts, call)) continue;
    open.set(runId, new Set([...(open.get(runId) ?? []), requestId]));
  }
  const again = [...facts.runs.values()].flatMap(({ run }) => run.rerunOf?.runId ?? []);
  for (const [runId, made] of Map.groupBy(again, (one) => one)) {
    const most = open.get(runId)?.size ?? 0;
    if (made.length <= most) continue;
    const text = `run ${runId} was done again ${made.length} times; ${most} requests for it were not refused`;
    yield { runId, text };
  }
}
