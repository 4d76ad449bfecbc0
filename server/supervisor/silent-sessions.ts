// How an agent that has fallen silent is noticed, and from when on its silence counts.
//
//   1. A heartbeat of an agent renews its session (dispatch/heartbeats.ts).
//   2. Each timer scan (timers.ts) asks the store for leases whose session has been silent for
//      longer than they allow. Silence counts from `silenceCountsSince` on, which is kept here.
//   3. The scan submits a `lease-timer` for each one (due-events.ts). The rules check the lease
//      again and decide what follows (core/events/on-timer.ts).
//
// Silence counts only while a server could receive heartbeats: an outage of the servers loses no
// agent. So the time of a partition begins anew at a take-over, when two scans are more than
// `gapMs` apart, and when the database's clock has jumped. Leases of a partition that was just
// taken are checked for silence from the second scan on.
import type { SupervisorConfig } from "../config.ts";
import type { EpochMs } from "../core/model/attempt.ts";

/** One time by two clocks. */
export interface ScanTime {
  /** When the scan began, by the monotonic clock of this process. */
  readonly scannedAtMs: number;
  /** By the database's clock. */
  readonly now: EpochMs;
}

interface Scanned {
  readonly partitions: readonly number[];
  /** Those that were `fresh` when the scan began. */
  readonly fresh: ReadonlySet<number>;
  readonly time: ScanTime;
  /** The time of the scan before; null: this process owned nothing then. */
  readonly before: ScanTime | null;
}

export interface SilenceWatch {
  /** These partitions begin to be watched anew. */
  taken(partitions: readonly number[]): void;
  /** Partitions that were taken, and that no scan has read since. */
  fresh(): ReadonlySet<number>;
  /**
   * By partition: since when heartbeats could have been noticed. It leaves out fresh partitions:
   * their leases are not checked for silence.
   */
  silenceCountsSince(): ReadonlyMap<number, EpochMs>;
  /** The same for one partition; null: no scan has read it. */
  silenceCountsSinceFor(partition: number): EpochMs | null;
  /** A scan has read these partitions. */
  scanned(scan: Scanned): void;
}

export function createSilenceWatch(
  settings: Pick<SupervisorConfig, "gapMs" | "jumpMs">,
): SilenceWatch {
  const silenceCountsSince = new Map<number, EpochMs>();
  const fresh = new Set<number>();

  return Object.freeze({
    taken(partitions: readonly number[]) {
      for (const partition of partitions) fresh.add(partition);
    },
    fresh: () => new Set(fresh),
    silenceCountsSince: () => new Map([...silenceCountsSince].filter(([one]) => !fresh.has(one))),
    silenceCountsSinceFor: (partition: number) => silenceCountsSince.get(partition) ?? null,
    scanned({ partitions, fresh: wasFresh, time, before }: Scanned) {
      const isAnew = isInterrupted(before, time, settings);
      for (const partition of partitions) {
        const isFresh = wasFresh.has(partition);
        if (isAnew || isFresh || !silenceCountsSince.has(partition))
          silenceCountsSince.set(partition, time.now);
        if (isFresh) fresh.delete(partition);
      }
    },
  });
}

/** Heartbeats could not be noticed all the time since the scan before. */
function isInterrupted(
  before: ScanTime | null,
  time: ScanTime,
  settings: Pick<SupervisorConfig, "gapMs" | "jumpMs">,
): boolean {
  const gapMs = before ? time.scannedAtMs - before.scannedAtMs : Number.POSITIVE_INFINITY;
  const jumpMs = before ? Math.abs(time.now - before.now - gapMs) : 0;
  return gapMs > settings.gapMs || jumpMs > settings.jumpMs;
}
