// Handles the timers of leases and of ready tasks: what did *not* happen, and what follows. Each
// rule checks the state again before it acts, since the task may have moved after the supervisor
// saw it. A timer may be due too early, never too late.

import { type LeaseTimes, leaseWakeAt } from "../evolve.ts";
import type { EpochMs } from "../model/attempt.ts";
import type { Answer, RunEvent } from "../model/event.ts";
import { type Lease, movingSide, type Ready, type Step } from "../model/model.ts";
import { nextSlowCheck, type TypicalDuration } from "../model/typical-duration.ts";
import {
  attemptsEndAt,
  emit,
  escalate,
  inShort,
  intervene,
  inWords,
  type Pass,
  planStep,
  planTaskOf,
  readyWakeAt,
  stepOf,
  totalEndsAt,
} from "../pass.ts";
import { PERMANENT } from "../recovery/fail-step.ts";
import { leave, nextPlanned, totalOver } from "../recovery/leave-strategy.ts";
import { endTask } from "./on-task-end.ts";

const DONE: Answer = { kind: "done" };

/**
 * The timer of a lease is due. The lease ends if the grace of a cancel is over, or if the session
 * is silent. The agent is asked to stop if the attempt is over its time, or if its progress is
 * stalled. An attempt that runs far longer than others of its step is marked as suspect. Else the
 * timer moves to its next due time.
 *
 * Silence counts from the last heartbeat of the session, and only while a supervisor has been
 * scanning. An agent that sends heartbeats without the name of a cancelled task has lost that lease
 * by its own clock, and its other heartbeats must not keep the lease for ever.
 */
export function onLeaseTimer(
  pass: Pass,
  event: Extract<RunEvent, { kind: "lease-timer" }>,
): Answer {
  const step = stepOf(pass, event.step);
  const lease = movingSide(step)?.state;
  if (lease?.kind !== "LEASED" || lease.fence !== event.fence) return DONE;
  const { now } = pass.time;
  const { cancel } = lease;
  const dueTimes = dueTimesOf(lease, event, now);
  if (cancel.kind === "received") {
    if (now >= cancel.by) graceOver(pass, step, lease, cancel.by);
  } else if (now >= dueTimes.silentAt) {
    silent(pass, step, lease, dueTimes);
  } else if (cancel.kind === "none" && now >= lease.attemptBy) {
    requestStop(pass, step, lease, {
      rule: "attempt",
      cause: "timeout",
      dueAt: lease.attemptBy,
      saw: `ran past ${inWords(lease.attemptBy - lease.grantedAt)}`,
    });
  } else if (cancel.kind === "none" && now >= dueTimes.stalledAt) {
    requestStop(pass, step, lease, {
      rule: "stall",
      cause: "stalled",
      dueAt: dueTimes.stalledAt,
      saw: `sends heartbeats, and has made no progress for ${inWords(now - lease.progressAt)}`,
    });
  } else if (cancel.kind === "none" && now >= dueTimes.slowAt) {
    slow(pass, step, lease, event.typical ?? null, dueTimes);
  } else {
    const wakeAt = leaseWakeAt(lease, dueTimes);
    if (wakeAt !== lease.wakeAt) emit(pass, { kind: "wake-moved", step: step.no, wakeAt });
  }
  return DONE;
}

/** Marks the attempt as suspect, once, with the evidence. The attempt continues. */
function slow(
  pass: Pass,
  step: Step,
  lease: Lease,
  typical: TypicalDuration | null,
  dueTimes: LeaseDueTimes,
): void {
  if (!typical) return;
  const { now } = pass.time;
  const { samples, p99Ms, slowAfterMs } = typical;
  const evidence = `of ${samples} successful ones 99 % took ${inWords(p99Ms)} at most, and past ${inWords(slowAfterMs)} it is slow`;
  intervene(pass, "slow", {
    step,
    fence: lease.fence,
    // If the typical duration was learned after the timer was set, no check was due before it.
    dueAt: Math.max(dueTimes.slowAt, Math.min(lease.wakeAt, now)),
    saw: `attempt ${lease.attempt} by ${lease.agentId} has run for ${inWords(now - lease.grantedAt)}: ${evidence}`,
    did: "marked it as suspect; the attempt continues",
  });
  const wakeAt = leaseWakeAt(lease, { ...dueTimes, slowAt: Number.POSITIVE_INFINITY });
  emit(pass, { kind: "suspected", step: step.no, at: now, wakeAt });
}

/**
 * The agent no longer holds the lease, and did not report the outcome. The task is not returned as
 * undelivered, because it had arrived.
 */
