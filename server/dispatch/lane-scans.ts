// When lanes are scanned for ready rows: soon after they are announced, and as often as a token
// bucket allows. A scan runs at once while the bucket has a token; at saturation scans are 5 ms
// apart. Lanes that are announced meanwhile share the next scan. A queue that has reached its rate
// is scanned when the rate allows more.
import { FLUSH_BUCKET } from "../batching/batcher.ts";
import { createTokenBucket, type TokenBucket } from "../batching/token-bucket.ts";
import type { Clock, Timer } from "../clock.ts";
import type { FullQueue } from "./assign.ts";

export interface LaneScans {
  /**
   * Scans these lanes for ready rows soon; many calls share one scan. Resolves when the scan is
   * over.
   */
  scan(lanes: Iterable<number>): Promise<void>;
  /**
   * When the rate of the queue allows more, scans all lanes of the queue that were refused.
   * `startedAtMs`: when the transaction started that found the queue full, monotonic.
   */
  scanWhenOpen(queue: FullQueue, startedAtMs: number): void;
  /** Resolves when no scan is running. Scans that are planned for a later time are dropped. */
  idle(): Promise<void>;
}

interface State {
  readonly clock: Clock;
  /** Claims from these lanes. It never rejects. */
  readonly claim: (lanes: ReadonlySet<number>) => Promise<void>;
  readonly bucket: TokenBucket;
  /** Lanes of the next scan. */
  wanted: Set<number>;
  /** Resolved when the scan of `wanted` is over. */
  round: PromiseWithResolvers<void>;
  /** The scans that run one after the other; null: none. */
  scanning: Promise<void> | null;
  /** By name, the queues that are scanned when their rate allows more. */
  readonly opening: Map<string, OpeningQueue>;
}

interface OpeningQueue {
  readonly timer: Timer;
  /** The lanes that were refused. */
  readonly lanes: ReadonlySet<number>;
}

export function createLaneScans(clock: Clock, claim: State["claim"]): LaneScans {
  const state: State = {
    clock,
    claim,
    bucket: createTokenBucket(clock, FLUSH_BUCKET),
    wanted: new Set(),
    round: Promise.withResolvers(),
    scanning: null,
    opening: new Map(),
  };
  return Object.freeze({
    scan: (lanes) => scan(state, lanes),
    scanWhenOpen: (queue, startedAtMs) => scanWhenOpen(state, queue, startedAtMs),
    idle: () => idle(state),
  } satisfies LaneScans);
}

async function scan(state: State, lanes: Iterable<number>): Promise<void> {
  for (const lane of lanes) state.wanted.add(lane);
  if (state.wanted.size === 0) return;
  const { promise } = state.round;
  state.scanning ??= scanAll(state);
  await promise;
}

async function scanAll(state: State): Promise<void> {
  const { clock, claim, bucket } = state;
  while (state.wanted.size > 0) {
    // Lanes that are added during this wait, or during a scan, share one scan.
    const waitMs = bucket.waitMs();
    if (waitMs > 0) await clock.sleep(waitMs);
    bucket.take();
    const { wanted, round } = state;
    state.wanted = new Set();
    state.round = Promise.withResolvers();
    await claim(wanted);
    round.resolve();
  }
  // In the same turn: a caller that adds a lane from now on has to start a scan.
  state.scanning = null;
}

function scanWhenOpen(state: State, queue: FullQueue, startedAtMs: number): void {
  const { clock, opening } = state;
  const { name, lanes, opensInMs } = queue;
  if (opensInMs === null) return;
  const before = opening.get(name);
  before?.timer.cancel();
  const refused = new Set([...(before?.lanes ?? []), ...lanes]);
  const leftMs = startedAtMs + opensInMs - clock.monotonicMs();
  const timer = clock.after(Math.max(0, leftMs), () => {
    opening.delete(name);
    void scan(state, refused);
  });
  opening.set(name, { timer, lanes: refused });
}

async function idle(state: State): Promise<void> {
  for (const { timer } of state.opening.values()) timer.cancel();
  state.opening.clear();
  while (state.scanning) await state.scanning;
}
