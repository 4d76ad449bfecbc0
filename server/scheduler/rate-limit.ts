// Limits what a namespace may begin: how many runs are open, and how many begin per second. The
// check is made in memory, so the start of a run costs no query. Every 5 s a query counts the open
// runs, and each server adds the runs that it begins itself. So several servers together may exceed
// a limit by what they begin between two queries, and each of them has a bucket with the whole
// rate.
//
// Only runs that callers ask for are refused. A run of a cron schedule, a child run, or a run that
// a trigger starts after the end of another counts, but is never refused, because nothing would
// repeat it.
import type { Clock } from "../clock.ts";
import { afterGranting, isLimited, opensAt, type QueueUse, room } from "../core/model/limits.ts";
import { DroverError } from "../errors.ts";
import type { Namespaces, NamespaceUse } from "../store/namespaces.ts";
import type { Namespace } from "../store/store.ts";

export const RATE_LIMIT_REFRESH_MS = 5_000;

/** Admits a run that a caller asks for, or returns why it is refused. */
export type Admit = (namespace: Namespace) => DroverError | null;

export interface RateLimit {
  readonly admit: Admit;
  /** Reads the limits, and how much of them is used. */
  refresh(): Promise<void>;
  /** null: the limit of the server applies. */
  payloadBytesMax(namespace: string): number | null;
  /** Whether the namespace allows that lines of handlers are stored. */
  storesLogs(namespace: string): boolean;
}

interface RateLimitOptions {
  readonly namespaces: Pick<Namespaces, "limited">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

interface Known {
  readonly use: QueueUse;
  readonly payloadBytesMax: number | null;
  readonly storesLogs: boolean;
}

export function createRateLimit({ namespaces, clock }: RateLimitOptions): RateLimit {
  const byName = new Map<string, Known>();

  async function refresh(): Promise<void> {
    const limited = await namespaces.limited();
    const now = clock.monotonicMs();
    const before = new Map(byName);
    byName.clear();
    for (const one of limited) byName.set(one.name, knownOf(one, before.get(one.name), now));
  }

  return Object.freeze({
    refresh,
    admit({ name }: Namespace) {
      const known = byName.get(name);
      if (!known || !isLimited(known.use.limits)) return null;
      const now = clock.monotonicMs();
      if (room(known.use, now) < 1) return refusal(name, known.use, now);
      byName.set(name, { ...known, use: afterGranting(known.use, 1, now) });
      return null;
    },
    payloadBytesMax: (name: string) => byName.get(name)?.payloadBytesMax ?? null,
    storesLogs: (name: string) => byName.get(name)?.storesLogs ?? true,
  });
}

/** The bucket continues. Runs that began since the query are counted by the next one. */
function knownOf(
  { limits, storesLogs, openRuns }: NamespaceUse,
  before: Known | undefined,
  now: number,
): Known {
  const { openRunsMax: leasesMax, rate, payloadBytesMax } = limits;
  const bucket = rate && (before?.use.bucket ?? { tokens: rate.burst, filledAt: now });
  const use = { limits: { leasesMax, rate }, leased: openRuns, bucket };
  return { use, payloadBytesMax, storesLogs };
}

function refusal(name: string, use: QueueUse, now: number): DroverError {
  const { leasesMax, rate } = use.limits;
  const opens = opensAt(use, now);
  const [what, limit, next] =
    opens === null
      ? (["open runs", leasesMax ?? 0, "wait until some have ended, or raise the limit"] as const)
      : (["runs per second", rate?.perSecond ?? 0, "ask again later, or raise the limit"] as const);
  return new DroverError(
    "NAMESPACE_LIMIT",
    `The namespace "${name}" may have ${limit} ${what}, and has reached that: ${next} (drover namespace limit).`,
    {
      metadata: { name, limit: what.replaceAll(" ", "_"), most: String(limit) },
      retryAfterMs: opens === null ? RATE_LIMIT_REFRESH_MS : Math.max(1, opens - now),
    },
  );
}
