/** Which items are in the next batch: a share with few never waits for one with many. */
import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import {
  type BatchQueue,
  createBatchQueue,
  type FormedBatch,
  type QueuedItem,
} from "../../server/batching/batch-queue.ts";

interface One extends QueuedItem {
  readonly name: string;
}

let queue: BatchQueue<One>;
beforeEach(() => {
  queue = createBatchQueue<One>({ itemsMax: 500, inFlightMax: 2 });
});

function come(
  share: string | null,
  count = 1,
  more: Partial<Pick<One, "key" | "isPatient" | "size">> = {},
): void {
  for (let at = 0; at < count; at++)
    queue.add({ name: `${share}${at}`, share, key: null, isPatient: false, size: 1, ...more });
}

function next(of: BatchQueue<One> = queue): FormedBatch<One> {
  const batch = of.next();
  if (!batch) throw new Error("no batch can be formed");
  return batch;
}

const names = ({ items }: FormedBatch<One>) => items.map(({ name }) => name).join(" ");
const count = ({ items }: FormedBatch<One>) => items.length;
const sharesOf = ({ shares }: FormedBatch<One>) => [...shares];

test("a share that is alone has two batches out, full ones, as if there were no shares", () => {
  come("much", 1_200);
  expect([count(next()), count(next())]).toEqual([500, 500]);
  expect(queue.ready()).toBe(0);
  expect(queue.next()).toBeNull();
  expect([queue.pending(), queue.inFlight()]).toEqual([200, 2]);
});

test("the sizes of those on one batch stay below their bound, and one that is larger has a batch to itself", () => {
  queue = createBatchQueue<One>({ itemsMax: 500, inFlightMax: 20, sizeMax: 10 });
  for (const size of [4, 6, 1, 25, 9, 2]) come(`of ${size},`, 1, { size });
  expect(queue.exceedsOneBatch()).toBe(true);
  const batches = Array.from({ length: 5 }, () => next().items.map(({ size }) => size));
  expect(batches).toEqual([[4, 6], [1], [25], [9], [2]]);
  expect([queue.exceedsOneBatch(), queue.next()]).toEqual([false, null]);
});

test("a share with little finds a batch while those of a share with much are out", () => {
  come("much", 1_200);
  for (const _ of [1, 2]) queue.next();
  come("little", 2);
  expect(queue.ready()).toBe(2);
  expect(names(next())).toBe("little0 little1");
});

test("all that have little are batched together, in the order in which they came", () => {
  come("a");
  come("b", 2);
  come("c");
  expect(names(next())).toBe("a0 b0 b1 c0");
});

test("a share with much has a batch to itself, with fewer while others wait or are in flight", () => {
  come("much", 700);
  come("little");
  const first = next();
  expect([sharesOf(first), count(first)]).toEqual([["much"], 128]);
  const second = next();
  expect([sharesOf(second), count(second)]).toEqual([["much"], 128]);
  const third = next();
  expect(names(third)).toBe("little0");
  queue.finished(first);
  expect(count(next())).toBe(128);
  queue.finished(second);
  queue.finished(third);
  expect(count(next())).toBe(700 - 3 * 128);
});

test("the line whose first has waited longest goes first", () => {
  come("a", 40);
  come("b", 40);
  come("little");
  expect([1, 2, 3].map(() => sharesOf(next()))).toEqual([["a"], ["b"], ["little"]]);
});

test("of all shares together twice as many batches are out", () => {
  for (const share of ["a", "b", "c", "d", "e"]) come(share, 40);
  const out = [1, 2, 3, 4].map(() => next());
  expect(out.flatMap(sharesOf)).toEqual(["a", "b", "c", "d"]);
  expect(queue.ready()).toBe(0);
  if (out[0]) queue.finished(out[0]);
  expect(sharesOf(next())).toEqual(["e"]);
});

test("a patient item is batched only with items of its key, and delays other items of that key", () => {
  come("a", 1, { key: "x" });
  come("b", 1, { key: "x", isPatient: true });
  come("c", 1, { key: "y" });
  const batch = next();
  expect(names(batch)).toBe("a0 b0");
  come("d", 1, { key: "x" });
  const other = next();
  expect(names(other)).toBe("c0");
  queue.finished(other);
  expect(queue.next()).toBeNull();
  queue.finished(batch);
  expect(names(next())).toBe("d0");
});

test("an item that comes while another of its key waits is batched with it, for any caller", () => {
  come("much", 1_000, { key: "x" });
  come("little", 1, { key: "x" });
  come("little", 1, { key: "y" });
  const batch = next();
  expect(names(batch)).toBe(Array.from({ length: 128 }, (_, at) => `much${at}`).join(" "));
  const other = next();
  expect(names(other)).toBe("little0");
  // No scan goes through those of a key that is out.
  expect([queue.pending(), queue.ready()]).toEqual([873, 0]);
  queue.finished(batch);
  expect(queue.ready()).toBe(873);
  queue.finished(other);
  const last = Array.from({ length: 872 }, (_, at) => `much${at + 128}`);
  expect(names(next())).toBe(last.slice(0, 500).join(" "));
});

test("what is of no namespace is a share like any other", () => {
  for (const key of ["x", "y"]) {
    come(null, 1, { key });
    next();
  }
  come(null, 1, { key: "z" });
  come("little", 1, { key: "z" });
  expect([queue.pending(), queue.ready()]).toEqual([2, 0]);
});

test("whatever arrives and finishes, each item is flushed once, in its share's order, and none is left", () => {
  const coming = fc.record({
    share: fc.constantFrom("a", "b", "c"),
    key: fc.constantFrom(null, null, "x", "y"),
    count: fc.integer({ min: 1, max: 90 }),
  });
  const event = fc.oneof(coming, fc.constant("form" as const), fc.constant("finish" as const));
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const all = createBatchQueue<One>({ itemsMax: 50, inFlightMax: 1 });
      const flushed: One[] = [];
      const out: FormedBatch<One>[] = [];
      let came = 0;
      const form = (): boolean => {
        const found = all.next();
        if (!found) return false;
        expect(count(found)).toBeLessThanOrEqual(50);
        flushed.push(...found.items);
        out.push(found);
        return true;
      };
      const finish = (): void => {
        const first = out.shift();
        if (first) all.finished(first);
      };
      for (const each of events) {
        if (each === "form") form();
        else if (each === "finish") finish();
        else
          for (let at = 0; at < each.count; at++)
            all.add({ ...each, name: String(came++), isPatient: false, size: 1 });
        const keys = out.map(({ items }) => new Set(items.flatMap(({ key }) => key ?? [])));
        for (const key of ["x", "y"])
          expect(keys.filter((of) => of.has(key)).length).toBeLessThanOrEqual(1);
        for (const share of ["a", "b", "c"])
          expect(out.filter((of) => sharesOf(of).includes(share)).length).toBeLessThanOrEqual(1);
      }
      while (all.pending() > 0 || out.length > 0) if (!form()) finish();
      expect(flushed).toHaveLength(came);
      const bond = ({ key, share }: One) => key ?? `of ${share}`;
      for (const of of Object.values(Object.groupBy(flushed, bond))) {
        const order = (of ?? []).map(({ name }) => Number(name));
        expect(order).toEqual([...order].sort((a, b) => a - b));
      }
    }),
  );
});
