// The spans that a pass has ended, made from the written record and the constant data of its run.
// No state is kept from one pass to the next, so it does not matter which server writes which pass.
import type { Attempt, EpochMs } from "../../core/model/attempt.ts";
import type { Effect } from "../../core/model/effect.ts";
import type { Intervention } from "../../core/model/history.ts";
import { isEnded, type RunState, type Waiting } from "../../core/model/model.ts";
import { itemOf, numberOf } from "../../core/model/step-key.ts";
import { plannedOf } from "../../core/model/strategy.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { childRunId } from "../../store/child-run.ts";
import type { PassRecord } from "../../store/pass-record.ts";
import type { EscalationRecord } from "../../store/reads.ts";
import type { ReadyRow } from "../../store/store.ts";
import type { SpanData, SpanLink } from "../spans.ts";
import { attemptIdOf, rootIdOf, traceIdOf } from "./ids.ts";
import {
  attemptLink,
  endAttributes,
  outcomeOf,
  spanOf,
  stepAttributes,
  stepName,
  type Traced,
  tryAttributes,
  tryNumber,
} from "./span-of.ts";

export interface TracedPass extends Traced {
  readonly record: PassRecord;
  /** The run began with this pass. */
  readonly started: boolean;
  /** When the pass was written. */
  readonly now: EpochMs;
  /** The escalations of the run, if the pass has closed one or ended the run. */
  readonly escalations: readonly EscalationRecord[];
  /** Links to the origins of the run: the step that began it, and the run that it reruns. */
  readonly origins: readonly SpanLink[];
}

export function spansOfPass(seen: TracedPass): readonly SpanData[] {
  const { record, now } = seen;
  return [
    ...record.effects.flatMap((effect) => ofEffect(seen, effect)),
    ...waitsOver(seen),
    ...stateLeft(seen, record.before.run.state),
    ...escalationsOver(seen),
    ...(endsRun(seen) ? [root(seen, now)] : []),
  ];
}

/** Whether this pass has ended the run; a run may begin and end in one pass. */
export function endsRun({
  record: { before, after },
  started,
}: Pick<TracedPass, "record" | "started">) {
  return isEnded(after.run.state) && (started || !isEnded(before.run.state));
}

/** Whether the spans of the pass need the escalations of the run. */
export function asksForEscalations(seen: Pick<TracedPass, "record" | "started">): boolean {
  const { after, effects } = seen.record;
  const closes = ({ kind }: Effect): boolean =>
    kind === "escalation-closed" || kind === "escalation-answered";
  return after.run.escalations > 0 && (endsRun(seen) || effects.some(closes));
}

/** The time of a task in its queue, when it leaves the queue. */
export function queueSpan(
  traced: Traced,
  ready: ReadyRow,
  grantedAt: EpochMs,
  agentId: string,
): SpanData {
  const { step, fence, attempt, task, readyAt } = ready;
  const n = tryNumber(ready);
  return spanOf(traced, "queue", {
    id: ["queue", step, fence, n, readyAt],
    after: stepName(traced, step),
    startMs: readyAt,
    endMs: grantedAt,
    attributes: {
      ...tryAttributes(traced, { step, fence, attempt }),
      "drover.task": task,
      "drover.agent.id": agentId,
    },
  });
}

/** Distinguishes passes of a run: it grows with each pass that changes the run. */
function versionOf({ record }: TracedPass): number {
  return record.after.run.version;
}

function ofEffect(seen: TracedPass, effect: Effect): readonly SpanData[] {
  switch (effect.kind) {
    case "task-ended":
      return [taskEnded(seen, effect.attempt)];
    case "attempt-settled":
      return [reported(seen, effect.attempt, false)];
    case "attempt-stored":
      return kept(seen, effect.attempt);
    case "backed-off":
      return [backoff(seen, effect)];
    case "intervened":
      return [supervised(seen, effect.intervention)];
    case "run-moved":
      return stopReason(seen, effect.state, effect.by);
    default:
      return [];
  }
}

