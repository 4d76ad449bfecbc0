// Deletes what no caller will ask for again (sql/housekeeping.sql), and completes moves of ready
// rows that a crashed server left half done. No statement reads more than a page. Scans whose rows
// are not all deleted resume after the last page, and begin anew after the last row.
import { DELIVERY_RETENTION_MS } from "../outbox.ts";
import { type Failures, RETENTION_DEFAULT, type Retention } from "../retention.ts";
import { finishMoves, type Mover } from "./ready-moves.ts";
import type { Values } from "./sql.ts";
import type { Query } from "./transaction.ts";

const FIRST_RUN = "00000000-0000-0000-0000-000000000000";
const LANES_MAX = 500;
/** A session that holds nothing is watched for this long after its last heartbeat. */
const SESSION_IDLE_MS = 60_000;
/** No transaction that grants leases lives half as long: each of its statements has 2 s. */
const GRANT_MS_MAX = 10_000;

type ForgetOld = (
  rowsMax: number,
  kept?: Partial<Retention>,
  failures?: Failures,
) => Promise<boolean>;

/** `name`: its name in messages. `work` returns true if there is more to do. */
type Part = readonly [name: string, work: () => Promise<boolean>];

export function createForgetOld(mover: Mover): ForgetOld {
  const { query } = mover;
  const forgetKeys = keysScan(query);
  const forgetTriggered = triggeredScan(query);
  const renumberReady = createRenumberReady(query);

  function partsOf(rowsMax: number, times: Retention): readonly Part[] {
    const bounded = (name: string, values: Values = {}): Part => [
      name,
      async () => {
        const [row] = await query<{ more: boolean }>(name, { rows_max: rowsMax, ...values });
        return row?.more === true;
      },
    ];
    const whole = (name: string, work: () => Promise<unknown> = () => query(name, {})): Part => [
      name,
      async () => {
        await work();
        return false;
      },
    ];
    return [
      // The server that paused, resumed or pinned a workflow may have died before its ready rows
      // were moved.
      whole("finish_moves", () => finishMoves(mover)),
      whole("renumber_ready", () => renumberReady(rowsMax)),
      ["forget_keys", () => forgetKeys(rowsMax)],
      ["forget_triggered", () => forgetTriggered(rowsMax, times.triggeredMs)],
      bounded("release_sessions", { silent: SESSION_IDLE_MS, grant_max: GRANT_MS_MAX }),
      bounded("forget_sessions", { retention: times.sessionMs }),
      bounded("forget_agents", { retention: times.sessionMs }),
      bounded("forget_attempt_counts", { retention: times.attemptCountsMs }),
      bounded("forget_lane_pollers", { retention: times.pollerMs }),
      bounded("forget_refused"),
      bounded("forget_deliveries", { retention: DELIVERY_RETENTION_MS }),
      bounded("forget_audit", { retention: times.auditMs }),
      bounded("forget_schedules"),
      bounded("forget_circuit_ends", { retention: times.circuitEndsMs }),
      bounded("fold_run_counts"),
      bounded("forget_run_counts", { retention: times.runCountsMs }),
      bounded("forget_run_hours", { retention: times.runCountsMs }),
      bounded("fold_failures"),
      bounded("forget_failures", { retention: times.runCountsMs }),
      bounded("forget_handler_logs", { retention: times.logMs }),
      whole("forget_writers"),
      whole("forget_circuits"),
      whole("forget_outages"),
    ];
  }

  return async (rowsMax, kept = {}, failures) => {
    let isMore = false;
    for (const [name, work] of partsOf(rowsMax, { ...RETENTION_DEFAULT, ...kept })) {
      if (failures?.has(name)) continue;
      try {
        isMore = (await work()) || isMore;
      } catch (error) {
        if (!failures) throw error;
        failures.set(name, error);
      }
    }
    return isMore;
  };
}

/** Deletes expired keys, except those of open runs. */
function keysScan(query: Query): (rowsMax: number) => Promise<boolean> {
  const first = { expires_at: "-infinity", namespace_id: 0, key: "" };
  let after = first;
  return async (rowsMax) => {
    const [page] = await query<{
      more: boolean;
      expires_at: string;
      namespace_id: number;
      key: string;
    }>("forget_keys", { ...after, limit: rowsMax });
    const { more, ...last } = page ?? { ...first, more: false };
    after = more ? last : first;
    return more;
  };
}

/** Deletes the trigger chains of runs, except of those that may still be open. */
function triggeredScan(query: Query): (rowsMax: number, keptMs: number) => Promise<boolean> {
  let place = FIRST_RUN;
  return async (rowsMax, keptMs) => {
    const asked = { limit: rowsMax, retention: keptMs, after: place };
    const [page] = await query<{ more: boolean; last: string }>("forget_triggered", asked);
    place = page?.more ? page.last : FIRST_RUN;
    return page?.more === true;
  };
}

/**
 * Ready rows are handed out in the order of transaction numbers. Rows from another cluster (a
 * restored dump, logical replication) may have greater numbers than this cluster will reach for
 * long. So all lanes are scanned once for each incarnation of the database.
 */
function createRenumberReady(query: Query): (rowsMax: number) => Promise<void> {
  let done: string | null = null;
  return async (rowsMax) => {
    const [database] = await query<{ incarnation: string }>("incarnation", {});
    if (!database || database.incarnation === done) return;
    for (let after = 0; ; ) {
      const asked = { after, lanes_max: LANES_MAX, rows_max: rowsMax };
      const [page] = await query<{ last: number | null; lanes: number; moved: number }>(
        "renumber_ready",
        asked,
      );
      if (!page || page.last === null) break;
      // Repeats until nothing is left in these lanes.
      if (page.moved > 0) continue;
      after = page.last;
      if (page.lanes < LANES_MAX) break;
    }
    done = database.incarnation;
  };
}
