// Which event a due row is for its run.
import type { EpochMs } from "../core/model/attempt.ts";
import type { RunEvent } from "../core/model/event.ts";
import type { DueRow } from "../store/store.ts";

/** The event that a due row is for its run. */
export function eventOf(row: DueRow, watchingSince: EpochMs): RunEvent {
  const { step, fence } = row;
  switch (row.kind) {
    case "lease":
      // The last heartbeat is read again once the run is locked (scheduler/load.ts).
      return { kind: "lease-timer", step, fence, lastHeartbeatAt: null, watchingSince };
    case "ready":
      return {
        kind: "ready-timer",
        step,
        fence,
        polled: row.polled,
        ...(row.lane === null ? {} : { lane: row.lane }),
        ...(row.agentVersion === null ? {} : { agentVersion: row.agentVersion }),
      };
    case "backoff":
    case "timer":
    case "signal":
    case "approval":
    case "callback":
    case "items":
    case "child":
    case "child-end":
      return { kind: "due-timer", step, on: row.kind };
    case "escalation":
      return { kind: "escalation-timer", n: fence };
    case "run":
      return { kind: "run-timer" };
    case "message":
      return { kind: "messages" };
  }
}
