/** Batches that form by themselves: when a flight leaves, who is on it, and who fails with whom. */
import fc from "fast-check";
import { beforeEach, describe, expect, it, test } from "vitest";
import { type Clock, sleepBy } from "../../server/clock.ts";
import { DroverError } from "../../server/errors.ts";
import { createFlights, type Flights, type Landing } from "../../server/flights.ts";
import { createManualClock, type ManualClock } from "../support/manual-clock.ts";

const SPACING_MS = 4;

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

beforeEach(() => {
  clock = createManualClock();
  flown = [];
});

const turn = () => new Promise(setImmediate);

class Retryable extends Error {}

interface Options {
  readonly outMax?: number;
  readonly itemsMax?: number;
  readonly fullAt?: number;
  readonly waitingMax?: number;
}

/** The key of an item is what stands before its slash. */
function open({ outMax = 1, itemsMax = 10, fullAt = 5, waitingMax = 120 }: Options = {}) {
  const serverClock: Clock = {
    monotonicMs: clock.monotonicMs,
    wallMs: clock.monotonicMs,
    after: clock.after,
    sleep: sleepBy(clock.after),
  };
  return createFlights<string, string>({
    ...{ name: "test", clock: serverClock, spacingMs: SPACING_MS },
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
const boards = () => flown.map(({ items }) => items.join(" "));

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

describe("a flight leaves", () => {
  it("at once for a lonely call, which waits for nobody", () => {
    submitAll(open(), ["a"]);
    expect(boards()).toEqual(["a"]);
  });

  it("at most every 4 ms, with all that came meanwhile", async () => {
    const flights = open();
    submitAll(flights, ["a"]);
    await last().land();
    submitAll(flights, ["b"]);
    clock.advance(SPACING_MS - 1);
    submitAll(flights, ["c"]);
    expect(boards()).toEqual(["a"]);
    clock.advance(1);
    expect(boards()).toEqual(["a", "b c"]);
  });

  it("farther apart where they carry more and take longer, and never more than 12 ms", async () => {
    const flights = open({ fullAt: 100, itemsMax: 100 });
    submitAll(flights, ["first"]);
    await last().land();
    /** How long calls wait that come as the flight before them lands, `tookMs` after it left. */
    const waits = async (tookMs: number): Promise<number> => {
      const before = flown.length;
      submitAll(flights, [`a${before}`, `b${before}`, `c${before}`]);
      let waitedMs = 0;
      for (; flown.length === before && waitedMs < 100; waitedMs++) clock.advance(1);
      clock.advance(tookMs);
      await last().land();
      return waitedMs;
    };
    const settled = async (tookMs: number) => {
      for (let times = 0; times < 40; times++) await waits(tookMs);
      return waits(tookMs);
    };
    expect(await settled(1)).toBe(SPACING_MS - 1);
    // Timers are of whole milliseconds here, and an average comes near, not there.
    expect([4, 5]).toContain(await settled(4));
    expect(await settled(10)).toBe(12 - 10);
  });

  it("before its time when it is full", async () => {
    const flights = open({ fullAt: 3 });
    submitAll(flights, ["a"]);
    await last().land();
    submitAll(flights, ["b", "c"]);
    expect(boards()).toEqual(["a"]);
    submitAll(flights, ["d"]);
    expect(boards()).toEqual(["a", "b c d"]);
  });

  it("only while fewer than the most are out; the next takes all that waited", async () => {
    const flights = open({ outMax: 1 });
    submitAll(flights, ["a", "b", "c"]);
    clock.advance(100);
    expect(boards()).toEqual(["a"]);
    await flown[0]?.land();
    clock.advance(SPACING_MS);
    expect(boards()).toEqual(["a", "b c"]);
  });

  it("with a bounded number of items, in the order in which they came", async () => {
    const flights = open({ itemsMax: 2, outMax: 3, fullAt: 1 });
    submitAll(flights, ["a", "b", "c", "d"]);
    clock.advance(SPACING_MS);
    expect(flown.flatMap(({ items }) => items)).toEqual(["a", "b", "c"]);
    await last().land();
    clock.advance(SPACING_MS);
    expect(flown.flatMap(({ items }) => items)).toEqual(["a", "b", "c", "d"]);
  });
});

test("a share with many items holds up no other (boarding.test.ts)", async () => {
  const flights = open({ outMax: 1, itemsMax: 10, fullAt: 5 });
  submitAll(flights, many("flood"));
  submitAll(flights, ["trickle"]);
  expect(last().items).not.toContain("trickle");
  clock.advance(SPACING_MS);
  expect(last().items).toEqual(["trickle"]);
});

describe("items of one key", () => {
  it("are never in two flights at a time", async () => {
    const flights = open({ outMax: 2, fullAt: 1 });
    submitAll(flights, ["x/1", "x/2", "y/1"]);
    clock.advance(SPACING_MS);
    expect(boards()).toEqual(["x/1", "y/1"]);
    await flown[0]?.land();
    clock.advance(SPACING_MS);
    expect(boards()).toEqual(["x/1", "y/1", "x/2"]);
  });

  it("may share one flight", async () => {
    const flights = open();
    submitAll(flights, ["a"]);
    submitAll(flights, ["x/1", "x/2"]);
    await last().land();
    clock.advance(SPACING_MS);
    expect(boards()).toEqual(["a", "x/1 x/2"]);
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
      clock.advance(SPACING_MS);
      expect(flown.length).toBe(before + 1);
    }
    expect(boards()).toEqual(["x/1", "a x/1", "b x/1", "x/1"]);
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
      clock.advance(SPACING_MS);
    }
    expect(flown).toHaveLength(4);
    expect([...last().items].sort()).toEqual(["x/1", "x/2"]);
    await last().land();
    clock.advance(SPACING_MS);
    expect(last().items).toEqual(["a"]);
  });

  it("and that nobody answers for even then fails, and does not fly for ever", async () => {
    const flights = open();
    const ends = submitAll(flights, ["x/1"]);
    for (let flight = 0; flight < 20 && !ends.has("x/1"); flight++) {
      await last().land(again);
      clock.advance(SPACING_MS);
    }
    expect(flown.length).toBeLessThanOrEqual(5);
    expect(ends.get("x/1")).toContain("without an answer");
  });
});

describe("a flight that fails", () => {
  it("by what may pass flies once more as it is", async () => {
    const flights = open();
    const ends = submitAll(flights, ["a"]);
    await last().fail(new Retryable());
    expect(boards()).toEqual(["a", "a"]);
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
    clock.advance(SPACING_MS);
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
          clock.advance(SPACING_MS);
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
      clock.advance(SPACING_MS);
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
    clock.advance(SPACING_MS);
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
    clock.advance(SPACING_MS);
    await last().land();
    await waiting;
    expect(idle).toBe(true);
  });
});
