// Limits what a namespace may take: how many runs are open, how many begin per second, how many
// bytes its runs take, and how many calls it makes per second. The checks are made in memory, so
// they cost no query. Every 5 s a query counts the open runs, and each server adds the runs that it
// begins itself. So several servers together may exceed a limit by what they begin between two
// queries, and each of them has buckets with the whole rates. The bytes are an estimate of the last
// minutes (Namespaces.countStorage).
//
// Only runs that callers ask for are refused. A run of a cron schedule, a child run, or a run that
// a trigger starts after the end of another counts, but is never refused, because nothing would
// repeat it. What has begun is never held up: no event of a run passes here.
import type { Clock } from "../clock.ts";
import {
  afterGranting,
  isLimited,
  opensAt,
  type QueueLimits,
  type QueueUse,
  type Rate,
  room,
} from "../core/model/limits.ts";
import { DroverError } from "../errors.ts";
import { type Namespaces, type NamespaceUse, WEIGHT_DEFAULT } from "../store/namespaces.ts";
import type { Namespace } from "../store/store.ts";

export const RATE_LIMIT_REFRESH_MS = 5_000;
/** The estimate of the bytes is made once a minute. */
const STORAGE_RETRY_MS = 60_000;

/** Admits a run that a caller asks for, or returns why it is refused. */
export type Admit = (namespace: Namespace) => DroverError | null;

export interface RateLimit {
  readonly admit: Admit;
  /** Why a run would be refused now; counts nothing. */
  readonly refusal: Admit;
  /** Admits a call that reads, registers or starts, or returns why it is refused. */
  admitCall(namespace: string): DroverError | null;
  /** Reads the limits, and how much of them is used. */
  refresh(): Promise<void>;
  /** null: the limit of the server applies. */
  payloadBytesMax(namespace: string): number | null;
  /** Whether the namespace allows that lines of handlers are stored. */
  storesLogs(namespace: string): boolean;
  readonly weights: Weights;
}

/** The parts of namespaces where they compete for this server. */
interface Weights {
  of(namespaceId: number): number;
  ofName(namespace: string): number;
}

