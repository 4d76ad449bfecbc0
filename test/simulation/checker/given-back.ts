// A task that an agent holds is not given back to its queue, since another agent would perform it
// too: a part of G3.
import { callsTo, type Facts, stepName } from "./facts.ts";
import { rowOf } from "./task-rows.ts";
import type { Finding } from "./violation.ts";

/** What is given back as undelivered came to no agent, or to one that has called its poll lost. */
export function* givenBackThoughListed(facts: Facts): Iterable<Finding> {
  const named = namedLost(facts);
  for (const { task, session } of facts.seen) {
    const { token, pollSeq, attempt } = task;
    const { runId, step, fence } = token;
    const run = facts.runs.get(runId);
    const outcome = run && rowOf(run, token, attempt)?.outcome.kind;
    if (!run || (outcome !== "undelivered" && outcome !== "unsent")) continue;
    if (named.has(`${session}/${pollSeq}`)) continue;
    const where = `${token.task} fence ${fence} of ${stepName(run, step)}`;
    yield { runId, text: `${where} reached an agent, but was given back as if it had not` };
  }
}

function namedLost(facts: Facts): ReadonlySet<string> {
  const calls = [...callsTo(facts, "PollTask"), ...callsTo(facts, "Heartbeat")];
  return new Set(
    calls.flatMap(({ request: { session, lostPolls } }) =>
      lostPolls.map((poll) => `${session}/${poll}`),
    ),
  );
}
