// Loads what the events of a pass need: the steps that they name, and the rows beside these steps
// (ended attempts, signals, approvals, escalations, messages, outputs of items, heartbeats).
// Each kind is loaded by one statement for all runs of a batch, and only if an event needs it.

import type { EndedAttempt } from "../core/model/attempt.ts";
import { type RunEvent, stepsToLoad } from "../core/model/event.ts";
import type { Decision, OpenEscalation, StoredSignal } from "../core/model/history.ts";
import type { ItemOutputs } from "../core/model/items.ts";
import type { StoredMessage } from "../core/model/message.ts";
import { emptyView, isEnded, movingSide, type View } from "../core/model/model.ts";
import { type Plan, UNDELIVERED_IN_A_ROW_MAX } from "../core/plan/plan.ts";
import { DroverError } from "../errors.ts";
import type { Audit } from "../store/audit.ts";
import type { Actor } from "../store/pass-record.ts";
import type { LanedPlan, Plans } from "../store/plans.ts";
import type { AttemptKey, MapRef, RunHead, RunId, RunRef, Tx } from "../store/store.ts";
import { secretDigest } from "../store/task-secret.ts";
import { withEndedChildren } from "./children.ts";
import { withQuestions } from "./lane-questions.ts";
import { type Suspensions, withSuspensions } from "./suspensions.ts";
import type { TypicalDurations } from "./typical-durations.ts";

/** An event of a run, as it was submitted. */
export interface Submitted {
  readonly run: RunRef;
  readonly event: RunEvent;
  readonly actor: Actor | null;
  readonly draw: number;
  /** Recorded if the event changes the run; left out: nothing is. */
  readonly audit?: Audit;
}

export interface LoadOptions {
  readonly plans: Plans;
  readonly isRetryable: (error: unknown) => boolean;
  readonly suspensions: Suspensions;
  readonly typical: TypicalDurations;
}

/** A run of the batch, with what its events need. */
export interface Loaded {
  readonly head: RunHead;
  readonly view: View;
  readonly laned: LanedPlan;
  readonly events: readonly EvaluatedEvent[];
}

/** An event as it is evaluated: with the facts that were read after the lock. */
interface EvaluatedEvent {
  readonly item: Submitted;
  readonly event: RunEvent;
  readonly draw: number;
}

/** `failed`: events of runs that have no plan. They fail alone. */
export async function loadViews(
  options: LoadOptions,
  tx: Tx,
  heads: readonly RunHead[],
  items: readonly Submitted[],
): Promise<{ readonly views: readonly Loaded[]; readonly failed: Map<Submitted, unknown> }> {
  const byRun = new Map<RunId, EvaluatedEvent[]>();
  for (const item of items) {
    const events = byRun.get(item.run.runId) ?? [];
    byRun.set(item.run.runId, events);
    events.push({ item, event: item.event, draw: item.draw });
  }
  const failed = new Map<Submitted, unknown>();
  const planned = await Promise.allSettled(
    heads.map((head) => options.plans.get(head.namespaceId, head.definitionId)),
  );
  const found = heads.flatMap((head, place) => {
    const plan = planned[place];
    const events = byRun.get(head.runId) ?? [];
    if (plan?.status === "fulfilled") return [{ head, laned: plan.value, events }];
    const error: unknown = plan?.reason;
    if (error instanceof DroverError || options.isRetryable(error)) throw error;
    for (const { item } of events) failed.set(item, error);
    return [];
  });
  const wanted = found.flatMap(({ head, laned, events }) => {
    if (isEnded(head.run.state)) return [];
    const of = events.map(({ event }) => event);
    return [{ runId: head.runId, ...stepsToLoad(head.run.state.kind, laned.plan, of) }];
  });
  const steps = wanted.length === 0 ? new Map() : await tx.loadSteps(wanted);
  const { suspensions } = options;
  const hasSuspended = suspensions.hasSuspended();
  const views = found.map(({ head, laned, events }) => {
    const view: View = { ...emptyView(head.run), steps: steps.get(head.runId) ?? new Map() };
    const suspended = hasSuspended ? withSuspensions(view, laned, suspensions) : view;
    return { head, laned, events, view: suspended };
  });
  const attempts = views.flatMap(attemptsWanted);
  if (attempts.length === 0 && !views.some(needsMore)) return { views, failed };
  return { views: await withMore(options, tx, views, attempts), failed };
}

/**
 * Whether anything besides the run, its steps and ended attempts is needed. A report in time rarely
 * does.
 */
function needsMore({ laned, events }: Loaded): boolean {
  if (laned.evaluator.needsFacts || laned.plan.hasSignals) return true;
  return events.some(({ event }) => event.kind !== "report");
}

