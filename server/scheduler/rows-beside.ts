// Rows that the events of a pass need besides the run and its steps: ended attempts, signals,
// approvals, escalations, messages and outputs of items. Each kind is loaded only if an event needs
// it.

import type { EndedAttempt } from "../core/model/attempt.ts";
import type { RunEvent } from "../core/model/event.ts";
import type { Decision, OpenEscalation, StoredSignal } from "../core/model/history.ts";
import type { ItemOutputs } from "../core/model/items.ts";
import type { StoredMessage } from "../core/model/message.ts";
import { movingSide, type View } from "../core/model/model.ts";
import { type Plan, UNDELIVERED_IN_A_ROW_MAX } from "../core/plan/plan.ts";
import { secretDigest } from "../secret.ts";
import type { AttemptKey, MapRef, RunId, Tx } from "../store/store.ts";

interface RowsBeside {
  readonly attempts: ReadonlyMap<RunId, readonly EndedAttempt[]>;
  readonly signals: ReadonlyMap<RunId, readonly StoredSignal[]>;
  readonly decisions: ReadonlyMap<RunId, readonly Decision[]>;
  readonly escalations: ReadonlyMap<RunId, readonly OpenEscalation[]>;
  readonly messages: ReadonlyMap<RunId, readonly StoredMessage[]>;
  readonly outputs: ReadonlyMap<RunId, ReadonlyMap<number, ItemOutputs>>;
}

/** A run of the pass, as far as it is loaded. */
interface RunOfPass {
  readonly head: { readonly runId: RunId };
  readonly view: View;
  readonly laned: { readonly plan: Plan };
  readonly events: readonly { readonly event: RunEvent }[];
}

/** null: no event needs any. */
export async function rowsBeside(tx: Tx, runs: readonly RunOfPass[]): Promise<RowsBeside | null> {
  const attempts = runs.flatMap(attemptsWanted);
  const signals = runsWith(runs, ({ event, plan }) => event.kind === "signal" || plan.hasSignals);
  const decisions = runsWith(runs, ({ event }) => event.kind === "decide");
  const escalations = runs.flatMap(({ head, events }) =>
    events.flatMap(({ event }) =>
      event.kind === "answer" || event.kind === "escalation-timer"
        ? [{ runId: head.runId, n: event.n }]
        : [],
    ),
  );
  const messages = runsWith(runs, ({ event }) => event.kind === "messages");
  const outputs = runs.flatMap(mapsThatEnd);
  const asked = [attempts, signals, decisions, escalations, messages, outputs];
  if (asked.every((rows) => rows.length === 0)) return null;
  return {
    attempts: attempts.length === 0 ? new Map() : await tx.loadAttempts(attempts),
    signals: signals.length === 0 ? new Map() : await tx.loadSignals(signals),
    decisions: decisions.length === 0 ? new Map() : await tx.loadDecisions(decisions),
    escalations: escalations.length === 0 ? new Map() : await tx.loadEscalations(escalations),
    messages: messages.length === 0 ? new Map() : await tx.loadMessages(messages),
    outputs: outputs.length === 0 ? new Map() : await tx.loadItemOutputs(outputs),
  };
}

function mapsThatEnd({ head, view, events }: RunOfPass): readonly MapRef[] {
  return events.flatMap(({ event }) => {
    if (event.kind !== "due-timer" || event.on !== "items") return [];
    const { step: map } = event;
    const ends = view.steps.get(map)?.forward.kind === "WAITING";
    return ends ? [{ runId: head.runId, map }] : [];
  });
}

function runsWith(
  runs: readonly RunOfPass[],
  asks: (of: { event: RunEvent; plan: Plan }) => boolean,
): readonly RunId[] {
  return runs
    .filter(({ laned: { plan }, events }) => events.some(({ event }) => asks({ event, plan })))
    .map(({ head }) => head.runId);
}

/**
 * Late reports and callbacks are about attempts whose lease has ended. The timer of a callback that
 * did not come is about the attempt that deferred.
 */
function attemptsWanted({ head, view, events }: RunOfPass): readonly AttemptKey[] {
  return events.flatMap(({ event }) => {
    if (event.kind === "undelivered") return handOutsBefore(head.runId, event);
    if (event.kind !== "report" && event.kind !== "callback" && event.kind !== "due-timer")
      return [];
    const { runId } = head;
    const { step: no } = event;
    const step = view.steps.get(no);
    if (event.kind === "due-timer")
      return event.on === "callback" && step ? [{ runId, step: no, fence: step.fence }] : [];
    const lease = step ? movingSide(step)?.state : undefined;
    const held =
      lease?.kind === "LEASED" &&
      lease.fence === event.fence &&
      (event.kind === "report" ? lease.secret === event.secret : lease.task === "perform");
    return held ? [] : [{ runId, step: no, fence: event.fence }];
  });
}

/**
 * The hand-outs up to this one: how many in a row did not arrive determines how long the task is
 * held back. Verify tasks share the fence of their attempt.
 */
function handOutsBefore(
  runId: RunId,
  { step, fence, problem, unsent }: Extract<RunEvent, { kind: "undelivered" }>,
): readonly AttemptKey[] {
  if (problem !== undefined || unsent) return [];
  const most = Math.min(UNDELIVERED_IN_A_ROW_MAX, fence);
  return Array.from({ length: most }, (_, back) => ({ runId, step, fence: fence - back }));
}

/** The secret whose digest is in the callback token; null: no attempt has it. */
export function secretOf(
  view: View,
  event: Extract<RunEvent, { kind: "callback" }>,
): string | null {
  const forward = view.steps.get(event.step)?.forward;
  const secrets = [
    ...(forward?.kind === "LEASED" ? [forward.secret] : []),
    ...view.attempts.map(({ secret }) => secret),
  ];
  return secrets.find((secret) => secretDigest(secret) === event.secretDigest) ?? null;
}