interface RateLimitOptions {
  readonly namespaces: Pick<Namespaces, "limited">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

interface Known extends Omit<NamespaceUse, "openRuns"> {
  /** Of open runs and of runs that begin. */
  readonly runs: QueueUse;
  readonly calls: QueueUse;
}

export function createRateLimit({ namespaces, clock }: RateLimitOptions): RateLimit {
  const byName = new Map<string, Known>();
  const weightById = new Map<number, number>();

  async function refresh(): Promise<void> {
    const limited = await namespaces.limited();
    const now = clock.monotonicMs();
    const before = new Map(byName);
    byName.clear();
    weightById.clear();
    for (const one of limited) {
      byName.set(one.name, knownOf(one, before.get(one.name), now));
      weightById.set(one.namespaceId, one.limits.weight ?? WEIGHT_DEFAULT);
    }
  }

  return Object.freeze({
    refresh,
    refusal: ({ name }: Namespace) => {
      const known = byName.get(name);
      return known ? startRefusal(known, clock.monotonicMs()) : null;
    },
    admit({ name }: Namespace) {
      const known = byName.get(name);
      if (!known) return null;
      const now = clock.monotonicMs();
      const refusal = startRefusal(known, now);
      if (refusal === null) byName.set(name, { ...known, runs: afterGranting(known.runs, 1, now) });
      return refusal;
    },
    admitCall(name: string) {
      const known = byName.get(name);
      if (!known || !isLimited(known.calls.limits)) return null;
      const now = clock.monotonicMs();
      if (room(known.calls, now) < 1) return callRefusal(name, known.calls, now);
      byName.set(name, { ...known, calls: afterGranting(known.calls, 1, now) });
      return null;
    },
    payloadBytesMax: (name: string) => byName.get(name)?.limits.payloadBytesMax ?? null,
    storesLogs: (name: string) => byName.get(name)?.storesLogs ?? true,
    weights: {
      of: (namespaceId: number) => weightById.get(namespaceId) ?? WEIGHT_DEFAULT,
      ofName: (name: string) => byName.get(name)?.limits.weight ?? WEIGHT_DEFAULT,
    },
  });
}

/** The buckets continue. Runs that began since the query are counted by the next one. */
function knownOf(
  { openRuns, ...one }: NamespaceUse,
  before: Known | undefined,
  now: number,
): Known {
  const { openRunsMax: leasesMax, rate, callRate } = one.limits;
  return {
    ...one,
    runs: useOf({ leasesMax, rate }, openRuns, before?.runs, now),
    calls: useOf({ leasesMax: null, rate: callRate }, 0, before?.calls, now),
  };
}

function useOf(
  limits: QueueLimits,
  leased: number,
  before: QueueUse | undefined,
  now: number,
): QueueUse {
  return { limits, leased, bucket: limits.rate && (before?.bucket ?? full(limits.rate, now)) };
}

function full({ burst }: Rate, now: number) {
  return { tokens: burst, filledAt: now };
}

function startRefusal(known: Known, now: number): DroverError | null {
  const { name, runs } = known;
  if (isLimited(runs.limits) && room(runs, now) < 1) return runRefusal(name, runs, now);
  return storageRefusal(known);
}

function storageRefusal({ name, limits, storageBytes }: Known): DroverError | null {
  const most = limits.storageBytesMax;
  if (most === null || storageBytes < most) return null;
  return limitRefusal({
    name,
    limit: "storage_bytes",
    most,
    used: storageBytes,
    text: `may take ${most} bytes, and its runs take about ${storageBytes}: retain runs for less time (drover namespace retention), or raise the limit`,
    retryAfterMs: STORAGE_RETRY_MS,
  });
}

function runRefusal(name: string, use: QueueUse, now: number): DroverError {
  const { leasesMax, rate } = use.limits;
  const opens = opensAt(use, now);
  if (opens === null)
    return limitRefusal({
      name,
      limit: "open_runs",
      most: leasesMax ?? 0,
      used: use.leased,
      text: `may have ${leasesMax ?? 0} open runs, and has reached that: wait until some have ended, or raise the limit`,
      retryAfterMs: RATE_LIMIT_REFRESH_MS,
    });
  return limitRefusal({
    name,
    limit: "runs_per_second",
    most: rate?.perSecond ?? 0,
    used: null,
    text: `may have ${rate?.perSecond ?? 0} runs per second, and has reached that: ask again later, or raise the limit`,
    retryAfterMs: wholeMs(opens - now),
  });
}

function callRefusal(name: string, use: QueueUse, now: number): DroverError {
  const most = use.limits.rate?.perSecond ?? 0;
  return limitRefusal({
    name,
    limit: "calls_per_second",
    most,
    used: null,
    text: `may make ${most} calls per second, and has reached that: ask again later, or raise the limit`,
    retryAfterMs: wholeMs((opensAt(use, now) ?? now) - now),
  });
}

/** The monotonic clock has fractions, and a delay on the wire has none. */
function wholeMs(ms: number): number {
  return Math.max(1, Math.round(ms));
}

interface Refusal {
  readonly name: string;
  readonly limit: string;
  readonly most: number;
  /** null: it is not counted. */
  readonly used: number | null;
  readonly text: string;
  readonly retryAfterMs: number;
}

function limitRefusal({ name, limit, most, used, text, retryAfterMs }: Refusal): DroverError {
  const metadata = { name, limit, most: String(most) };
  return new DroverError(
    "NAMESPACE_LIMIT",
    `The namespace "${name}" ${text} (drover namespace limit).`,
    {
      metadata: used === null ? metadata : { ...metadata, used: String(used) },
      retryAfterMs,
    },
  );
}