/** What only some events need. Each part costs nothing if no event of the batch needs it. */
async function withMore(
  { plans, typical }: LoadOptions,
  tx: Tx,
  views: readonly Loaded[],
  attempts: readonly AttemptKey[],
): Promise<readonly Loaded[]> {
  const seen = withSecrets(await withRowsBeside(tx, await withFacts(tx, views), attempts));
  const known = await withEndedChildren(tx, plans, seen);
  return withQuestions(tx, await withHeartbeats(tx, typical, known));
}

/** What expressions may use, for the steps that the pass has loaded. */
async function withFacts(tx: Tx, loaded: readonly Loaded[]): Promise<readonly Loaded[]> {
  const wanted = loaded.flatMap(({ head, laned: { plan, evaluator }, view, events }) => {
    if (!evaluator.needsFacts || isEnded(view.run.state)) return [];
    const of = events.map(({ event }) => event);
    const { whole, places } = stepsToLoad(view.run.state.kind, plan, of);
    const asking = whole ? plan.steps.map(({ no }) => no) : places;
    return [{ runId: head.runId, steps: [...new Set(asking.flatMap(evaluator.factsFor))] }];
  });
  if (wanted.length === 0) return loaded;
  const facts = await tx.loadFacts(wanted);
  return loaded.map((one) => ({
    ...one,
    view: { ...one.view, facts: facts.get(one.head.runId) ?? null },
  }));
}

/** Rows that the events of the pass need, besides the run and its steps. */
async function withRowsBeside(
  tx: Tx,
  loaded: readonly Loaded[],
  ended: readonly AttemptKey[],
): Promise<readonly Loaded[]> {
  const beside = await rowsBeside(tx, loaded, ended);
  if (!beside) return loaded;
  return loaded.map((one) => {
    const { runId } = one.head;
    const attempts = beside.attempts.get(runId) ?? [];
    const view: View = {
      ...one.view,
      attempts,
      signals: beside.signals.get(runId) ?? [],
      decisions: beside.decisions.get(runId) ?? [],
      escalations: beside.escalations.get(runId) ?? [],
      messages: beside.messages.get(runId) ?? [],
      outputs: beside.outputs.get(runId) ?? new Map(),
    };
    return { ...one, view };
  });
}

/**
 * A callback has only the digest of its secret. Adds the secret: that of the lease, or of an
 * attempt that has ended.
 */
function withSecrets(loaded: readonly Loaded[]): readonly Loaded[] {
  return loaded.map((one) => ({
    ...one,
    events: one.events.map((evaluated) =>
      evaluated.event.kind === "callback"
        ? {
            ...evaluated,
            event: { ...evaluated.event, secret: secretOf(one.view, evaluated.event) },
          }
        : evaluated,
    ),
  }));
}

/**
 * Adds the last heartbeats: one may have arrived between the supervisor's scan and the lock of the
 * run.
 */
async function withHeartbeats(
  tx: Tx,
  typical: TypicalDurations,
  loaded: readonly Loaded[],
): Promise<readonly Loaded[]> {
  const sessionOf = (view: View, no: number): string | null => {
    const step = view.steps.get(no);
    const state = step ? movingSide(step)?.state : undefined;
    return state?.kind === "LEASED" ? state.session : null;
  };
  const sessions = loaded.flatMap(({ view, events }) =>
    events.flatMap(({ event }) =>
      event.kind === "lease-timer" ? (sessionOf(view, event.step) ?? []) : [],
    ),
  );
  if (sessions.length === 0) return loaded;
  const heartbeats = await tx.lastHeartbeats([...new Set(sessions)]);
  return loaded.map((one) => ({
    ...one,
    events: one.events.map((evaluated) => {
      if (evaluated.event.kind !== "lease-timer") return evaluated;
      const session = sessionOf(one.view, evaluated.event.step);
      const lastHeartbeatAt = session === null ? null : (heartbeats.get(session) ?? null);
      const known = typical.of(one.head.definitionId, evaluated.event.step);
      return { ...evaluated, event: { ...evaluated.event, lastHeartbeatAt, typical: known } };
    }),
  }));
}

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
async function rowsBeside(
  tx: Tx,
  runs: readonly RunOfPass[],
  attempts: readonly AttemptKey[],
): Promise<RowsBeside | null> {
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

/**
 * The secret whose digest is in the callback token; null: no attempt has it. An operator has no
 * token, and reports about an attempt that has ended.
 */
function secretOf(view: View, event: Extract<RunEvent, { kind: "callback" }>): string | null {
  const { step, fence } = event;
  if (event.secretDigest === null)
    return (
      view.attempts.find(
        (one) => one.kind === "perform" && one.step === step && one.fence === fence,
      )?.secret ?? null
    );
  const forward = view.steps.get(event.step)?.forward;
  const secrets = [
    ...(forward?.kind === "LEASED" ? [forward.secret] : []),
    ...view.attempts.map(({ secret }) => secret),
  ];
  return secrets.find((secret) => secretDigest(secret) === event.secretDigest) ?? null;
}
