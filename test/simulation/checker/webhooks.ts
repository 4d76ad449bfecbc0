// Each end and escalation is sent to its webhooks, correctly and at least once: a part of G1, G14.
import { type FinalDelivery, isEndState } from "../history-rows.ts";
import type { Facts, RunFacts } from "./facts.ts";
import { schedulings } from "./schedulings.ts";
import type { Finding } from "./violation.ts";

/**
 * A part of G1. Of each end every hook that subscribes to it has one webhook, and of each
 * escalation, alone or with others of its cause; what is stored as delivered was received; and what
 * was received is stored, is the same each time, and states of the run what its rows hold.
 */
export function* webhooksReport(facts: Facts): Iterable<Finding> {
  const { deliveries } = facts.history.final;
  yield* unreportedEnds(facts);
  yield* unreportedEscalations(facts);
  const received = new Map<string, { readonly url: string; readonly body: string }>();
  const stored = new Map(deliveries.map((one) => [one.id, one]));
  for (const { id, url, body, at } of facts.webhooks) {
    const row = stored.get(id);
    const first = received.get(id) ?? { url, body };
    received.set(id, first);
    if (first.body !== body || first.url !== url)
      yield {
        runId: row?.runId ?? null,
        text: `webhook ${id} did not have the same body each time`,
      };
    const problem = row ? untrue(facts, row, body, at) : "is not stored";
    if (problem) yield { runId: row?.runId ?? null, text: `webhook ${id} ${problem}` };
  }
  for (const { id, state, hook, runId } of deliveries)
    if (state === "delivered" && !received.has(id))
      yield {
        runId,
        text: `webhook ${id} to "${hook}" is stored as delivered; no receiver got it`,
      };
}

function* unreportedEnds(facts: Facts): Iterable<Finding> {
  const { hooks, deliveries } = facts.history.final;
  const ends = deliveries.filter(({ kind }) => kind === "run-ended");
  const notified = Map.groupBy(ends, ({ runId, hook }) => `${runId}/${hook}`);
  const named = new Map(
    schedulings(facts).map(({ namespace, ask }) => [`${namespace}/${ask.mark}`, ask.notify]),
  );
  for (const { run } of facts.runs.values()) {
    const { runId, namespace, mark, rerunOf, parent, state } = run;
    const notify = rerunOf || parent ? null : named.get(`${namespace}/${mark}`);
    for (const hook of hooks.filter((one) => one.namespace === namespace)) {
      const isSubscribed = hook.events.includes("run-ended") || notify === hook.name;
      const wanted = isSubscribed && isEndState(state) ? 1 : 0;
      const found = notified.get(`${runId}/${hook.name}`)?.length ?? 0;
      if (found === wanted) continue;
      const text = `the end of run ${runId} (${state}) was sent to "${hook.name}" ${found} times, and should be ${wanted}`;
      yield { runId, text };
    }
  }
}

/** One that is closed in the pass that opens it need not be reported as opened. */
function* unreportedEscalations(facts: Facts): Iterable<Finding> {
  const { hooks, deliveries } = facts.history.final;
  for (const { namespace, name, events } of hooks) {
    const rows = [...facts.runs.values()].flatMap(({ run }) =>
      run.namespace === namespace ? run.escalations : [],
    );
    const closed = rows.filter(({ closedAt }) => closedAt !== null);
    const brief = closed.filter(({ openedAt, closedAt }) => openedAt === closedAt).length;
    const counts = (kind: FinalDelivery["kind"]): number =>
      deliveries
        .filter((one) => one.namespace === namespace && one.hook === name && one.kind === kind)
        .reduce((total, { count }) => total + count, 0);
    for (const [kind, most] of [
      ["escalation-opened", rows.length],
      ["escalation-closed", closed.length],
    ] as const) {
      const found = counts(kind);
      if (!events.includes(kind) || (found <= most && found >= most - brief)) continue;
      const text = `"${name}" of ${namespace} got ${found} × ${kind}, and there were ${most}`;
      yield { runId: null, text };
    }
  }
}

/** What is wrong with what a receiver got; null: nothing. */
function untrue(facts: Facts, row: FinalDelivery, body: string, at: number): string | null {
  const payload: unknown = JSON.parse(body);
  const run = facts.runs.get(row.runId);
  if (!run) return `is about run ${row.runId}, which is not stored`;
  const wanted = { id: row.id, kind: row.kind, namespace: row.namespace, count: row.count };
  if (!isObject(payload)) return "is no object";
  for (const [field, value] of Object.entries(wanted))
    if (payload[field] !== value)
      return `states that ${field} is ${payload[field]}, stored is ${value}`;
  return aboutRun(facts, row, run, payload, at);
}

function aboutRun(
  { clockBackMs }: Facts,
  { kind, n }: FinalDelivery,
  { run }: RunFacts,
  payload: Readonly<Record<string, unknown>>,
  at: number,
): string | null {
  if (!isObject(payload.run) || payload.run.id !== run.runId) return "is about another run";
  if (kind === "approval-requested") {
    if (isObject(payload.approval) && typeof payload.approval.step === "string") return null;
    return `names no step of run ${run.runId} that waits for approval`;
  }
  if (kind !== "run-ended") {
    if (run.escalations.some((row) => row.n === n)) return null;
    return `is about escalation ${n} of run ${run.runId}, which is not stored`;
  }
  if (
    !isObject(payload.end) ||
    payload.end.state !== run.state ||
    payload.end.reason !== run.reason
  )
    return `states that run ${run.runId} ended as ${JSON.stringify(payload.end)}, and it is ${run.state}`;
  return run.endedAt === null || run.endedAt > at + clockBackMs
    ? `came at ${at}, before run ${run.runId} had ended`
    : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** A part of G14: no receiver gets a run of another namespace. */
export function* webhooksDoNotLeak(facts: Facts): Iterable<Finding> {
  const { meta, final } = facts.history;
  const stored = new Map(final.deliveries.map((one) => [one.id, one]));
  for (const { id, body } of facts.webhooks)
    for (const { namespace, word } of meta.canaries) {
      const row = stored.get(id);
      if (!row || row.namespace === namespace || !body.includes(word)) continue;
      const text = `webhook ${id} to a hook of ${row.namespace} holds the canary of ${namespace}`;
      yield { runId: row.runId, text };
    }
}
