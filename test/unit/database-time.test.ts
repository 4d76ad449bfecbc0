/** The database's time between two answers: never ahead of the real one, and never backwards. */
import { expect, it } from "vitest";
import { createDatabaseTime } from "../../server/store/postgres/database-time.ts";

function world() {
  let atMs = 1_000;
  const time = createDatabaseTime({ monotonicMs: () => atMs });
  const pass = (ms: number) => {
    atMs += ms;
  };
  return { time, pass };
}

it("nothing is assumed before an answer, or long after the last one", () => {
  const { time, pass } = world();
  expect(time.assumed()).toBeNull();
  time.observe(50_000);
  pass(9_000);
  expect(time.assumed()).toBe(59_000);
  pass(2_000);
  expect(time.assumed()).toBeNull();
});

it("of two answers the one counts that came faster, so that time does not go back", () => {
  const { time, pass } = world();
  time.observe(50_000);
  pass(100);
  // It took 90 ms to come.
  time.observe(50_010);
  expect(time.assumed()).toBe(50_099);
  time.observe(50_200);
  expect(time.assumed()).toBe(50_200);
});

it("what was found to be wrong is forgotten", () => {
  const { time } = world();
  time.observe(50_000);
  time.forget();
  expect(time.assumed()).toBeNull();
  time.observe(40_000);
  expect(time.assumed()).toBe(40_000);
});
