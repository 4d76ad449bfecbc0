/** Batches that form by themselves: when one is flushed, what is in it, and who fails with whom. */
import fc from "fast-check";
import { beforeEach, describe, expect, it, test } from "vitest";
import { type Clock, sleepBy } from "../../server/clock.ts";
import { DroverError } from "../../server/errors.ts";
import { createFlights, FLUSH_BUCKET, type Flights, type Landing } from "../../server/flights.ts";
import { createManualClock, type ManualClock } from "../support/manual-clock.ts";

const EVERY_MS = 5;
/** No two batches at once: what comes after one waits for the next token. */
const ONE_TOKEN = { everyMs: EVERY_MS, capacity: 1 };

/** A flight that the test lands. */
interface Flown {
  readonly items: readonly string[];
  readonly wait: boolean;
  land(landing?: (item: string) => Landing<string>): Promise<void>;
  fail(error: unknown): Promise<void>;
}

const done = (item: string): Landing<string> => ({ kind: "done", result: `${item} done` });
const again = (): Landing<string> => ({ kind: "again" });

let clock: ManualClock;
let flown: Flown[];
/** Set since the test began. */
let timers: number;

beforeEach(() => {
  clock = createManualClock();
  flown = [];
  timers = 0;
});

const turn = () => new Promise(setImmediate);

class Retryable extends Error {}

interface Options {
  readonly bucket?: typeof ONE_TOKEN;
  readonly outMax?: number;
  readonly itemsMax?: number;
  readonly fullAt?: number;
  readonly waitingMax?: number;
}

