// Whether the row beside a step is one that the rules can have written there, by its numbers and by
// its moment. One that cannot be is not kept: what it stood for begins again.
import type { Moment, TaskKind } from "./attempt.ts";
import { CHILD_LOOK_MS } from "./child.ts";
import type { Examining } from "./examine-place.ts";
import type { Backoff, Lease, Moving, Ready, Waiting } from "./model.ts";
import type { PlanStep } from "./plan.ts";
import { plannedTask } from "./plan-at.ts";
import type { StoredStep } from "./stored.ts";
import { plannedOf } from "./strategy.ts";

/** So much later than it can have been set: the database's clock may have been set back. */
export const SLACK_MS = 600_000;

/** The row as it should be; null: another one has to take its place. */
export function fitting(
  of: Examining,
  planned: PlanStep,
  row: StoredStep,
  state: Moving,
): Moving | null {
  const say = (saw: string): void => void of.findings.push({ step: row.no, saw });
  switch (state.kind) {
    case "LEASED": {
      const next = nextOf(row, state.task);
      const { fence, attempt } = state;
      if (fence !== next.fence || attempt !== next.attempt) {
        say(
          `its lease is of fence ${fence}, attempt ${attempt}, and it counts ${next.fence}, ${next.attempt}`,
        );
        if (!isAhead(row, state)) return null;
      }
      const latest = of.now + Math.max(state.heartbeatMs, state.cancelMs);
      if (state.wakeAt <= latest + SLACK_MS) return state;
      say("nobody looks at its lease in time");
      return { ...state, wakeAt: of.now };
    }
    case "READY": {
      const next = nextOf(row, state.task);
      if (state.fence !== next.fence || state.attempt !== next.attempt) {
        say(`its ready row is for fence ${state.fence}, attempt ${state.attempt}`);
        return null;
      }
      return soon(of, planned, row, state, say);
    }
    case "BACKOFF":
    case "WAITING": {
      const latest = latestOf(of, planned, row, state);
      if (state.wakeAt <= latest + SLACK_MS) return state;
      say(`nobody looks at its ${state.kind} in time`);
      return { ...state, wakeAt: latest };
    }
    case "HELD":
      return state;
  }
}

function soon(
  of: Examining,
  planned: PlanStep,
  row: StoredStep,
  state: Ready,
  say: (saw: string) => void,
): Ready {
  const { pickupMs } = plannedTask(planned, state.task, plannedOf(row)).timeouts;
  const latest = of.now + pickupMs;
  if (state.wakeAt <= latest + SLACK_MS) return state;
  say("nobody looks in time whether it was taken");
  return { ...state, wakeAt: latest };
}

/** The latest moment that the rules can have set. */
function latestOf(
  { now }: Pick<Examining, "now">,
  { work, timeouts }: PlanStep,
  row: StoredStep,
  state: Backoff | Waiting,
): Moment {
  // An agent may ask an undo, which no total bounds, to wait for years.
  if (state.kind === "BACKOFF")
    return state.task === "perform" ? now + timeouts.totalMs : Number.POSITIVE_INFINITY;
  switch (state.on) {
    case "timer":
      if (work.kind === "map") return now + (work.waves?.pauseMs ?? 0);
      return work.kind === "wait" && work.forMs !== null
        ? Math.max(now, (row.firstReadyAt ?? now) + work.forMs)
        : Number.POSITIVE_INFINITY;
    case "signal":
    case "approval":
      return work.kind === "signal" || work.kind === "approval" ? now + work.withinMs : now;
    case "callback":
      return now + timeouts.callbackMs;
    case "child":
      return now + timeouts.totalMs;
    case "child-end":
      return now + CHILD_LOOK_MS;
    case "items":
      return now;
  }
}

/** What the next task of a step is handed out as. */
function nextOf(row: StoredStep, task: TaskKind): Pick<Ready, "fence" | "attempt"> {
  return task === "verify"
    ? { fence: row.fence, attempt: row.verifies + 1 }
    : { fence: row.fence + 1, attempt: row.attempt + 1 };
}

/**
 * Whether a lease that is not the next task of its step can be one that its step has not counted:
 * the numbers of one that it has counted are used, and its end would be written beside theirs.
 */
function isAhead(row: StoredStep, { task, fence, attempt }: Lease): boolean {
  return task === "verify"
    ? fence >= row.fence && attempt > row.verifies
    : fence > row.fence && attempt <= fence;
}

/** It counts as many as its lease says. */
export function counted(row: StoredStep, state: Moving): StoredStep {
  if (state.kind !== "LEASED") return row;
  const { fence, attempt, task } = state;
  return task === "verify"
    ? { ...row, fence, verifies: attempt - 1 }
    : { ...row, fence: fence - 1, attempt: attempt - 1 };
}
