// A task that an agent omits from a list is lost only if the list is complete: a part of G8.
import { callsTo, type Facts, type Seen, stepName } from "./facts.ts";
import type { Finding } from "./violation.ts";

/**
 * A task that arrived is declared forgotten only after a heartbeat of its session had been sent
 * that lists all up to its poll, and not this.
 */
export function* forgottenIsTrue(facts: Facts): Iterable<Finding> {
  const heartbeats = callsTo(facts, "Heartbeat").filter(({ request }) => request.listsAllTo > 0);
  for (const run of facts.runs.values()) {
    const { runId, interventions } = run.run;
    for (const { rule, step, fence, n, actedAt } of interventions) {
      if (rule !== "forgotten" || step === null) continue;
      const tasks = facts.seen.filter(
        ({ task }) =>
          task.token.runId === runId &&
          task.token.step === step &&
          task.token.fence === fence &&
          numberOf(task) === n,
      );
      const leaves = (seen: Seen): boolean =>
        heartbeats.some(
          ({ request, sent }) =>
            request.session === seen.session &&
            request.listsAllTo >= seen.task.pollSeq &&
            sent.at <= actedAt + facts.clockBackMs &&
            !request.tokens.some(({ secret }) => secret === seen.task.token.secret),
        );
      if (tasks.length === 0 || tasks.some(leaves)) continue;
      const text = `fence ${fence} of ${stepName(run, step)} was declared forgotten at ${actedAt}, and no heartbeat that lists all had left it out`;
      yield { runId, text };
    }
  }
}

/** As interventions about verifies are distinguished. */
function numberOf({ token, attempt }: Seen["task"]): number {
  return token.task === "verify" ? 2 * attempt + 1 : 1;
}