function taskEnded(seen: TracedPass, attempt: Attempt): SpanData {
  const { step, kind, fence, n, startedAt, endedAt, agentId } = attempt;
  const ended = { startMs: startedAt, endMs: endedAt, ...outcomeOf(attempt) };
  const about = {
    after: stepName(seen, step),
    spanId: attemptIdOf(seen.run.runId, step, fence, n),
  };
  if (kind === "perform" || kind === "verify" || kind === "compensate") {
    const before = seen.record.before.steps.get(step);
    const planned = before ? plannedOf(before) : 0;
    const { queue } = seen.record.laneOf(step, kind, planned).task;
    const aboutFence = kind === "verify" ? fence : fence - 1;
    return spanOf(seen, kind, {
      ...ended,
      ...about,
      links: aboutFence > 0 ? [attemptLink(seen, step, aboutFence)] : [],
      attributes: {
        ...tryAttributes(seen, attempt),
        ...endAttributes(attempt),
        "drover.task": kind,
        "drover.queue": queue,
        "drover.agent.id": agentId,
      },
    });
  }
  // A child run ends as an attempt of the kind `answer`, or as a failure without an agent.
  const child = childRunId(seen.run.runId, step, fence);
  return spanOf(seen, "child", {
    ...ended,
    ...about,
    links: [{ traceId: traceIdOf(child), spanId: rootIdOf(child) }],
    attributes: { ...tryAttributes(seen, attempt), ...endAttributes(attempt) },
  });
}

/** The report of an attempt that had ended before. */
function reported(seen: TracedPass, attempt: Attempt, late: boolean): SpanData {
  const { step, fence, kind, n, endedAt, agentId, digest } = attempt;
  return spanOf(seen, "report", {
    id: ["report", step, fence, kind, n, endedAt, digest ?? ""],
    after: stepName(seen, step),
    startMs: endedAt,
    endMs: endedAt,
    links: [attemptLink(seen, step, fence)],
    ...outcomeOf(attempt),
    attributes: {
      ...tryAttributes(seen, attempt),
      ...endAttributes(attempt),
      "drover.agent.id": agentId,
      "drover.late": late,
    },
  });
}

function kept(seen: TracedPass, attempt: Attempt): readonly SpanData[] {
  // Results of a signal, of people or of an earlier run are in the spans of the wait and the
  // escalation.
  if (attempt.kind === "answer") return [];
  if (attempt.kind === "late") return [reported(seen, attempt, true)];
  const { step, fence, endedAt } = attempt;
  return [
    spanOf(seen, "failure", {
      id: ["failure", step, fence, endedAt],
      after: stepName(seen, step),
      startMs: endedAt,
      endMs: endedAt,
      ...outcomeOf(attempt),
      attributes: { ...tryAttributes(seen, attempt), "error.type": outcomeOf(attempt).error },
    }),
  ];
}

function backoff(
  seen: TracedPass,
  { step, task, cause, wakeAt }: Extract<Effect, { kind: "backed-off" }>,
): SpanData {
  return spanOf(seen, "backoff", {
    id: ["backoff", step, task, versionOf(seen)],
    after: stepName(seen, step),
    startMs: seen.now,
    endMs: wakeAt,
    attributes: { ...stepAttributes(seen, step), "drover.task": task, "drover.waits.for": cause },
  });
}

function supervised(seen: TracedPass, intervention: Intervention): SpanData {
  const { step, fence, rule, n, saw, did, dueAt, actedAt } = intervention;
  const about = step === null ? {} : { ...stepAttributes(seen, step), "drover.fence": fence };
  return spanOf(seen, "supervise", {
    id: ["supervise", step ?? "run", fence, rule, n],
    after: rule,
    startMs: dueAt,
    endMs: actedAt,
    links: step !== null && fence > 0 ? [attemptLink(seen, step, fence)] : [],
    attributes: {
      ...about,
      "drover.saw": saw,
      "drover.did": did,
      "drover.epoch": seen.record.actor?.epoch ?? null,
    },
  });
}

function stopReason(
  seen: TracedPass,
  state: RunState,
  by: Extract<Effect, { kind: "run-moved" }>["by"],
): readonly SpanData[] {
  const given = by === "stop" || by === "deadline" || by === "cancel";
  if (!given || !("stopReason" in state) || state.stopReason === null) return [];
  const { reason, undo } = state.stopReason;
  return [
    spanOf(seen, "stop", {
      id: ["stop", state.kind, versionOf(seen)],
      after: "",
      startMs: seen.now,
      endMs: seen.now,
      attributes: { "drover.run.reason": reason, "drover.undo": undo },
    }),
  ];
}

