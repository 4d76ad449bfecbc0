// A cache of API tokens by their digests, so that calls do not wait for the database.
//
//   read → fresh (2 s) → used, while it is read again in the background → after 5 s not used
//
// Promise: a token that was revoked or has expired is refused on every server within TRUSTED_MS,
// and at once on the server that revoked it. Unknown digests are cached, too, and read in batches,
// one batch at a time: a caller that guesses tokens costs one statement every READ_EVERY_MS.

import { createBatcher, type ItemResult } from "../../batcher.ts";
import type { Clock } from "../../clock.ts";
import type { KnownToken, Tokens } from "../../store/tokens.ts";

/** An entry older than this is read again. */
const FRESH_MS = 2_000;
/** An entry older than this is not trusted. */
export const TRUSTED_MS = 5_000;
const READ_EVERY_MS = 10;
const READ_MAX = 500;
const WAITING_MAX = 10_000;
/** Most known and most unknown digests; the oldest is dropped first. */
const CACHED_MAX = 10_000;

export interface HeldToken extends KnownToken {
  /** By the monotonic clock; null: the token does not expire. */
  readonly goodUntil: number | null;
}

export interface KnownTokens {
  /** null: there is no such token. Answers synchronously, unless the token must be read. */
  find(digest: string): HeldToken | null | Promise<HeldToken | null>;
  /** Drops all entries: a token was revoked on this server. */
  forget(): void;
}

interface Entry {
  readonly token: HeldToken | null;
  readonly readAt: number;
  again: boolean;
}

export function createKnownTokens(
  tokens: Pick<Tokens, "find" | "noteUse">,
  clock: Clock,
): KnownTokens {
  const known = new Map<string, Entry>();
  const unknown = new Map<string, Entry>();
  const reading = new Map<string, Promise<HeldToken | null>>();
  let incarnation = 0;

  const reads = createBatcher<string, HeldToken | null>({
    name: "tokens",
    clock,
    fullAt: READ_MAX,
    itemsMax: READ_MAX,
    bucket: { everyMs: READ_EVERY_MS, capacity: 1 },
    outMax: 1,
    waitingMax: WAITING_MAX,
    isRetryable: () => false,
    flush: (digests) => read(digests).catch((error: unknown) => digests.map(() => failed(error))),
  });

  async function read(
    digests: readonly string[],
  ): Promise<readonly ItemResult<HeldToken | null>[]> {
    // Taken before the query: a change during the query makes the entry look older than it is,
    // never newer.
    const readAt = clock.monotonicMs();
    const asked = incarnation;
    const found = new Map((await tokens.find(digests)).map((token) => [token.digest, token]));
    const unnoted = [...found.values()].filter(({ useUnnoted }) => useUnnoted);
    // Times of use are coarse and for people: one that is lost is written at the next read.
    if (unnoted.length > 0) tokens.noteUse(unnoted.map(({ id }) => id)).catch(() => undefined);
    return digests.map((digest) => {
      const one = found.get(digest);
      const goodUntil = one === undefined || one.leftMs === null ? null : readAt + one.leftMs;
      const token = one === undefined ? null : { ...one, goodUntil };
      if (asked === incarnation) keep(digest, { token, readAt, again: false });
      return { kind: "done", result: token };
    });
  }

  function keep(digest: string, entry: Entry): void {
    known.delete(digest);
    unknown.delete(digest);
    const kept = entry.token === null ? unknown : known;
    const [oldest] = kept.size < CACHED_MAX ? [] : kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(digest, entry);
  }

  function ask(digest: string): Promise<HeldToken | null> {
    const under = reading.get(digest);
    if (under) return under;
    const begun = reads.submit(digest).finally(() => {
      if (reading.get(digest) === begun) reading.delete(digest);
    });
    reading.set(digest, begun);
    return begun;
  }

  return Object.freeze({
    find(digest) {
      const entry = known.get(digest) ?? unknown.get(digest);
      if (entry === undefined) return ask(digest);
      const age = clock.monotonicMs() - entry.readAt;
      if (age <= FRESH_MS) return entry.token;
      if (age > TRUSTED_MS) return ask(digest);
      if (!entry.again) {
        entry.again = true;
        ask(digest).catch(() => {
          entry.again = false;
        });
      }
      return entry.token;
    },
    forget() {
      incarnation++;
      known.clear();
      unknown.clear();
      reading.clear();
    },
  } satisfies KnownTokens);
}

function failed(error: unknown): ItemResult<never> {
  return { kind: "failed", error };
}
