// An unknown outcome is not repeated blindly, and strategies share no key: parts of G12.
import type { OutcomeFact } from "../history-rows.ts";
import {
  answered,
  type Facts,
  type HandOut,
  quietFrom,
  type RunFacts,
  reusedStep,
  stepName,
} from "./facts.ts";
import { taskName, tasksOf } from "./hand-outs.ts";
import { planStepsOf } from "./step-keys.ts";
import type { Bounds, Finding } from "./violation.ts";

/**
 * After an attempt whose outcome is unknown, a `once` step is performed again only on a person's
 * answer, a `verifiable` one also after a verify that finds that nothing happened; and nothing of
 * either is handed out before a lost lease has ended and settled.
 */
export function* blindRepeats(run: RunFacts, { transactionMs }: Bounds): Iterable<Finding> {
  const { runId } = run.run;
  for (const { no, effects } of planStepsOf(run)) {
    if (effects === "idempotent") continue;
    const tasks = tasksOf(run, no);
    for (const [index, handOut] of tasks.entries()) {
      const next = tasks[index + 1];
      if (!next || handOut.task !== "perform" || !handOut.end) continue;
      const quietAt = quietFrom(run, handOut) ?? 0;
      if (!handOut.settled && quietAt > next.startedAt + transactionMs)
        yield {
          runId,
          text: `${taskName(run, next)} was handed out at ${next.startedAt}, but fence ${handOut.fence} of it may act until ${quietAt}`,
        };
      const again = tasks.slice(index + 1).find(({ task }) => task !== "verify");
      if (again?.task !== "perform" || !isUnknown(handOut.end.outcome)) continue;
      if (allowed(run, handOut, again, transactionMs)) continue;
      const missing =
        effects === "once" ? "no person approved it" : "no verify had found that nothing happened";
      const text = `fence ${again.fence} of ${stepName(run, no)}, whose effects are ${effects}, followed an unknown outcome of fence ${handOut.fence}, and ${missing}`;
      yield { runId, text };
    }
  }
}

function isUnknown(outcome: OutcomeFact): boolean {
  return outcome.kind === "unknown" || (outcome.kind === "cancelled" && !outcome.noEffect);
}

function allowed(
  run: RunFacts,
  { step, fence, end }: HandOut,
  next: HandOut,
  transactionMs: number,
): boolean {
  const since = (end?.at ?? 0) - transactionMs;
  const isApproved = answered(run, step, "retry", "retry-changed").some(
    ({ at }) => at >= since && at <= next.startedAt + transactionMs,
  );
  const found = run.verifies.get(step)?.some(({ fence: about, end: verified }) => {
    const outcome = verified?.outcome;
    return about === fence && outcome?.kind === "failure" && outcome.noEffect;
  });
  return isApproved || (found ?? false);
}

/**
 * The key under which an effect is made names its run, its step and its strategy: tries of one
 * strategy have one, two strategies never share it, and a verify and an undo receive the key of
 * the effect that they are about.
 */
export function* keysOfStrategies(facts: Facts): Iterable<Finding> {
  const owners = new Map<string, string>();
  for (const { task } of facts.seen) {
    const { runId, step, task: kind, fence } = task.token;
    const run = facts.runs.get(runId);
    const own = run ? stepName(run, step) : `step ${step} of run ${runId}`;
    const of = run && reusedStep(run, step)?.of;
    const where = of ? own.replace(runId, of) : own;
    const key = task.effectKey ?? task.idempotencyKey;
    const owner = owners.get(key) ?? where;
    owners.set(key, owner);
    if (owner !== where) yield { runId, text: `the key "${key}" is of ${owner} and of ${where}` };
    if (kind !== "perform" && task.idempotencyKey === key)
      yield { runId, text: `the ${kind} of fence ${fence} of ${where} has the key of its effect` };
  }
  const performs = Map.groupBy(
    facts.seen.filter(({ task: { token } }) => token.task === "perform"),
    ({ task: { token } }) => `${token.runId}/${token.step}`,
  );
  for (const run of facts.runs.values())
    for (const { no } of planStepsOf(run))
      yield* mixedKeys(run, no, performs.get(`${run.run.runId}/${no}`) ?? []);
}

/** By fence, keys of performs change only where the row of the step shows that a strategy began. */
function* mixedKeys(run: RunFacts, no: number, performs: Facts["seen"]): Iterable<Finding> {
  const { runId } = run.run;
  const row = run.run.steps.find((one) => one.no === no);
  // A gate is another one after each wave.
  const count = row?.strategies.length ?? 1;
  const strategies = row?.items ? row.items.started + count - 1 : count;
  const seen = performs.map(({ task }) => task).sort((a, b) => a.token.fence - b.token.fence);
  const keys = new Set(seen.map(({ idempotencyKey }) => idempotencyKey));
  if (keys.size > strategies)
    yield {
      runId,
      text: `${stepName(run, no)} was performed under ${keys.size} keys in ${strategies} strategies`,
    };
  for (const [index, task] of seen.entries()) {
    const before = seen[index - 1];
    if (!before) continue;
    const same = before.idempotencyKey === task.idempotencyKey;
    const lane = `${before.queue}/${before.taskName}/${before.inputDigest}`;
    const sameLane = lane === `${task.queue}/${task.taskName}/${task.inputDigest}`;
    if (same && !sameLane)
      yield {
        runId,
        text: `fences ${before.token.fence} and ${task.token.fence} of ${stepName(run, no)} share the key "${task.idempotencyKey}" over two strategies`,
      };
  }
}
