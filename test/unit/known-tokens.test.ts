/** What a server knows of API tokens: how old it may be, and what guessing costs the database. */
import { beforeEach, expect, test } from "vitest";
import {
  createKnownTokens,
  type KnownTokens,
  TRUSTED_MS,
} from "../../server/api/auth/known-tokens.ts";
import type { Clock } from "../../server/clock.ts";
import type { KnownToken } from "../../server/store/tokens.ts";

const GOOD = "ab".repeat(32);
const token: KnownToken = {
  digest: GOOD,
  id: GOOD.slice(0, 16),
  name: "booking",
  role: "client",
  queues: [],
  namespace: "default",
  leftMs: null,
  revoked: false,
  useIsStale: false,
};

let now: number;
let stored: readonly KnownToken[];
let asked: (readonly string[])[];
let noted: string[];
let known: KnownTokens;
beforeEach(() => {
  now = 1_000;
  stored = [token];
  asked = [];
  noted = [];
  known = createKnownTokens(
    {
      async find(digests) {
        asked.push(digests);
        return stored.filter(({ digest }) => digests.includes(digest));
      },
      noteUse: async (ids) => void noted.push(...ids),
    },
    clock,
  );
});

/** A timer that is waited for has passed. */
const clock: Clock = {
  monotonicMs: () => now,
  wallMs: () => now,
  after(ms, fn) {
    queueMicrotask(() => {
      now += Math.max(ms, 0);
      fn();
    });
    return { cancel: () => undefined };
  },
  sleep: async () => undefined,
};

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a token is read once, and then known without waiting", async () => {
  expect(await known.find(GOOD)).toMatchObject({ name: "booking" });
  now += 1_500;
  expect(known.find(GOOD)).toMatchObject({ name: "booking" });
  expect(asked).toEqual([[GOOD]]);
});

test("many calls that show it first wait for one reading", async () => {
  const found = await Promise.all([known.find(GOOD), known.find(GOOD), known.find(GOOD)]);
  expect(found.map((one) => one?.name)).toEqual(["booking", "booking", "booking"]);
  expect(asked).toEqual([[GOOD]]);
});

test("what is older than two seconds serves once more, and is read again beside it", async () => {
  await known.find(GOOD);
  stored = [{ ...token, revoked: true }];
  now += 2_001;
  expect(known.find(GOOD)).toMatchObject({ revoked: false });
  await settled();
  expect(known.find(GOOD)).toMatchObject({ revoked: true });
});

test(`no call is served by what is older than ${TRUSTED_MS} ms, also while the store is away`, async () => {
  await known.find(GOOD);
  stored = [{ ...token, revoked: true }];
  now += TRUSTED_MS + 1;
  expect(await known.find(GOOD)).toMatchObject({ revoked: true });
});

test("once a token was revoked here, nothing that was read before serves", async () => {
  await known.find(GOOD);
  stored = [{ ...token, revoked: true }];
  known.forget();
  expect(await known.find(GOOD)).toMatchObject({ revoked: true });
});

test("a reading that began before is no answer for calls after it", async () => {
  const before = known.find(GOOD);
  known.forget();
  stored = [{ ...token, revoked: true }];
  await before;
  expect(await known.find(GOOD)).toMatchObject({ revoked: true });
});

test("an unknown digest is queried once, and again after a while", async () => {
  const unknown = "cd".repeat(32);
  expect(await known.find(unknown)).toBeNull();
  for (let n = 0; n < 1_000; n++) expect(known.find(unknown)).toBeNull();
  expect(asked).toHaveLength(1);
  now += TRUSTED_MS + 1;
  expect(await known.find(unknown)).toBeNull();
  expect(asked).toHaveLength(2);
});

test("guesses are asked for in batches, one at a time, and never evict known tokens", async () => {
  await known.find(GOOD);
  const guesses = Array.from({ length: 9_000 }, (_, n) => n.toString(16).padStart(64, "0"));
  for (let round = 0; round < 3; round++)
    await Promise.all(guesses.map((guess) => known.find(`${round}${guess.slice(1)}`)));
  expect(asked.length).toBeLessThan(1 + (3 * 9_000) / 100);
  const before = asked.length;
  expect(known.find(GOOD) ?? null).not.toBeNull();
  expect(asked.flat().filter((digest) => digest === GOOD).length).toBeLessThanOrEqual(2);
  expect(before).toBeGreaterThan(3);
});

test("that it was presented is noted when the store asks for it", async () => {
  stored = [{ ...token, useIsStale: true }];
  await known.find(GOOD);
  expect(noted).toEqual([token.id]);
});
