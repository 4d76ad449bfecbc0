/** Housekeeping walks through the runs of a namespace in rounds, each from where the last ended. */
import { pino } from "pino";
import { expect, test } from "vitest";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import type { OldRuns, UnusedDefinitions } from "../../server/store/namespaces.ts";
import { createHousekeeping } from "../../server/supervisor/housekeeping.ts";
import { createServerClock } from "../support/server-clock.ts";

const retention = { sessionMs: 1, pollerMs: 1 };
const log = pino({ level: "silent" });

test.for([
  [3, 3],
  [1_000, 100],
])(
  "as long as a batch is full the next one follows: of %i batches %i in a round",
  async ([full = 0, rounds]) => {
    const clock = createServerClock();
    const store = createMemoryStore({ now: clock.wallMs });
    let asked = 0;
    const forgetOld = async () => ++asked < full;
    await createHousekeeping({ ...store, forgetOld }, clock, log, retention).runOnce();
    expect(asked).toBe(rounds);
  },
);

test("a walk that is too long for one round continues in the next, and then begins anew", async () => {
  const clock = createServerClock();
  const store = createMemoryStore({ now: clock.wallMs });
  await store.namespaces.setRetention(1, 3_600_000);
  const asked: OldRuns[] = [];
  const namespaces = {
    ...store.namespaces,
    async forgetRuns(of: OldRuns) {
      asked.push(of);
      return { after: `run ${asked.length}`, more: asked.length < 1_250 };
    },
  };
  const loop = createHousekeeping({ ...store, namespaces }, clock, log, retention);
  await loop.runOnce();
  expect(asked).toHaveLength(1_000);
  expect(asked[0]).toEqual({ namespaceId: 1, keptMs: 3_600_000, after: null, limit: 100 });
  await loop.runOnce();
  expect(asked).toHaveLength(1_250);
  expect(asked[1_000]).toMatchObject({ after: "run 1000" });
  await loop.runOnce();
  expect(asked[1_250]).toMatchObject({ after: null });
});

test("definitions are checked in pages, and the next round continues behind the last", async () => {
  const clock = createServerClock();
  const store = createMemoryStore({ now: clock.wallMs });
  const asked: number[] = [];
  const namespaces = {
    ...store.namespaces,
    async forgetDefinitions({ after, limit }: UnusedDefinitions) {
      asked.push(after);
      return asked.length < 30 ? after + limit : null;
    },
  };
  const loop = createHousekeeping({ ...store, namespaces }, clock, log, retention);
  await loop.runOnce();
  expect(asked).toHaveLength(20);
  await loop.runOnce();
  expect(asked).toHaveLength(30);
  expect(asked[29]).toBe(29 * 500);
  await loop.runOnce();
  expect(asked[30]).toBe(0);
});

test("in a store of several shards all definitions stay", async () => {
  const clock = createServerClock();
  const store = createMemoryStore({ now: clock.wallMs });
  const namespaces = {
    ...store.namespaces,
    forgetDefinitions: () => Promise.reject(new Error("runs of another shard may have them")),
  };
  let failures = 0;
  const onFailed = () => void failures++;
  const how = { shards: 2, onFailed };
  await createHousekeeping({ ...store, namespaces }, clock, log, retention, how).runOnce();
  expect(failures).toBe(0);
});

test("a part that fails holds up no other, and is logged once a minute", async () => {
  const clock = createServerClock();
  const store = createMemoryStore({ now: clock.wallMs });
  await store.namespaces.setRetention(1, 3_600_000);
  const done: string[] = [];
  const namespaces = {
    ...store.namespaces,
    forgetRuns: () => Promise.reject(new Error("too much to read")),
    async forgetDefinitions() {
      done.push("definitions");
      return null;
    },
  };
  const forgetOld: typeof store.forgetOld = async (_rows, _retention, failures) => {
    done.push("old");
    failures?.set("forget_keys", new Error("canceling statement due to statement timeout"));
    return done.length < 3;
  };
  const lines: { event: string; part: string }[] = [];
  const collectingLog = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let failures = 0;
  const count = () => void failures++;
  const tidied = createHousekeeping(
    { ...store, namespaces, forgetOld },
    clock,
    collectingLog,
    retention,
    { onFailed: count },
  );
  await tidied.runOnce();
  expect(done).toEqual(["old", "old", "old", "definitions"]);
  expect(lines.map(({ event, part }) => `${event}: ${part}`)).toEqual([
    "housekeeping.failed: forget_keys",
    "housekeeping.failed: forget_runs of namespace 1",
  ]);
  expect(failures).toBe(2);
});
