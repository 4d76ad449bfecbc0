// Explains a step that is in its queue, with an agent, or waiting for a timer. The next action that
// it predicts is the one of on-timer.ts and on-due.ts for the due timer.

import type { EpochMs } from "../model/attempt.ts";
import type { Backoff, Held, Lease, Moving, Ready, Step, Waiting } from "../model/model.ts";
import { plannedOf } from "../model/strategy.ts";
import { planTaskOf } from "../pass.ts";
import type { PlanStep } from "../plan/plan.ts";
import type {
  Action,
  AgentToPoll,
  LaneCircuit,
  LeaseLiveness,
  Next,
  SeenAttempt,
  SeenRun,
  StepWait,
  Tried,
  WaitsFor,
} from "./explanation.ts";
import { openApproval } from "./open-approvals.ts";

/** A side of a step, with what is known of its run. */
export interface StepSide {
  readonly planned: PlanStep;
  readonly step: Step;
  readonly side: StepWait["side"];
  readonly seen: SeenRun;
}

interface Found {
  readonly waitsFor: WaitsFor;
  readonly since: EpochMs;
  readonly next: Next | null;
  readonly actions: readonly Action[];
}

export function explainMoving(stepSide: StepSide, moving: Moving): StepWait {
  const { step, side } = stepSide;
  return { step: step.no, side, ...found(stepSide, moving), tried: triedOf(stepSide) };
}

function found(stepSide: StepSide, moving: Moving): Found {
  switch (moving.kind) {
    case "READY":
      return inQueue(stepSide, moving);
    case "LEASED":
      return withAgent(stepSide, moving);
    case "BACKOFF":
      return backingOff(stepSide, moving);
    case "WAITING":
      return waitingFor(stepSide, moving);
    case "HELD":
      return held(stepSide, moving);
  }
}

function inQueue({ planned, step, seen }: StepSide, ready: Ready): Found {
  const { task: taskName, ...written } = planTaskOf(planned, step, ready.task);
  const queue = seen.liveness.queues.get(step.no) ?? written.queue;
  const pause = seen.liveness.pauses.get(step.no);
  if (pause)
    return {
      waitsFor: { kind: "queue-to-resume", task: ready.task, queue, taskName, pause },
      since: Math.max(pause.since, ready.readyAt),
      next: { what: afterPickup(planned, step, ready, true), at: ready.wakeAt },
      actions: [
        pause.scope === "queue"
          ? { kind: "resume-queue", queue }
          : { kind: `resume-${pause.scope}` },
      ],
    };
  const circuit = seen.liveness.circuits.get(step.no);
  if (circuit) return behindCircuit(ready, { queue, taskName }, circuit);
  const lastPolledAt = seen.liveness.polls.get(step.no) ?? null;
  const silent = seen.liveness.silent.has(step.no);
  const polled = !silent && isRecent(lastPolledAt, seen);
  const { task, alarms } = ready;
  const cordoned = polled ? (seen.liveness.cordoned.get(step.no) ?? 0) : 0;
  const agentVersion = seen.liveness.agentVersions.get(step.no) ?? null;
  const waitsFor: AgentToPoll = {
    kind: "agent-to-poll",
    task,
    queue,
    taskName,
    lastPolledAt,
    polled,
    silent,
    alarms,
    cordoned,
    agentVersion,
  };
  return {
    waitsFor,
    since: ready.readyAt,
    next: { what: afterPickup(planned, step, ready, polled), at: ready.wakeAt },
    actions: [
      { kind: "start-agent", queue, taskName, agentVersion },
      ...(cordoned > 0 ? [{ kind: "uncordon-agent", queue, taskName } as const] : []),
    ],
  };
}

function isRecent(polledAt: EpochMs | null, { now, liveness }: SeenRun): boolean {
  return polledAt !== null && now - polledAt < liveness.polledMs;
}

function behindCircuit(
  { task, wakeAt }: Ready,
  lane: { readonly queue: string; readonly taskName: string },
  circuit: LaneCircuit,
): Found {
  const { since, until } = circuit;
  return {
    waitsFor: { kind: "circuit-to-close", task, ...lane, circuit },
    since,
    next: until === null ? { what: "check-again", at: wakeAt } : { what: "try-one", at: until },
    actions: [{ kind: "set-circuit", ...lane }],
  };
}

function afterPickup(planned: PlanStep, step: Step, ready: Ready, polled: boolean): Next["what"] {
  const performs = ready.task === "perform";
  const totalEndsAt = (step.firstReadyAt ?? ready.readyAt) + planned.timeouts.totalMs;
  if (performs && ready.wakeAt >= totalEndsAt) return "fail";
  if (polled) return "check-again";
  const onPickup = performs ? planned.onPickup : "alarm";
  if (onPickup === "escalate") return "escalate";
  const { work } = planned;
  const hasFallback = work.kind === "task" && plannedOf(step) + 1 < work.strategies.length;
  return onPickup === "fallback" && hasFallback ? "fall-back" : "alarm";
}

const NO_LIVENESS: LeaseLiveness = Object.freeze({ lastHeartbeatAt: null, progress: null });

