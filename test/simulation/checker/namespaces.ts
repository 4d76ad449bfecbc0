// Namespaces do not leak: G14.
import type { Request } from "../history.ts";
import type { Call, Facts, ReceivedAnswer } from "./facts.ts";
import { runsIn } from "./states.ts";
import type { Finding } from "./violation.ts";
import { webhooksDoNotLeak } from "./webhooks.ts";

/**
 * G14. No answer to a call in one namespace, errors included, holds the canary word of another or
 * names a run of another; no token of another namespace is renewed or accepted, and no webhook
 * reports a run of another.
 */
export function* namespacesDoNotLeak(facts: Facts): Iterable<Finding> {
  yield* webhooksDoNotLeak(facts);
  const words = new Map(
    facts.history.meta.canaries.map(({ word, namespace }) => [word, namespace]),
  );
  for (const call of facts.calls) {
    const { namespace, rpc } = call.request;
    for (const received of call.answers) {
      const where = `the answer to ${rpc} of ${call.sent.process} in namespace ${namespace}`;
      for (const word of received.record.canaries) {
        const owner = words.get(word);
        if (owner === undefined || owner === namespace) continue;
        yield { runId: null, text: `${where} holds the canary "${word}" of namespace ${owner}` };
      }
      for (const runId of new Set(runsTouched(call.request, received))) {
        const owner = facts.runs.get(runId)?.run.namespace;
        if (owner === undefined || owner === namespace) continue;
        yield { runId, text: `${where} is about run ${runId}, which is of namespace ${owner}` };
      }
    }
  }
}

/** Runs that the caller learned something about, other than that it may not. */
function runsTouched(request: Call["request"], { answer }: ReceivedAnswer): readonly string[] {
  switch (answer.kind) {
    case "scheduled":
      return [answer.runId];
    case "batch":
      return answer.results.flatMap((one) => (one.kind === "scheduled" ? [one.runId] : []));
    case "polled":
      return answer.tasks.map(({ token }) => token.runId);
    case "completed":
      return [
        ...answer.tasks.map(({ token }) => token.runId),
        ...tokensOf(request).filter((_, index) => !isNotFound(answer.answers[index])),
      ];
    case "heartbeat-answered":
      return tokensOf(request).filter((_, index) => !isNotFound(answer.answers[index]));
    default:
      return runsIn(answer).map(({ runId }) => runId);
  }
}

function tokensOf(request: Request): readonly string[] {
  if (request.rpc === "Heartbeat") return request.tokens.map(({ runId }) => runId);
  return request.rpc === "Complete" ? request.results.map(({ token }) => token.runId) : [];
}

/** The answer that a token of another namespace must get. */
function isNotFound(answer: { readonly kind: string; readonly reason?: string } | undefined) {
  return answer === undefined || answer.reason === "TASK_NOT_FOUND";
}
