/** Batches that form by themselves: when one is flushed, what is in it, what fails together. */
import fc from "fast-check";
import { beforeEach, describe, expect, it, test } from "vitest";
import {
  type Batcher,
  createBatcher,
  FLUSH_BUCKET,
  type ItemResult,
} from "../../server/batching/batcher.ts";
import { type Clock, sleepBy } from "../../server/clock.ts";
import { DroverError } from "../../server/errors.ts";
import { createManualClock, type ManualClock } from "../support/manual-clock.ts";

const EVERY_MS = 5;
/** No two batches at once: what comes after one waits for the next token. */
const ONE_TOKEN = { everyMs: EVERY_MS, capacity: 1 };

/** A batch that the test finishes. */
interface Flushed {
  readonly items: readonly string[];
  readonly wait: boolean;
  finish(result?: (item: string) => ItemResult<string>): Promise<void>;
  fail(error: unknown): Promise<void>;
}

const done = (item: string): ItemResult<string> => ({ kind: "done", result: `${item} done` });
const again = (): ItemResult<string> => ({ kind: "again" });

let clock: ManualClock;
let flushed: Flushed[];
/** Set since the test began. */
let timers: number;

beforeEach(() => {
  clock = createManualClock();
  flushed = [];
  timers = 0;
});

const turn = () => new Promise(setImmediate);

class Retryable extends Error {}

interface Options {
  readonly bucket?: typeof ONE_TOKEN;
  readonly inFlightMax?: number;
  readonly itemsMax?: number;
  readonly fullAt?: number;
  readonly waitingMax?: number;
}

/** The key of an item is what is before its slash. */
function open(options: Options = {}) {
  const {
    bucket = ONE_TOKEN,
    inFlightMax = 1,
    itemsMax = 10,
    fullAt = 5,
    waitingMax = 120,
  } = options;
  const serverClock: Clock = {
    monotonicMs: clock.monotonicMs,
    wallMs: clock.monotonicMs,
    after(ms, fn) {
      timers += 1;
      return clock.after(ms, fn);
    },
    sleep: sleepBy(clock.after),
  };
  return createBatcher<string, string>({
    name: "test",
    clock: serverClock,
    bucket,
    inFlightMax,
    itemsMax,
    fullAt,
    waitingMax,
    keyOf: (item) => item.split("/")[0] ?? "",
    shareOf: (item) => (item.startsWith("flood") ? "flood" : null),
    isRetryable: (error) => error instanceof Retryable,
    flush: (items, wait) =>
      new Promise((resolve, reject) => {
        flushed.push({
          items,
          wait,
          finish(result = done) {
            resolve(items.map(result));
            return turn().then(() => undefined);
          },
          fail(error) {
            reject(error);
            return turn().then(() => undefined);
          },
        });
      }),
  });
}

/** More than are batched with items of another share. */
const many = (share: string) => Array.from({ length: 100 }, (_, at) => `${share}${at}`);
const last = (): Flushed => {
  const batch = flushed.at(-1);
  if (!batch) throw new Error("no batch has left");
  return batch;
};
const batches = () => flushed.map(({ items }) => items.join(" "));

/** Submits, and records how each item ended. */
function submitAll(batcher: Batcher<string, string>, items: readonly string[]) {
  const ends = new Map<string, string>();
  for (const item of items)
    batcher.submit(item).then(
      (result) => ends.set(item, result),
      (error: unknown) => ends.set(item, String(error instanceof Error ? error.message : error)),
    );
  return ends;
}