export function onForgotten(pass: Pass, event: Extract<RunEvent, { kind: "forgotten" }>): Answer {
  const step = stepOf(pass, event.step);
  const lease = movingSide(step)?.state;
  if (lease?.kind !== "LEASED" || lease.secret !== event.secret) return DONE;
  endAsUnknown(pass, step, lease, {
    code: stopCode(lease) ?? "drover.lost",
    message: "its agent holds it no longer, and has not reported how it ended",
    saw: `${lease.agentId} lists its tasks up to poll ${lease.pollSeq}, without this one`,
    dueAt: pass.time.now,
    rule: "forgotten",
  });
  return DONE;
}

interface LeaseDueTimes extends LeaseTimes {
  readonly lastSeenAt: EpochMs;
  /**
   * When silence ends the lease: no heartbeat of the session, or none that names the cancelled
   * task.
   */
  readonly silentAt: EpochMs;
  readonly quietAt: EpochMs;
}

function dueTimesOf(
  lease: Lease,
  {
    lastHeartbeatAt,
    watchingSince,
    typical,
  }: Pick<
    Extract<RunEvent, { kind: "lease-timer" }>,
    "lastHeartbeatAt" | "watchingSince" | "typical"
  >,
  now: EpochMs,
): LeaseDueTimes {
  const { cancel, heartbeatMs, stallMs } = lease;
  const lastSeenAt = Math.max(lease.grantedAt, lastHeartbeatAt ?? 0);
  const quietAt = Math.max(lastSeenAt, watchingSince) + heartbeatMs;
  const unnamedAt =
    cancel.kind === "asked"
      ? Math.max(cancel.at, watchingSince) + heartbeatMs
      : Number.POSITIVE_INFINITY;
  const stalledAt =
    stallMs === null
      ? Number.POSITIVE_INFINITY
      : Math.max(lease.progressAt, watchingSince) + stallMs;
  const isWatched = lease.task === "perform" && lease.suspectAt === null;
  const slowAt = !isWatched
    ? Number.POSITIVE_INFINITY
    : typical
      ? lease.grantedAt + typical.slowAfterMs
      : nextSlowCheck(lease, now);
  const silentAt = Math.min(quietAt, unnamedAt);
  return { lastSeenAt, silentAt, quietAt, unnamedAt, stalledAt, slowAt };
}

function requestStop(
  pass: Pass,
  step: Step,
  lease: Lease,
  why: { rule: "attempt" | "stall"; cause: "timeout" | "stalled"; dueAt: EpochMs; saw: string },
): void {
  const { now } = pass.time;
  intervene(pass, why.rule, {
    step,
    fence: lease.fence,
    n: numberOf(lease, 0),
    dueAt: why.dueAt,
    saw: `attempt ${lease.attempt} by ${lease.agentId} ${why.saw}`,
    did: "asked the agent to stop",
  });
  emit(pass, { kind: "cancel-asked", step: step.no, cause: why.cause, at: now });
}

/** Distinguishes interventions of one rule about one fence: verifies share a fence. */
function numberOf(lease: Lease, n: number): number {
  return lease.task === "verify" ? 2 * lease.attempt + n : n;
}

function silent(pass: Pass, step: Step, lease: Lease, dueTimes: LeaseDueTimes): void {
  const { now } = pass.time;
  const quiet = inWords(now - dueTimes.lastSeenAt);
  const allowed = inWords(lease.heartbeatMs);
  const heartbeats = now < dueTimes.quietAt;
  endAsUnknown(pass, step, lease, {
    code: stopCode(lease) ?? "drover.lost",
    message: heartbeats
      ? `its agent sends heartbeats and did not name it for ${allowed} after it should stop`
      : `no heartbeat for ${quiet}, ${allowed} allowed`,
    saw: heartbeats
      ? `${lease.agentId} sends heartbeats, and does not name this task any more`
      : `no heartbeat of ${lease.agentId} for ${quiet}`,
    dueAt: dueTimes.silentAt,
    rule: "lease",
  });
}

function graceOver(pass: Pass, step: Step, lease: Lease, by: EpochMs): void {
  endAsUnknown(pass, step, lease, {
    code: stopCode(lease) ?? "drover.timeout",
    message: `did not stop within ${inWords(lease.cancelMs)} of the request to stop`,
    saw: `${lease.agentId} was informed that it should stop and did not`,
    dueAt: by,
    rule: "attempt",
  });
}

/** The error code for the cause of the cancel; null: its run stops, or it was not cancelled. */
function stopCode({ cancel }: Lease): "drover.timeout" | "drover.stalled" | null {
  if (cancel.kind === "none" || cancel.cause === "run") return null;
  return cancel.cause === "timeout" ? "drover.timeout" : "drover.stalled";
}

