// The health of supervision: whether work that is due gets done, as every server can see it,
// including one that watches nothing. By the database's clock, with one query every few seconds. A
// query begins where the last one found nothing; once a minute it covers all, and is not repeated
// sooner if it fails.
//
//   ok ─→ degraded    work is overdue beyond the limit, partitions have had no owner for 2 s, or
//                     the last whole round of this server's consistency check began an hour ago
//   degraded ─→ ok    none of these is true any more
//
// Both changes are logged, the first one with its reasons. The times are defaults (config.ts).
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { HealthConfig } from "../config.ts";
import { createLoop, type Loop } from "../loop.ts";
import { OVERDUE_OF, type Overdue, unownedCount } from "../store/overdue.ts";
import type { EngineStore } from "../store/store.ts";

/** How long after its due time the transaction of a row may commit. */
const COMMIT_MS_MAX = 10_000;
const WHOLE_EVERY_MS = 60_000;

interface SupervisorHealthOptions {
  readonly store: Pick<EngineStore, "overdue">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onFailed?: (() => void) | undefined;
  /** All partitions that exist. */
  readonly partitions: () => readonly number[];
  /**
   * How long ago the last whole round of this server's consistency check began, in milliseconds.
   */
  readonly consistencyAgeMs: () => number;
  readonly config: HealthConfig;
}

export interface Health {
  readonly status: "ok" | "degraded";
  /** Sentences for a person; none while it is ok. */
  readonly reasons: readonly string[];
}

export interface SupervisorHealth extends Loop {
  health(): Health;
  /** What the last query found; null: there was none. */
  seen(): Overdue | null;
}

export function createSupervisorHealth(options: SupervisorHealthOptions): SupervisorHealth {
  const { store, clock, log, config } = options;
  let seen: Overdue | null = null;
  let wholeAtMs = Number.NEGATIVE_INFINITY;
  let unownedSinceMs: number | null = null;
  const settledMs = config.overdueMs + COMMIT_MS_MAX;
  let health: Health = { status: "ok", reasons: [] };

  async function check(): Promise<void> {
    const checkedAtMs = clock.monotonicMs();
    const isWhole = checkedAtMs - wholeAtMs >= WHOLE_EVERY_MS;
    const isLate = seen !== null && seen.oldestAt !== null;
    const since = isWhole || isLate ? null : (seen?.now ?? clock.wallMs()) - settledMs;
    // If it fails, the next one is a minute later: while an old snapshot is open, it may reach the
    // statement timeout.
    if (since === null) wholeAtMs = checkedAtMs;
    seen = await store.overdue(options.partitions(), config.overdueMs, since);
    unownedSinceMs = unownedCount(seen) === 0 ? null : (unownedSinceMs ?? checkedAtMs);
    const unownedMs = unownedSinceMs === null ? 0 : checkedAtMs - unownedSinceMs;
    const before = health.status;
    const consistencyAgeMs = options.consistencyAgeMs();
    health = healthOf(seen, { unownedMs, consistencyAgeMs }, config);
    if (before === health.status) return;
    const { status, reasons } = health;
    if (status === "degraded")
      log.warn({ event: "health.degraded", reasons }, `degraded: ${reasons.join("; ")}`);
    else log.warn({ event: "health.ok" }, "no longer degraded");
  }

  const loop = createLoop({
    clock,
    everyMs: config.scanEveryMs,
    runOnce: check,
    onError(error) {
      options.onFailed?.();
      log.warn({ event: "health.check-failed", err: String(error) });
    },
  });
  return Object.freeze({ ...loop, health: () => health, seen: () => seen });
}

interface Since {
  /** For how long partitions have been seen without an owner, in milliseconds. */
  readonly unownedMs: number;
  /**
   * How long ago the last whole round of this server's consistency check began, in milliseconds.
   */
  readonly consistencyAgeMs: number;
}

export function healthOf(
  { now, rows, oldestAt, unowned }: Overdue,
  { unownedMs, consistencyAgeMs }: Since,
  most: Pick<HealthConfig, "overdueMs" | "unownedMs" | "consistencyLateMs">,
): Health {
  const reasons: string[] = [];
  const counts = OVERDUE_OF.flatMap((of) => (rows[of] > 0 ? [`${rows[of]} of ${of}`] : []));
  if (oldestAt !== null && counts.length > 0) {
    const lateMs = Math.round(now - oldestAt);
    const what = `work is overdue by up to ${lateMs} ms, ${most.overdueMs} ms are allowed`;
    reasons.push(
      `${what} (${counts.join(", ")}): the owner of its partition does not process it, or not fast enough`,
    );
  }
  if (unownedMs >= most.unownedMs)
    for (const { region, partitions } of unowned)
      reasons.push(
        `${partitions} partitions of region "${region}" are without owner: ` +
          `start drover supervisor --region ${region}, or see why its supervisor hangs`,
      );
  if (consistencyAgeMs > most.consistencyLateMs) {
    const minutes = (ms: number): number => Math.floor(ms / 60_000);
    const allowed = `${minutes(most.consistencyLateMs)} are allowed`;
    const what = `the last whole round of this server's consistency check began ${minutes(consistencyAgeMs)} minutes ago, ${allowed}`;
    const next = "see `consistency.failed` in its log, or start one more server to share the work";
    reasons.push(`${what}: ${next}`);
  }
  return { status: reasons.length === 0 ? "ok" : "degraded", reasons };
}
