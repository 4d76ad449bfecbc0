// A moment has come: what did *not* happen, and what follows. Each rule looks again before it acts:
// the row may have moved since the supervisor saw it, and a moment may fire too early, never too
// late.

import type { Answer, RunEvent } from "./event.ts";
import { leaseWakeAt, runWakeAt } from "./evolve.ts";
import { totalOver } from "./ladder.ts";
import { type Lease, type Moment, movingSide, type Step } from "./model.ts";
import { endTask } from "./on-task-end.ts";
import {
  emit,
  intervene,
  inWords,
  makeReady,
  type Pass,
  planStep,
  planTaskOf,
  readyWakeAt,
  stepOf,
  totalEndsAt,
} from "./pass.ts";
import { stop } from "./saga.ts";

const DONE: Answer = { kind: "done" };
/** The largest number that its column holds. */
const INTERVENTION_N_MAX = 2_147_483_647;

/**
 * The moment of a lease: cancel grace over, silent, or past its time; else it moves to its next
 * moment. Silence counts from the last beat of the session, and only while somebody could have
 * heard one. An agent that beats and yet does not hear of a cancel no longer names this task: by
 * its own clock its lease has ended, and other beats must not keep it for ever.
 */
export function onLeaseMoment(
  pass: Pass,
  event: Extract<RunEvent, { kind: "lease-moment" }>,
): Answer {
  const step = stepOf(pass, event.step);
  const lease = movingSide(step)?.state;
  if (lease?.kind !== "LEASED" || lease.fence !== event.fence) return DONE;
  const { now } = pass.occasion;
  const heardAt = Math.max(lease.grantedAt, event.lastBeatAt ?? 0);
  const { cancel } = lease;
  const quietAt = Math.max(heardAt, event.watchingSince) + lease.heartbeatMs;
  const unnamedAt =
    cancel.kind === "asked"
      ? Math.max(cancel.at, event.watchingSince) + lease.heartbeatMs
      : Number.POSITIVE_INFINITY;
  const silentAt = Math.min(quietAt, unnamedAt);
  if (cancel.kind === "heard") {
    if (now >= cancel.by) graceOver(pass, step, lease, cancel.by);
  } else if (now >= silentAt) {
    silent(pass, step, lease, { heardAt, silentAt, quietAt });
  } else if (cancel.kind === "none" && now >= lease.attemptBy) {
    intervene(pass, "attempt", {
      step,
      fence: lease.fence,
      dueAt: lease.attemptBy,
      saw: `attempt ${lease.attempt} by ${lease.agentId} ran past ${inWords(lease.attemptBy - lease.grantedAt)}`,
      did: "told the agent to stop",
    });
    emit(pass, { kind: "cancel-asked", step: step.no, cause: "timeout", at: now });
    const unheardAt = Math.min(silentAt, now + lease.heartbeatMs);
    emit(pass, { kind: "wake-moved", step: step.no, wakeAt: unheardAt });
  } else {
    emit(pass, { kind: "wake-moved", step: step.no, wakeAt: leaseWakeAt(lease, silentAt) });
  }
  return DONE;
}

function silent(
  pass: Pass,
  step: Step,
  lease: Lease,
  moments: { heardAt: Moment; silentAt: Moment; quietAt: Moment },
): void {
  const { now } = pass.occasion;
  const timedOut = lease.cancel.kind === "asked" && lease.cancel.cause === "timeout";
  const quiet = inWords(now - moments.heardAt);
  const allowed = inWords(lease.heartbeatMs);
  const beats = now < moments.quietAt;
  endAsUnknown(pass, step, lease, {
    code: timedOut ? "drover.timeout" : "drover.lost",
    message: beats
      ? `its agent beats and did not name it for ${allowed} after it should stop`
      : `no heartbeat for ${quiet}, ${allowed} allowed`,
    saw: beats
      ? `${lease.agentId} beats, and does not name this task any more`
      : `no heartbeat of ${lease.agentId} for ${quiet}`,
    dueAt: moments.silentAt,
    rule: "lease",
  });
}

function graceOver(pass: Pass, step: Step, lease: Lease, by: Moment): void {
  endAsUnknown(pass, step, lease, {
    code: "drover.timeout",
    message: `did not stop within ${inWords(lease.cancelMs)} of being told to`,
    saw: `${lease.agentId} heard that it should stop and did not`,
    dueAt: by,
    rule: "attempt",
  });
}

