// A cache of API tokens by their digests, so that calls do not wait for the database.
//
//   read → fresh (2 s) → used, while it is read again in the background → after 5 s not used
//
// Promise: a token that was revoked or has expired is refused on every server within TRUSTED_MS,
// and at once on the server that revoked it. Unknown digests are cached, too, and read in batches,
// one batch at a time: a caller that guesses tokens costs one statement every READ_EVERY_MS.

import { type Batcher, createBatcher, type ItemResult } from "../../batching/batcher.ts";
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
  /** It is being read again. */
  again: boolean;
}

interface State {
  readonly tokens: Pick<Tokens, "find" | "noteUse">;
  readonly clock: Clock;
  readonly known: Map<string, Entry>;
  /** Digests of no token. */
  readonly unknown: Map<string, Entry>;
  readonly reads: Batcher<string, HeldToken | null>;
  /** Digests that are being read. */
  readonly reading: Map<string, Promise<HeldToken | null>>;
  /** Incremented when all entries are dropped: what was asked before is not kept. */
  incarnation: number;
}

export function createKnownTokens(tokens: State["tokens"], clock: Clock): KnownTokens {
  const state: State = {
    tokens,
    clock,
    known: new Map(),
    unknown: new Map(),
    reads: createBatcher({
      name: "tokens",
      clock,
      fullAt: READ_MAX,
      itemsMax: READ_MAX,
      bucket: { everyMs: READ_EVERY_MS, capacity: 1 },
      inFlightMax: 1,
      waitingMax: WAITING_MAX,
      isRetryable: () => false,
      flush: (digests) =>
        read(state, digests).catch((error: unknown) => digests.map(() => failed(error))),
    }),
    reading: new Map(),
    incarnation: 0,
  };
  return Object.freeze({
    find: (digest: string) => find(state, digest),
    forget: () => forget(state),
  } satisfies KnownTokens);
}

function find(state: State, digest: string): ReturnType<KnownTokens["find"]> {
  const entry = state.known.get(digest) ?? state.unknown.get(digest);
  if (entry === undefined) return ask(state, digest);
  const age = state.clock.monotonicMs() - entry.readAt;
  if (age <= FRESH_MS) return entry.token;
  if (age > TRUSTED_MS) return ask(state, digest);
  if (!entry.again) {
    entry.again = true;
    ask(state, digest).catch(() => {
      entry.again = false;
    });
  }
  return entry.token;
}

function ask({ reads, reading }: State, digest: string): Promise<HeldToken | null> {
  const inFlight = reading.get(digest);
  if (inFlight) return inFlight;
  const answer = reads.submit(digest).finally(() => {
    if (reading.get(digest) === answer) reading.delete(digest);
  });
  reading.set(digest, answer);
  return answer;
}

async function read(
  state: State,
  digests: readonly string[],
): Promise<readonly ItemResult<HeldToken | null>[]> {
  const { tokens, clock } = state;
  // Taken before the query: a change during the query makes the entry look older than it is,
  // never newer.
  const readAt = clock.monotonicMs();
  const asked = state.incarnation;
  const found = new Map((await tokens.find(digests)).map((token) => [token.digest, token]));
  const stale = [...found.values()].filter(({ useIsStale }) => useIsStale);
  // Times of use are coarse and for people: one that is lost is written at the next read.
  if (stale.length > 0) tokens.noteUse(stale.map(({ id }) => id)).catch(() => undefined);
  return digests.map((digest) => {
    const one = found.get(digest);
    const goodUntil = one === undefined || one.leftMs === null ? null : readAt + one.leftMs;
    const token = one === undefined ? null : { ...one, goodUntil };
    if (asked === state.incarnation) cache(state, digest, { token, readAt, again: false });
    return { kind: "done", result: token };
  });
}

function cache({ known, unknown }: State, digest: string, entry: Entry): void {
  known.delete(digest);
  unknown.delete(digest);
  const cached = entry.token === null ? unknown : known;
  const [oldest] = cached.size < CACHED_MAX ? [] : cached.keys();
  if (oldest !== undefined) cached.delete(oldest);
  cached.set(digest, entry);
}

function forget(state: State): void {
  const { known, unknown, reading } = state;
  state.incarnation++;
  known.clear();
  unknown.clear();
  reading.clear();
}

function failed(error: unknown): ItemResult<never> {
  return { kind: "failed", error };
}