/** The key of an item is what stands before its slash. */
function open(options: Options = {}) {
  const { bucket = ONE_TOKEN, outMax = 1, itemsMax = 10, fullAt = 5, waitingMax = 120 } = options;
  const serverClock: Clock = {
    monotonicMs: clock.monotonicMs,
    wallMs: clock.monotonicMs,
    after(ms, fn) {
      timers += 1;
      return clock.after(ms, fn);
    },
    sleep: sleepBy(clock.after),
  };
  return createFlights<string, string>({
    ...{ name: "test", clock: serverClock, bucket },
    ...{ outMax, itemsMax, fullAt, waitingMax },
    keyOf: (item) => item.split("/")[0] ?? "",
    shareOf: (item) => (item.startsWith("flood") ? "flood" : null),
    isRetryable: (error) => error instanceof Retryable,
    fly: (items, wait) =>
      new Promise((resolve, reject) => {
        flown.push({
          items,
          wait,
          land(landing = done) {
            resolve(items.map(landing));
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

/** More than fly with items of another share. */
const many = (share: string) => Array.from({ length: 100 }, (_, at) => `${share}${at}`);
const last = (): Flown => {
  const flight = flown.at(-1);
  if (!flight) throw new Error("no flight has left");
  return flight;
};
const batches = () => flown.map(({ items }) => items.join(" "));

/** Submits, and keeps how each item ended. */
function submitAll(flights: Flights<string, string>, items: readonly string[]) {
  const ends = new Map<string, string>();
  for (const item of items)
    flights.submit(item).then(
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
    const flights = open({ bucket: FLUSH_BUCKET });
    for (let call = 1; call <= 20; call++) {
      submitAll(flights, [`call${call}`]);
      expect(last().items).toEqual([`call${call}`]);
      await last().land();
    }
    expect(timers).toBe(0);
    submitAll(flights, ["call21"]);
    clock.advance(EVERY_MS - 1);
    submitAll(flights, ["call22"]);
    expect(flown).toHaveLength(20);
    clock.advance(1);
    expect(last().items).toEqual(["call21", "call22"]);
  });

  it("at once again after a pause: 20 tokens come in 100 ms, and no more later", async () => {
    const flights = open({ bucket: FLUSH_BUCKET });
    const atOnce = async (): Promise<number> => {
      const before = flown.length;
      for (let call = 0; flown.length === before + call; call++) {
        submitAll(flights, [`call${call}`]);
        if (flown.length === before + call) break;
        await last().land();
      }
      return flown.length - before;
    };
    expect(await atOnce()).toBe(20);
    clock.advance(50);
    await last().land();
    // One of the ten tokens was taken by the call that waited.
    expect(await atOnce()).toBe(9);
    clock.advance(10_000);
    await last().land();
    expect(await atOnce()).toBe(20);
  });

  it("every 5 ms at saturation, with all that came meanwhile", async () => {
    const flights = open({ bucket: FLUSH_BUCKET, outMax: 20, itemsMax: 100, fullAt: 100 });
    const at: number[] = [];
    for (let ms = 0; ms < 150; ms++) {
      const before = flown.length;
      submitAll(flights, [`one${ms}`, `two${ms}`]);
      await Promise.all(flown.slice(before).map((batch) => batch.land()));
      clock.advance(1);
      if (ms >= 100 && flown.length > before) at.push(ms);
    }
    expect(at.slice(1).map((ms, index) => ms - (at[index] ?? 0))).toEqual(at.slice(1).map(() => 5));
    expect(last().items).toHaveLength(10);
  });

  it("before its token comes when it is full, and the next token comes later by that", async () => {
    const flights = open({ fullAt: 3 });
    submitAll(flights, ["a"]);
    await last().land();
    submitAll(flights, ["b", "c"]);
    expect(batches()).toEqual(["a"]);
    clock.advance(EVERY_MS - 1);
    submitAll(flights, ["d"]);
    expect(batches()).toEqual(["a", "b c d"]);
    await last().land();
    submitAll(flights, ["e"]);
    clock.advance(EVERY_MS - 1);
    expect(batches()).toEqual(["a", "b c d"]);
    clock.advance(1);
    expect(batches()).toEqual(["a", "b c d", "e"]);
  });

  it("only while fewer than the most are out; the next takes all that waited", async () => {
    const flights = open({ outMax: 1 });
    submitAll(flights, ["a", "b", "c"]);
    clock.advance(100);
    expect(batches()).toEqual(["a"]);
    await flown[0]?.land();
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["a", "b c"]);
  });

  it("with a bounded number of items, in the order in which they came", async () => {
    const flights = open({ itemsMax: 2, outMax: 3, fullAt: 1 });
    submitAll(flights, ["a", "b", "c", "d"]);
    clock.advance(EVERY_MS);
    expect(flown.flatMap(({ items }) => items)).toEqual(["a", "b", "c"]);
    await last().land();
    clock.advance(EVERY_MS);
    expect(flown.flatMap(({ items }) => items)).toEqual(["a", "b", "c", "d"]);
  });
});

describe("the items of one call", () => {
  it("are in one batch, flushed when the last of them is submitted", () => {
    const flights = open({ bucket: FLUSH_BUCKET });
    const seen = flights.admit(3, () => {
      submitAll(flights, ["a", "b", "c"]);
      return flown.length;
    });
    expect(seen).toBe(0);
    expect(batches()).toEqual(["a b c"]);
  });

  it("go with what is pending already, once there is a token", async () => {
    const flights = open();
    submitAll(flights, ["first"]);
    await last().land();
    submitAll(flights, ["a"]);
    flights.admit(2, () => submitAll(flights, ["b", "c"]));
    expect(batches()).toEqual(["first"]);
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["first", "a b c"]);
  });

  it("are refused all together where they have no room: none is submitted", () => {
    const flights = open({ waitingMax: 2 });
    submitAll(flights, ["in flight", "a"]);
    const call = () => flights.admit(2, () => submitAll(flights, ["b", "c"]));
    expect(call).toThrow("1 calls wait for the store already");
    expect(flights.admit(1, () => submitAll(flights, ["d"]))).toEqual(new Map());
  });

  it("hold up no later call when submitting them fails", () => {
    const flights = open({ bucket: FLUSH_BUCKET });
    const call = () =>
      flights.admit(1, () => {
        throw new Error("cannot be read");
      });
    expect(call).toThrow("cannot be read");
    submitAll(flights, ["a"]);
    expect(batches()).toEqual(["a"]);
  });
});

test("a share with many items holds up no other (boarding.test.ts)", async () => {
  const flights = open({ outMax: 1, itemsMax: 10, fullAt: 5 });
  submitAll(flights, many("flood"));
  submitAll(flights, ["trickle"]);
  expect(last().items).not.toContain("trickle");
  clock.advance(EVERY_MS);
  expect(last().items).toEqual(["trickle"]);
});

describe("items of one key", () => {
  it("are never in two flights at a time", async () => {
    const flights = open({ outMax: 2, fullAt: 1 });
    submitAll(flights, ["x/1", "x/2", "y/1"]);
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["x/1", "y/1"]);
    await flown[0]?.land();
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["x/1", "y/1", "x/2"]);
  });

  it("may share one flight", async () => {
    const flights = open();
    submitAll(flights, ["a"]);
    submitAll(flights, ["x/1", "x/2"]);
    await last().land();
    clock.advance(EVERY_MS);
    expect(batches()).toEqual(["a", "x/1 x/2"]);
  });
});

describe("an item whose row somebody else holds", () => {
  it("flies again with others three times, and then alone and patiently", async () => {
    const flights = open();
    const ends = submitAll(flights, ["x/1"]);
    for (const other of ["a", "b", "c"]) {
      const before = flown.length;
      submitAll(flights, [other]);
      await last().land((item) => (item.startsWith("x") ? again() : done(item)));
      clock.advance(EVERY_MS);
      expect(flown.length).toBe(before + 1);
    }
    expect(batches()).toEqual(["x/1", "a x/1", "b x/1", "x/1"]);
    expect(flown.map(({ wait }) => wait)).toEqual([false, false, false, true]);
    await last().land();
    expect(ends.get("x/1")).toBe("x/1 done");
  });

  it("takes others of its key along, and nobody else", async () => {
    const flights = open({ outMax: 1 });
    submitAll(flights, ["x/1"]);
    for (let miss = 0; miss < 3; miss++) {
      if (miss === 2) submitAll(flights, ["a", "x/2"]);
      await last().land(again);
      clock.advance(EVERY_MS);
    }
    expect(flown).toHaveLength(4);
    expect([...last().items].sort()).toEqual(["x/1", "x/2"]);
    await last().land();
    clock.advance(EVERY_MS);
    expect(last().items).toEqual(["a"]);
  });

  it("and that nobody answers for even then fails, and does not fly for ever", async () => {
    const flights = open();
    const ends = submitAll(flights, ["x/1"]);
    for (let flight = 0; flight < 20 && !ends.has("x/1"); flight++) {
      await last().land(again);
      clock.advance(EVERY_MS);
    }
    expect(flown.length).toBeLessThanOrEqual(5);
    expect(ends.get("x/1")).toContain("got no answer");
  });
});

describe("a flight that fails", () => {
  it("by what may pass flies once more as it is", async () => {
    const flights = open();
    const ends = submitAll(flights, ["a"]);
    await last().fail(new Retryable());
    expect(batches()).toEqual(["a", "a"]);
    await last().land();
    expect(ends.get("a")).toBe("a done");
  });

  it("by what is held twice tells its caller to repeat", async () => {
    const flights = open();
    const call = flights.submit("a");
    await last().fail(new Retryable());
    const failing = expect(call).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    await last().fail(new Retryable());
    await failing;
  });

  it("because the store is away fails for all alike, and is not tried in halves", async () => {
    const flights = open();
    submitAll(flights, ["z"]);
    const ends = submitAll(flights, ["a", "b", "c"]);
    await last().land();
    clock.advance(EVERY_MS);
    await last().fail(new DroverError("STORE_UNAVAILABLE", "away"));
    expect(flown).toHaveLength(2);
    expect([...ends.values()]).toEqual(["away", "away", "away"]);
  });

  it("is split until the bad items fail alone, whichever they are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 10 }),
        fc.uniqueArray(fc.nat({ max: 9 })),
        async (count, places) => {
          clock = createManualClock();
          flown = [];
          const flights = open({ outMax: 2, itemsMax: 20, fullAt: 100 });
          const items = Array.from({ length: count }, (_, at) => `i${at}`);
          const bad = new Set(places.map((place) => `i${place}`));
          submitAll(flights, ["first"]);
          await last().land();
          const ends = submitAll(flights, items);
          clock.advance(EVERY_MS);
          for (let at = 1; at < flown.length; at++) {
            const flight = flown[at];
            if (flight?.items.some((item) => bad.has(item))) await flight.fail(new Error("bad"));
            else await flight?.land();
          }
          await flights.idle();
          for (const item of items)
            expect(ends.get(item)).toBe(bad.has(item) ? "bad" : `${item} done`);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe("an item that a flight did not try", () => {
  it("flies again as often as it takes: it is no miss, and no reason to fly alone", async () => {
    const flights = open();
    const answer = flights.submit("a");
    for (let flight = 0; flight < 10; flight++) {
      await last().land(() => ({ kind: "postponed" }));
      clock.advance(EVERY_MS);
      expect(last().wait).toBe(false);
    }
    await last().land();
    expect(await answer).toBe("a done");
  });
});

describe("the queue", () => {
  it("is bounded: what comes beyond is refused with a moment to try again", async () => {
    const flights = open({ waitingMax: 2 });
    submitAll(flights, ["out", "a", "b"]);
    await expect(flights.submit("c")).rejects.toMatchObject({
      reason: "OVERLOADED",
      retryAfterMs: 250,
    });
  });

  it("refuses nothing that the server does of its own accord: it flies in its turn", async () => {
    const flights = open({ waitingMax: 2 });
    submitAll(flights, ["out", "a", "b"]);
    const own = flights.submitOwn("own");
    await last().land();
    clock.advance(EVERY_MS);
    expect(last().items).toEqual(["a", "b", "own"]);
    await last().land();
    expect(await own).toBe("own done");
  });

  it("is idle when nothing waits and nothing is out, also after a failure", async () => {
    const flights = open();
    await flights.idle();
    submitAll(flights, ["a", "b"]);
    let idle = false;
    const waiting = flights.idle().then(() => {
      idle = true;
    });
    await last().fail(new Error("bad"));
    expect(idle).toBe(false);
    clock.advance(EVERY_MS);
    await last().land();
    await waiting;
    expect(idle).toBe(true);
  });
});