describe("a batch is flushed", () => {
  it("at once for a lonely call, with no timer", () => {
    submitAll(open(), ["a"]);
    expect(batches()).toEqual(["a"]);
    expect(timers).toBe(0);
  });

  it("at once for 20 calls in a row, and with the next token for the one after them", async () => {
    const batcher = open({ bucket: FLUSH_BUCKET });
    for (let call = 1; call <= 20; call++) {
      submitAll(batcher, [`call${call}`]);
      expect(last().items).toEqual([`call${call}`]);
      await last().finish();
    }
    expect(timers).toBe(0);
    submitAll(batcher, ["call21"]);
    clock.advance(EVERY_MS - 1);
    submitAll(batcher, ["call22"]);
    expect(flushed).toHaveLength(20);
    clock.advance(1);
    expect(last().items).toEqual(["call21", "call22"]);
  });

  it("at once again after a pause: 20 tokens come in 100 ms, and no more later", async () => {
    const batcher = open({ bucket: FLUSH_BUCKET });
    const atOnce = async (): Promise<number> => {
      const before = flushed.length;
      for (let call = 0; flushed.length === before + call; call++) {
        submitAll(batcher, [`call${call}`]);
        if (flushed.length === before + call) break;
        await last().finish();
      }
      return flushed.length - before;
    };
    expect(await atOnce()).toBe(20);
    clock.advance(50);
    await last().finish();
    // One of the ten tokens was taken by the call that waited.
    expect(await atOnce()).toBe(9);
    clock.advance(10_000);
    await last().finish();
    expect(await atOnce()).toBe(20);
  });

  it("every 5 ms at saturation, with all that came meanwhile", async () => {
    const batcher = open({ bucket: FLUSH_BUCKET, inFlightMax: 20, itemsMax: 100, fullAt: 100 });
    const at: number[] = [];
    for (let ms = 0; ms < 150; ms++) {
      const before = flushed.length;
      submitAll(batcher, [`one${ms}`, `two${ms}`]);
      await Promise.all(flushed.slice(before).map((batch) => batch.finish()));
      clock.advance(1);
      if (ms >= 100 && flushed.length > before) at.push(ms);
    }
    expect(at.slice(1).map((ms, index) => ms - (at[index] ?? 0))).toEqual(at.slice(1).map(() => 5));
    expect(last().items).toHaveLength(10);
  });

  it("before its token comes when it is full, and the next token comes later by that", async () => {
    const batcher = open({ fullAt: 3 });
    submitAll(batcher, ["a"]);
    await last().finish();
    submitAll(batcher, ["b", "c"]);
    expect(batches()).toEqual(["a"]);
    clock.advance(EVERY_MS - 1);
    submitAll(batcher, ["d"]);
    expect(batches()).toEqual(["a", "b c d"]);
    await last().finish();
    submitAll(batcher, ["e"]);
    clock.advance(EVERY_MS - 1);
    expect(batches()).toEqual(["a", "b c d"]);
    clock.advance(1);
    expect(batches()).toEqual(["a", "b c d", "e"]);
  });

  it("only while fewer than the most are out; the next takes all that waited", async () => {
    const batcher = open({ inFlightMax: 1 });
    submitAll(batcher, ["a", "b", "c"]);
    clock.advance(100);
    expect(batches()).toEqual(["a"]);
    await flushed[0]?.finish();
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["a", "b c"]);
  });

  it("with a bounded number of items, in the order in which they came", async () => {
    const batcher = open({ itemsMax: 2, inFlightMax: 3, fullAt: 1 });
    submitAll(batcher, ["a", "b", "c", "d"]);
    clock.advance(EVERY_MS);
    expect(flushed.flatMap(({ items }) => items)).toEqual(["a", "b", "c"]);
    await last().finish();
    clock.advance(EVERY_MS);
    expect(flushed.flatMap(({ items }) => items)).toEqual(["a", "b", "c", "d"]);
  });
});