function withAgent({ planned, step, seen }: StepSide, lease: Lease): Found {
  const { task, agentId, cancel, attemptBy, suspectAt } = lease;
  const { lastHeartbeatAt, progress: text } = seen.liveness.leases.get(step.no) ?? NO_LIVENESS;
  // The supervisor finds a silent session independently of the lease's own times.
  const silentAt = Math.max(lease.grantedAt, lastHeartbeatAt ?? 0) + lease.heartbeatMs;
  const wakeAt = cancel.kind === "received" ? cancel.by : Math.min(silentAt, lease.wakeAt);
  if (cancel.kind !== "none") {
    const informed = cancel.kind === "received";
    const { cause } = cancel;
    return {
      waitsFor: { kind: "agent-to-stop", task, agentId, cause, informed, lastHeartbeatAt },
      since: informed ? cancel.by - lease.cancelMs : cancel.at,
      next: { what: informed ? "end-lease" : "check-lease", at: wakeAt },
      actions: [],
    };
  }
  const { task: taskName, ...written } = planTaskOf(planned, step, task);
  const queue = seen.liveness.queues.get(step.no) ?? written.queue;
  const progress = text === null ? null : { text, since: lease.progressAt };
  return {
    waitsFor: {
      kind: "agent-working",
      task,
      queue,
      taskName,
      agentId,
      attemptBy,
      lastHeartbeatAt,
      progress,
      suspectAt,
    },
    since: lease.grantedAt,
    next: { what: wakeAt < attemptBy ? "check-lease" : "tell-to-stop", at: wakeAt },
    actions: [],
  };
}

function backingOff(stepSide: StepSide, { task, cause, wakeAt }: Backoff): Found {
  return {
    waitsFor: { kind: cause === "retry" ? "backoff" : cause, task },
    since: lastOf(stepSide)?.endedAt ?? startedAt(stepSide),
    next: { what: "make-ready", at: wakeAt },
    actions: [],
  };
}

function held(stepSide: StepSide, { task }: Held): Found {
  const { state } = stepSide.seen;
  const pausedAt = state.kind === "PAUSED" ? state.since : 0;
  return {
    waitsFor: { kind: "resume", task },
    since: Math.max(pausedAt, lastOf(stepSide)?.endedAt ?? startedAt(stepSide)),
    next: null,
    actions: [{ kind: "resume" }],
  };
}

function waitingFor(stepSide: StepSide, { on, wakeAt }: Waiting): Found {
  const { planned, step, seen } = stepSide;
  const { no } = step;
  const { work } = planned;
  if (on === "callback") {
    const last = lastOf(stepSide);
    return {
      waitsFor: { kind: "callback", agentId: last?.agentId ?? null },
      since: last?.endedAt ?? startedAt(stepSide),
      next: { what: "count-as-unknown", at: wakeAt },
      actions: [{ kind: "complete-deferred", step: no }],
    };
  }
  if (on === "items") return { ...onItems(stepSide), next: { what: "check-again", at: wakeAt } };
  if (on === "child" || on === "child-end")
    return {
      waitsFor: { kind: "child", step: no, fence: step.fence, stopping: on === "child-end" },
      since: lastOf(stepSide)?.endedAt ?? startedAt(stepSide),
      next: { what: "stop-child", at: wakeAt },
      actions: [],
    };
  switch (work.kind) {
    case "signal": {
      const { name, withinMs, onExpiry } = work;
      return {
        waitsFor: { kind: "signal", name },
        since: wakeAt - withinMs,
        next: { what: onExpiry, at: wakeAt },
        actions: [{ kind: "signal", name }],
      };
    }
    case "approval": {
      const { approvers, need } = work;
      const { approvedBy, since } = openApproval(planned, work, wakeAt, seen.decisions);
      const next = { escalate: "escalate", reject: "fail", approve: "succeed" } as const;
      return {
        waitsFor: { kind: "approval", approvers, approvals: approvedBy.length, need },
        since,
        next: { what: next[work.onExpiry], at: wakeAt },
        actions: [{ kind: "decide", step: no, approvers }],
      };
    }
    case "map":
      return {
        waitsFor: { kind: "timer" },
        since: wakeAt - (work.waves?.pauseMs ?? 0),
        next: { what: "next-wave", at: wakeAt },
        actions: [],
      };
    default:
      return {
        waitsFor: { kind: "timer" },
        since:
          work.kind === "wait" && work.forMs !== null ? wakeAt - work.forMs : startedAt(stepSide),
        next: { what: "succeed", at: wakeAt },
        actions: [],
      };
  }
}

/** A map whose items move, or that gets a pass of its own at once. */
export function onItems({ planned, step, seen }: StepSide): Found {
  const { items } = step;
  if (!items) throw new Error(`"${planned.id}" is a map that has not started`);
  const { total, started, open, failed } = items;
  const { state, createdAt } = seen;
  // The map begins no more items: the run gets its stop reason when it is resumed.
  if (state.kind === "PAUSED" && open === 0) {
    const waitsFor = { kind: "resume", task: null } as const;
    return { waitsFor, since: state.since, next: null, actions: [{ kind: "resume" }] };
  }
  const waitsFor = { kind: "items", total, started, open, failed } as const;
  return { waitsFor, since: createdAt, next: null, actions: [] };
}

export function triedOf(stepSide: StepSide): Tried | null {
  const { planned, step } = stepSide;
  if (planned.work.kind !== "task" && planned.work.kind !== "run") return null;
  return {
    attempts: step.attempt,
    lost: step.lost,
    handedOut: step.fence,
    verifies: step.verifies,
    strategy: plannedOf(step),
    strategies: planned.work.strategies.length,
    last: lastOf(stepSide),
  };
}

/** The last ended task of this side. Late reports do not count. */
function lastOf({ step, side, seen }: StepSide): SeenAttempt | null {
  const kinds = side === "undo" ? ["compensate"] : ["perform", "verify", "engine"];
  return (
    seen.attempts.findLast(({ step: no, kind }) => no === step.no && kinds.includes(kind)) ?? null
  );
}

function startedAt({ step, seen }: StepSide): EpochMs {
  return step.firstReadyAt ?? seen.createdAt;
}