function endAsUnknown(
  pass: Pass,
  step: Step,
  lease: Lease,
  end: { code: string; message: string; saw: string; dueAt: Moment; rule: "lease" | "attempt" },
): void {
  const outcome = { kind: "unknown", code: end.code, message: end.message } as const;
  endTask(pass, step, lease, outcome, {
    agentId: lease.agentId,
    session: lease.session,
    digest: null,
  });
  intervene(pass, end.rule, {
    step,
    fence: lease.fence,
    n: 1,
    dueAt: end.dueAt,
    saw: end.saw,
    did: `ended attempt ${lease.attempt} as ${end.code}: ${followUp(pass, step.no)}`,
  });
}

/** What the rules made of the step, in words. */
function followUp(pass: Pass, no: number): string {
  const step = stepOf(pass, no);
  const moving = movingSide(step)?.state;
  if (moving?.kind === "READY")
    return moving.avoid ? "ready again at once, for another agent" : "ready again";
  if (moving?.kind === "BACKOFF")
    return `next try in ${inWords(moving.wakeAt - pass.occasion.now)}`;
  if (step.forward.kind === "ESCALATED" || step.undo.kind === "FAILED") return "a person is asked";
  return `the step is ${step.forward.kind}, the run ${pass.view.run.state.kind}`;
}

/** Nobody took a ready task in time. */
export function onReadyMoment(
  pass: Pass,
  event: Extract<RunEvent, { kind: "ready-moment" }>,
): Answer {
  const step = stepOf(pass, event.step);
  const moving = movingSide(step);
  if (moving?.state.kind !== "READY" || moving.state.fence !== event.fence) return DONE;
  const { side, state: ready } = moving;
  const { now } = pass.occasion;
  if (now < ready.wakeAt) return DONE;
  if (side === "forward" && now >= totalEndsAt(pass, step)) {
    // A task that was given back after its total was over became due when it was ready again.
    const dueAt = Math.max(totalEndsAt(pass, step), ready.readyAt);
    totalOver(pass, step);
    intervene(pass, "total", {
      step,
      fence: ready.fence,
      dueAt,
      saw: `"${planStep(pass, step.no).id}" is not done within its total time`,
      did: "failed the step with drover.total",
    });
    return DONE;
  }
  const { queue, task } = planTaskOf(pass, step.no, side);
  const wakeAt = readyWakeAt(pass, step, side);
  if (event.polled) {
    emit(pass, { kind: "wake-moved", step: step.no, wakeAt });
    return DONE;
  }
  intervene(pass, "pickup", {
    step,
    fence: ready.fence,
    n: ready.alarms,
    dueAt: ready.wakeAt,
    saw: `nobody polls queue "${queue}" for task "${task}"; it waits since ${inWords(now - ready.readyAt)}`,
    did: `alarmed; looks again in ${inWords(wakeAt - now)}. Start an agent for this queue and task`,
  });
  emit(pass, { kind: "pickup-alarmed", step: step.no, wakeAt });
  return DONE;
}

export function onBackoffMoment(
  pass: Pass,
  event: Extract<RunEvent, { kind: "backoff-moment" }>,
): Answer {
  const step = stepOf(pass, event.step);
  const moving = movingSide(step);
  if (moving?.state.kind !== "BACKOFF" || pass.occasion.now < moving.state.wakeAt) return DONE;
  intervene(pass, "backoff", {
    step,
    fence: step.fence,
    // A late failure can send one fence into backoff twice: the moment tells them apart.
    n: Math.min(moving.state.wakeAt - (step.firstReadyAt ?? 0), INTERVENTION_N_MAX),
    dueAt: moving.state.wakeAt,
    saw: `the backoff after attempt ${step.attempt} is over`,
    did: `ready for attempt ${step.attempt + 1}`,
  });
  makeReady(pass, step.no, moving.side, null);
  return DONE;
}

/** The run's own moment: its deadline, or the end of what had to settle before its undoing. */
export function onRunMoment(pass: Pass): Answer {
  const { state } = pass.view.run;
  const { now } = pass.occasion;
  const wakeAt = runWakeAt(pass.view.run);
  if (wakeAt === null || now < wakeAt) return DONE;
  if (state.kind === "RUNNING") {
    intervene(pass, "deadline", {
      step: null,
      fence: 0,
      dueAt: wakeAt,
      saw: `the run is not done within ${inWords(pass.plan.timeoutMs)}`,
      did: "stopped it: what moves is told to cancel, what was done is undone",
    });
    stop(pass, { reason: "TIMED_OUT", undo: true });
  } else {
    intervene(pass, "settle", {
      step: null,
      fence: 0,
      dueAt: wakeAt,
      saw: "no lost attempt can act any more",
      did: "let the undoing begin",
    });
  }
  return DONE;
}