/** Waits that ended in this pass. */
function waitsOver(seen: TracedPass): readonly SpanData[] {
  const { before, after } = seen.record;
  return [...before.steps.values()].flatMap(({ no, forward, firstReadyAt }) => {
    const now = after.steps.get(no)?.forward;
    if (forward.kind !== "WAITING" || hasNoWaitSpan(forward)) return [];
    if (now?.kind === "WAITING" && now.on === forward.on && now.wakeAt === forward.wakeAt)
      return [];
    const startMs = waitBegan(seen.plan, no, forward) ?? firstReadyAt ?? seen.now;
    return [
      spanOf(seen, "wait", {
        id: ["wait", no, forward.on, versionOf(seen)],
        after: stepName(seen, no),
        startMs,
        endMs: seen.now,
        attributes: { ...stepAttributes(seen, no), "drover.waits.for": forward.on },
      }),
    ];
  });
}

/** The end of a child run has its own span, and a map only waits for its items. */
function hasNoWaitSpan({ on }: Waiting): boolean {
  return on === "child" || on === "child-end" || on === "items";
}

/** The begin of a wait, if its due time shows it; null: unknown. */
function waitBegan(plan: Plan, stepKey: number, { on, wakeAt }: Waiting): EpochMs | null {
  const step = plan.steps[numberOf(stepKey)];
  const work = step?.work.kind === "map" && itemOf(stepKey) > 0 ? step.work.item.work : step?.work;
  if (!step || !work) return null;
  if (on === "callback") return wakeAt - step.timeouts.callbackMs;
  if (work.kind === "signal" || work.kind === "approval") return wakeAt - work.withinMs;
  if (work.kind === "wait" && work.forMs !== null) return wakeAt - work.forMs;
  return work.kind === "map" && work.waves ? wakeAt - work.waves.pauseMs : null;
}

/** States of the run with a duration that ended in this pass. */
function stateLeft(seen: TracedPass, was: RunState): readonly SpanData[] {
  const { now, run, record } = seen;
  const is = record.after.run.state;
  if (was.kind === is.kind) return [];
  if (was.kind === "PENDING")
    return [
      spanOf(seen, "pending", {
        id: ["pending"],
        after: "",
        startMs: run.createdAt,
        endMs: now,
        attributes: { "drover.waits.for": was.on },
      }),
    ];
  if (was.kind !== "PAUSED") return [];
  const about = { id: ["paused", versionOf(seen)], after: "", startMs: was.since, endMs: now };
  return [spanOf(seen, "paused", { ...about, attributes: {} })];
}

function escalationsOver(seen: TracedPass): readonly SpanData[] {
  const { escalations, now } = seen;
  const ends = endsRun(seen);
  return escalations
    .filter(({ closedAt }) => (closedAt === null ? ends : closedAt === now))
    .map(({ n, step, reason, code, openedAt, closedBy, answer }) =>
      spanOf(seen, "escalation", {
        id: ["escalation", n],
        after: reason,
        startMs: openedAt,
        endMs: now,
        attributes: {
          ...stepAttributes(seen, step),
          "error.type": code === "" ? null : code,
          "drover.answer": answer?.answer ?? null,
          "drover.closed.by": closedBy,
        },
      }),
    );
}

function root(seen: TracedPass, now: EpochMs): SpanData {
  const { run, trace, record, origins } = seen;
  const { state } = record.after.run;
  if (!isEnded(state)) throw new Error(`run ${run.runId} is ${state.kind}, and has no root span`);
  const error = state.kind === "FAILED" ? state.reason : null;
  const span = spanOf(seen, "run", {
    spanId: rootIdOf(run.runId),
    after: run.workflow,
    startMs: run.createdAt,
    endMs: now,
    error,
    links: origins,
    attributes: {
      "drover.workflow.version": run.version,
      "drover.run.state": state.kind,
      "drover.run.reason": state.reason,
    },
  });
  return { ...span, parentId: trace.callerId };
}