describe("the items of one call", () => {
  it("are in one batch, flushed when the last of them is submitted", () => {
    const batcher = open({ bucket: FLUSH_BUCKET });
    const seen = batcher.admit(3, () => {
      submitAll(batcher, ["a", "b", "c"]);
      return flushed.length;
    });
    expect(seen).toBe(0);
    expect(batches()).toEqual(["a b c"]);
  });

  it("go with what is pending already, once there is a token", async () => {
    const batcher = open();
    submitAll(batcher, ["first"]);
    await last().finish();
    submitAll(batcher, ["a"]);
    batcher.admit(2, () => submitAll(batcher, ["b", "c"]));
    expect(batches()).toEqual(["first"]);
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["first", "a b c"]);
  });

  it("are refused all together where they have no room: none is submitted", () => {
    const batcher = open({ waitingMax: 2 });
    submitAll(batcher, ["in flight", "a"]);
    const call = () => batcher.admit(2, () => submitAll(batcher, ["b", "c"]));
    expect(call).toThrow("1 calls wait for the store already");
    expect(batcher.admit(1, () => submitAll(batcher, ["d"]))).toEqual(new Map());
  });

  it("hold up no later call when submitting them fails", () => {
    const batcher = open({ bucket: FLUSH_BUCKET });
    const call = () =>
      batcher.admit(1, () => {
        throw new Error("cannot be read");
      });
    expect(call).toThrow("cannot be read");
    submitAll(batcher, ["a"]);
    expect(batches()).toEqual(["a"]);
  });
});

test("a share with many items holds up no other (batch-queue.test.ts)", async () => {
  const batcher = open({ inFlightMax: 1, itemsMax: 10, fullAt: 5 });
  submitAll(batcher, many("flood"));
  submitAll(batcher, ["trickle"]);
  expect(last().items).not.toContain("trickle");
  clock.advance(EVERY_MS);
  expect(last().items).toEqual(["trickle"]);
});

describe("items of one key", () => {
  it("are never in two batches at a time", async () => {
    const batcher = open({ inFlightMax: 2, fullAt: 1 });
    submitAll(batcher, ["x/1", "x/2", "y/1"]);
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["x/1", "y/1"]);
    await flushed[0]?.finish();
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["x/1", "y/1", "x/2"]);
  });

  it("may share one batch", async () => {
    const batcher = open();
    submitAll(batcher, ["a"]);
    submitAll(batcher, ["x/1", "x/2"]);
    await last().finish();
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["a", "x/1 x/2"]);
  });
});

describe("an item whose row another transaction holds", () => {
  it("is tried again with others three times, and then alone and patiently", async () => {
    const batcher = open();
    const ends = submitAll(batcher, ["x/1"]);
    for (const other of ["a", "b", "c"]) {
      const before = flushed.length;
      submitAll(batcher, [other]);
      await last().finish((item) => (item.startsWith("x") ? again() : done(item)));
      clock.advance(EVERY_MS);
      expect(flushed.length).toBe(before + 1);
    }
    expect(batches()).toEqual(["x/1", "a x/1", "b x/1", "x/1"]);
    expect(flushed.map(({ wait }) => wait)).toEqual([false, false, false, true]);
    await last().finish();
    expect(ends.get("x/1")).toBe("x/1 done");
  });

  it("takes others of its key along, and no other item", async () => {
    const batcher = open({ inFlightMax: 1 });
    submitAll(batcher, ["x/1"]);
    for (let miss = 0; miss < 3; miss++) {
      if (miss === 2) submitAll(batcher, ["a", "x/2"]);
      await last().finish(again);
      clock.advance(EVERY_MS);
    }
    expect(flushed).toHaveLength(4);
    expect([...last().items].sort()).toEqual(["x/1", "x/2"]);
    await last().finish();
    clock.advance(EVERY_MS);
    expect(last().items).toEqual(["a"]);
  });

  it("and that is unanswered even then fails, and is not tried for ever", async () => {
    const batcher = open();
    const ends = submitAll(batcher, ["x/1"]);
    for (let batch = 0; batch < 20 && !ends.has("x/1"); batch++) {
      await last().finish(again);
      clock.advance(EVERY_MS);
    }
    expect(flushed.length).toBeLessThanOrEqual(5);
    expect(ends.get("x/1")).toContain("got no answer");
  });
});

