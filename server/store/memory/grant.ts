// A claim takes a ready row: it becomes a lease.
import type { Moment } from "../../core/attempt.ts";
import type { Lease } from "../../core/model.ts";
import type { Grant, Granted } from "../store.ts";
import { stepKey, type Tables } from "./tables.ts";

/** The first look at a lease: at its silence, its end, its stall, or when it is slow. */
export function grant(tables: Tables, now: Moment, wanted: Grant): Granted {
  const { secret, session, agentId, pollSeq } = wanted;
  const { runId, step, fence } = wanted.ready;
  const row = tables.ready.remove(stepKey(runId, step));
  if (row.ready.fence !== fence)
    throw new Error(
      `step ${step} of ${runId} is ready with fence ${row.ready.fence}, not ${fence}`,
    );
  const { partition, lane, heartbeatMs, cancelMs, stallMs, slowAfterMs } = row;
  const { task, attempt, until } = row.ready;
  const attemptBy = Math.min(now + row.attemptMs, until ?? Number.MAX_SAFE_INTEGER);
  const wakeAt = Math.min(
    now + heartbeatMs,
    attemptBy,
    stallMs === null ? Number.MAX_SAFE_INTEGER : now + stallMs,
    slowAfterMs === null ? Number.MAX_SAFE_INTEGER : now + slowAfterMs,
  );
  const lease: Lease = {
    ...{ kind: "LEASED", task, fence, attempt, secret, session, agentId, pollSeq },
    ...{ grantedAt: now, attemptBy, heartbeatMs, cancelMs, stallMs, progressAt: now },
    ...{ cancel: { kind: "none" }, suspectAt: null, wakeAt },
  };
  tables.lease.insert({
    ...{ runId, partition, step, lane, lease },
    ...{ slowAfterMs, progress: null, details: null },
  });
  return { ...wanted, grantedAt: now, attemptBy };
}
