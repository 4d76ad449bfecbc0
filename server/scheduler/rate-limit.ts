// What namespaces may begin: runs that have not ended, and runs per second. Judged in memory, so
// that beginning a run asks nobody: every 5 s a look says what is open, and each server adds what
// it begins itself. So several servers may go beyond a limit by what they begin within one look,
// and each fills a bucket of its own with the whole rate.
//
// Only what callers ask for is refused. A run of a calendar, a child or what the end of another
// sets off counts, and is not: nobody would ask again.
import type { Clock } from "../clock.ts";
import { isLimited, opensAt, type QueueUse, room, taken } from "../core/limits.ts";
import { DroverError } from "../errors.ts";
import type { Namespaces, NamespaceUse } from "../store/namespaces.ts";
import type { Namespace } from "../store/store.ts";

export const RATE_LIMIT_REFRESH_MS = 5_000;

/** Takes a place for a run that is asked for; else why there is none. */
export type Enter = (namespace: Namespace) => DroverError | null;

export interface RateLimit {
  readonly enter: Enter;
  /** What is allowed from now on, and what of it is taken. */
  look(): Promise<void>;
  /** null: what the server allows. */
  payloadBytesMax(namespace: string): number | null;
}

export interface RateLimitOptions {
  readonly namespaces: Pick<Namespaces, "limited">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

interface Known {
  readonly use: QueueUse;
  readonly payloadBytesMax: number | null;
}

export function createRateLimit({ namespaces, clock }: RateLimitOptions): RateLimit {
  const byName = new Map<string, Known>();

  async function look(): Promise<void> {
    const limited = await namespaces.limited();
    const now = clock.monotonicMs();
    const before = new Map(byName);
    byName.clear();
    for (const one of limited) byName.set(one.name, knownOf(one, before.get(one.name), now));
  }

  return Object.freeze({
    look,
    enter({ name }: Namespace) {
      const known = byName.get(name);
      if (!known || !isLimited(known.use.limits)) return null;
      const now = clock.monotonicMs();
      if (room(known.use, now) < 1) return refusal(name, known.use, now);
      byName.set(name, { ...known, use: taken(known.use, 1, now) });
      return null;
    },
    payloadBytesMax: (name: string) => byName.get(name)?.payloadBytesMax ?? null,
  });
}

/** The bucket goes on; what has begun since the look is counted by the next one. */
function knownOf(
  { limits, openRuns }: NamespaceUse,
  before: Known | undefined,
  now: number,
): Known {
  const { openRunsMax: leasesMax, rate, payloadBytesMax } = limits;
  const bucket = rate && (before?.use.bucket ?? { tokens: rate.burst, filledAt: now });
  return { use: { limits: { leasesMax, rate }, leased: openRuns, bucket }, payloadBytesMax };
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