describe("a batch that fails", () => {
  it("by what may pass is tried once more as it is", async () => {
    const batcher = open();
    const ends = submitAll(batcher, ["a"]);
    await last().fail(new Retryable());
    expect(batches()).toEqual(["a", "a"]);
    await last().finish();
    expect(ends.get("a")).toBe("a done");
  });

  it("by what is held twice asks its caller to repeat", async () => {
    const batcher = open();
    const call = batcher.submit("a");
    await last().fail(new Retryable());
    const failing = expect(call).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    await last().fail(new Retryable());
    await failing;
  });

  it("because the store is away fails for all alike, and is not tried in halves", async () => {
    const batcher = open();
    submitAll(batcher, ["z"]);
    const ends = submitAll(batcher, ["a", "b", "c"]);
    await last().finish();
    clock.advance(EVERY_MS);
    await last().fail(new DroverError("STORE_UNAVAILABLE", "away"));
    expect(flushed).toHaveLength(2);
    expect([...ends.values()]).toEqual(["away", "away", "away"]);
  });

  it("is split until the bad items fail alone, whichever they are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 10 }),
        fc.uniqueArray(fc.nat({ max: 9 })),
        async (count, indexes) => {
          clock = createManualClock();
          flushed = [];
          const batcher = open({ inFlightMax: 2, itemsMax: 20, fullAt: 100 });
          const items = Array.from({ length: count }, (_, at) => `i${at}`);
          const bad = new Set(indexes.map((index) => `i${index}`));
          submitAll(batcher, ["first"]);
          await last().finish();
          const ends = submitAll(batcher, items);
          clock.advance(EVERY_MS);
          for (let at = 1; at < flushed.length; at++) {
            const batch = flushed[at];
            if (batch?.items.some((item) => bad.has(item))) await batch.fail(new Error("bad"));
            else await batch?.finish();
          }
          await batcher.idle();
          for (const item of items)
            expect(ends.get(item)).toBe(bad.has(item) ? "bad" : `${item} done`);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe("an item that a batch did not try", () => {
  it("is tried again as often as it takes: it is no miss, and no reason to be alone in a batch", async () => {
    const batcher = open();
    const answer = batcher.submit("a");
    for (let batch = 0; batch < 10; batch++) {
      await last().finish(() => ({ kind: "postponed" }));
      clock.advance(EVERY_MS);
      expect(last().wait).toBe(false);
    }
    await last().finish();
    expect(await answer).toBe("a done");
  });
});

describe("the queue", () => {
  it("is bounded: what comes beyond is refused with a time to try again", async () => {
    const batcher = open({ waitingMax: 2 });
    submitAll(batcher, ["out", "a", "b"]);
    await expect(batcher.submit("c")).rejects.toMatchObject({
      reason: "OVERLOADED",
      retryAfterMs: 250,
    });
  });

  it("refuses nothing that the server does of its own accord: it is flushed in its turn", async () => {
    const batcher = open({ waitingMax: 2 });
    submitAll(batcher, ["out", "a", "b"]);
    const own = batcher.submitOwn("own");
    await last().finish();
    clock.advance(EVERY_MS);
    expect(last().items).toEqual(["a", "b", "own"]);
    await last().finish();
    expect(await own).toBe("own done");
  });

  it("is idle when nothing waits and nothing is out, also after a failure", async () => {
    const batcher = open();
    await batcher.idle();
    submitAll(batcher, ["a", "b"]);
    let idle = false;
    const waiting = batcher.idle().then(() => {
      idle = true;
    });
    await last().fail(new Error("bad"));
    expect(idle).toBe(false);
    clock.advance(EVERY_MS);
    await last().finish();
    await waiting;
    expect(idle).toBe(true);
  });
});
