/** Who boards the next flight: nobody with little waits for those with much, and nobody starves. */
import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import {
  type Board,
  type Boarding,
  createBoarding,
  type Passenger,
} from "../../server/boarding.ts";

interface One extends Passenger {
  readonly name: string;
}

let boarding: Boarding<One>;
beforeEach(() => {
  boarding = createBoarding<One>({ itemsMax: 500, outMax: 2 });
});

function come(
  share: string | null,
  count = 1,
  more: Partial<Pick<One, "key" | "isPatient" | "size">> = {},
): void {
  for (let at = 0; at < count; at++)
    boarding.wait({ name: `${share}${at}`, share, key: null, isPatient: false, size: 1, ...more });
}

function next(of: Boarding<One> = boarding): Board<One> {
  const board = of.board();
  if (!board) throw new Error("nobody can leave");
  return board;
}

const names = ({ passengers }: Board<One>) => passengers.map(({ name }) => name).join(" ");
const count = ({ passengers }: Board<One>) => passengers.length;
const sharesOf = ({ shares }: Board<One>) => [...shares];

test("a share that is alone has two flights out, full ones, as if there were no shares", () => {
  come("much", 1_200);
  expect([count(next()), count(next())]).toEqual([500, 500]);
  expect(boarding.ready()).toBe(0);
  expect(boarding.board()).toBeNull();
  expect([boarding.waiting(), boarding.out()]).toEqual([200, 2]);
});

test("the sizes of those on one flight stay below their bound, and one that is larger flies alone", () => {
  boarding = createBoarding<One>({ itemsMax: 500, outMax: 20, sizeMax: 10 });
  for (const size of [4, 6, 1, 25, 9, 2]) come(`of ${size},`, 1, { size });
  expect(boarding.isLarge()).toBe(true);
  const flights = Array.from({ length: 5 }, () => next().passengers.map(({ size }) => size));
  expect(flights).toEqual([[4, 6], [1], [25], [9], [2]]);
  expect([boarding.isLarge(), boarding.board()]).toEqual([false, null]);
});

test("who has little finds a flight while those of a share with much are out", () => {
  come("much", 1_200);
  for (const _ of [1, 2]) boarding.board();
  come("little", 2);
  expect(boarding.ready()).toBe(2);
  expect(names(next())).toBe("little0 little1");
});

test("all that have little fly together, in the order in which they came", () => {
  come("a");
  come("b", 2);
  come("c");
  expect(names(next())).toBe("a0 b0 b1 c0");
});

test("a share with much flies alone, with fewer while others wait or fly", () => {
  come("much", 700);
  come("little");
  const first = next();
  expect([sharesOf(first), count(first)]).toEqual([["much"], 128]);
  const second = next();
  expect([sharesOf(second), count(second)]).toEqual([["much"], 128]);
  const third = next();
  expect(names(third)).toBe("little0");
  boarding.landed(first);
  expect(count(next())).toBe(128);
  boarding.landed(second);
  boarding.landed(third);
  expect(count(next())).toBe(700 - 3 * 128);
});

test("the line whose first has waited longest goes first", () => {
  come("a", 40);
  come("b", 40);
  come("little");
  expect([1, 2, 3].map(() => sharesOf(next()))).toEqual([["a"], ["b"], ["little"]]);
});

test("of all shares together twice as many flights are out", () => {
  for (const share of ["a", "b", "c", "d", "e"]) come(share, 40);
  const out = [1, 2, 3, 4].map(() => next());
  expect(out.flatMap(sharesOf)).toEqual(["a", "b", "c", "d"]);
  expect(boarding.ready()).toBe(0);
  if (out[0]) boarding.landed(out[0]);
  expect(sharesOf(next())).toEqual(["e"]);
});

test("a patient one flies with those of its key alone, and its key keeps others on the ground", () => {
  come("a", 1, { key: "x" });
  come("b", 1, { key: "x", isPatient: true });
  come("c", 1, { key: "y" });
  const board = next();
  expect(names(board)).toBe("a0 b0");
  come("d", 1, { key: "x" });
  const other = next();
  expect(names(other)).toBe("c0");
  boarding.landed(other);
  expect(boarding.board()).toBeNull();
  boarding.landed(board);
  expect(names(next())).toBe("d0");
});

test("who comes while another of its key waits flies with it, whoever it is of", () => {
  come("much", 1_000, { key: "x" });
  come("little", 1, { key: "x" });
  come("little", 1, { key: "y" });
  const board = next();
  expect(names(board)).toBe(Array.from({ length: 128 }, (_, at) => `much${at}`).join(" "));
  const other = next();
  expect(names(other)).toBe("little0");
  // Nobody goes through those of a key that is out.
  expect([boarding.waiting(), boarding.ready()]).toEqual([873, 0]);
  boarding.landed(board);
  expect(boarding.ready()).toBe(873);
  boarding.landed(other);
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
  expect([boarding.waiting(), boarding.ready()]).toEqual([2, 0]);
});

test("whatever comes and lands, each flies once, in its share's order, and nobody is left", () => {
  const coming = fc.record({
    share: fc.constantFrom("a", "b", "c"),
    key: fc.constantFrom(null, null, "x", "y"),
    count: fc.integer({ min: 1, max: 90 }),
  });
  const event = fc.oneof(coming, fc.constant("board" as const), fc.constant("land" as const));
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const all = createBoarding<One>({ itemsMax: 50, outMax: 1 });
      const flown: One[] = [];
      const out: Board<One>[] = [];
      let came = 0;
      const board = (): boolean => {
        const found = all.board();
        if (!found) return false;
        expect(count(found)).toBeLessThanOrEqual(50);
        flown.push(...found.passengers);
        out.push(found);
        return true;
      };
      const land = (): void => {
        const first = out.shift();
        if (first) all.landed(first);
      };
      for (const each of events) {
        if (each === "board") board();
        else if (each === "land") land();
        else
          for (let at = 0; at < each.count; at++)
            all.wait({ ...each, name: String(came++), isPatient: false, size: 1 });
        const keys = out.map(
          ({ passengers }) => new Set(passengers.flatMap(({ key }) => key ?? [])),
        );
        for (const key of ["x", "y"])
          expect(keys.filter((of) => of.has(key)).length).toBeLessThanOrEqual(1);
        for (const share of ["a", "b", "c"])
          expect(out.filter((of) => sharesOf(of).includes(share)).length).toBeLessThanOrEqual(1);
      }
      while (all.waiting() > 0 || out.length > 0) if (!board()) land();
      expect(flown).toHaveLength(came);
      const bond = ({ key, share }: One) => key ?? `of ${share}`;
      for (const of of Object.values(Object.groupBy(flown, bond))) {
        const order = (of ?? []).map(({ name }) => Number(name));
        expect(order).toEqual([...order].sort((a, b) => a - b));
      }
    }),
  );
});