function endAsUnknown(
  pass: Pass,
  step: Step,
  lease: Lease,
  end: {
    readonly code: string;
    readonly message: string;
    readonly saw: string;
    readonly dueAt: EpochMs;
    readonly rule: "lease" | "attempt" | "forgotten";
  },
): void {
  const outcome = { kind: "unknown", code: end.code, message: end.message } as const;
  const { agentId, session } = lease;
  endTask(pass, step, lease, outcome, { agentId, session, digest: null });
  intervene(pass, end.rule, {
    step,
    fence: lease.fence,
    n: numberOf(lease, 1),
    dueAt: end.dueAt,
    saw: end.saw,
    did: `ended attempt ${lease.attempt} as ${end.code}: ${inShort(pass, step.no)}`,
  });
}

/** A ready task was not claimed in time. */
export function onReadyTimer(
  pass: Pass,
  event: Extract<RunEvent, { kind: "ready-timer" }>,
): Answer {
  const { now } = pass.time;
  const step = stepOf(pass, event.step);
  const ready = movingSide(step)?.state;
  if (ready?.kind !== "READY" || ready.fence !== event.fence || now < ready.wakeAt) return DONE;
  if (ready.task === "perform" && now >= totalEndsAt(pass, step)) {
    // A task that was returned after its total was over is due since it became ready again.
    const dueAt = Math.max(totalEndsAt(pass, step), ready.readyAt);
    totalOver(pass, step);
    intervene(pass, "total", {
      step,
      fence: ready.fence,
      dueAt,
      saw: `"${planStep(pass, step.no).id}" is not done within its total time`,
      did: `gave it up as drover.total: ${inShort(pass, step.no)}`,
    });
    return DONE;
  }
  const { wakeAt, until } = readyAgain(pass, step, ready);
  if (until !== ready.until)
    emit(pass, { kind: "wake-moved", step: step.no, wakeAt: ready.wakeAt, until });
  if (event.polled) emit(pass, { kind: "wake-moved", step: step.no, wakeAt });
  else notPickedUp(pass, stepOf(pass, step.no), ready, { wakeAt, event });
  return DONE;
}

/** Shortest time between checks of a task behind an open circuit, whose time limit moves on. */
const BEHIND_CIRCUIT_MS = 1_000;

/** The next due time and the time limit, which an open circuit has moved. */
function readyAgain(pass: Pass, step: Step, ready: Ready): Pick<Ready, "wakeAt" | "until"> {
  const wakeAt = readyWakeAt(pass, step, ready.task);
  if (ready.task !== "perform" || !pass.view.outages.has(step.no))
    return { wakeAt, until: ready.until };
  const soon = pass.time.now + BEHIND_CIRCUIT_MS;
  const until = Math.max(attemptsEndAt(pass, step), soon);
  return { wakeAt: Math.min(Math.max(wakeAt, soon), until), until };
}

/**
 * No agent polls its lane: an alarm, or what `on_pickup` says. One escalation is enough for a lane.
 */
function notPickedUp(
  pass: Pass,
  step: Step,
  ready: Ready,
  { wakeAt, event }: { wakeAt: EpochMs; event: Extract<RunEvent, { kind: "ready-timer" }> },
): void {
  const { now } = pass.time;
  const { asked = false, agentVersion } = event;
  const { no } = step;
  const plan = planStep(pass, no);
  const { queue, task } = planTaskOf(plan, step, ready.task);
  const agent = agentVersion === undefined ? "agent" : `agent of version "${agentVersion}"`;
  const saw = `no ${agent} polls queue "${queue}" for task "${task}"; it has waited for ${inWords(now - ready.readyAt)}`;
  const about = { step, fence: ready.fence, n: ready.alarms, dueAt: ready.wakeAt, saw };
  const onPickup = ready.task === "perform" ? plan.onPickup : "alarm";
  if (onPickup === "escalate" && !asked) {
    intervene(pass, "pickup", { ...about, did: "asked a person" });
    const help = `start an ${agent} for this queue and task, then retry`;
    const others = "other tasks that wait there go on by themselves";
    escalate(pass, no, "pickup", `${saw}: ${help}; ${others}`);
  } else if (onPickup === "fallback" && nextPlanned(pass, step) !== null) {
    intervene(pass, "pickup", { ...about, did: "fell back to the next strategy" });
    leave(pass, no, { ...PERMANENT, code: "drover.pickup", message: saw });
  } else {
    const what = asked ? "a person has been asked about another task there" : "alarmed";
    const did = `${what}; the supervisor checks again in ${inWords(wakeAt - now)}. Start an ${agent} for this queue and task`;
    intervene(pass, "pickup", { ...about, did });
    emit(pass, { kind: "pickup-alarmed", step: no, wakeAt });
  }
}
