// The body of a webhook: one JSON object with facts that do not change, so that each try of a
// delivery has the same body.
//
//   { id, kind, namespace, count, run: {...}, escalation?: {...}, end?: {...} }
//
// `count`: how many events of one cause the webhook stands for; run and escalation are those of the
// first.
import type { EpochMs } from "../core/model/attempt.ts";
import { nameAt, type Plan } from "../core/plan/plan.ts";
import type { DueDelivery } from "../store/outbox.ts";

export function bodyOf(delivery: DueDelivery, plan: Plan): string {
  const { id, kind, count, runId, n, run, escalation } = delivery;
  const { namespace, workflow, version, key, labels, createdAt, end } = run;
  return JSON.stringify({
    id,
    kind,
    namespace,
    count,
    run: { id: runId, key, workflow, version, labels, created: timeOf(createdAt) },
    ...(escalation && {
      escalation: {
        id: String(n),
        step: nameAt(plan, escalation.step),
        reason: escalation.reason,
        code: escalation.code,
        message: escalation.message,
        opened: timeOf(escalation.openedAt),
        ...(kind === "escalation-closed" && { closed_by: escalation.closedBy }),
      },
    }),
    ...(kind === "run-ended" &&
      end && { end: { state: end.state, reason: end.reason, at: timeOf(end.at) } }),
  });
}

function timeOf(at: EpochMs): string {
  return new Date(at).toISOString();
}
