/** Lanes that the last poll found empty, cached for a short time. */
import { expect, it } from "vitest";
import { createEmptyLanes } from "../../server/store/postgres/empty-lanes.ts";

function world() {
  let atMs = 0;
  const lanes = createEmptyLanes({ monotonicMs: () => atMs });
  const pass = (ms: number) => {
    atMs += ms;
  };
  return { lanes, pass };
}

it("lanes are empty for a second after a poll that left nothing in any of them", () => {
  const { lanes, pass } = world();
  lanes.scanned(1, true);
  lanes.scanned(2, false);
  expect([lanes.areEmpty([1]), lanes.areEmpty([1, 2]), lanes.areEmpty([3])]).toEqual([
    true,
    false,
    false,
  ]);
  expect([lanes.areOpen([1, 2]), lanes.areOpen([1, 3])]).toEqual([true, false]);
  pass(1_001);
  expect([lanes.areEmpty([1]), lanes.areOpen([1, 2])]).toEqual([false, false]);
});

it("a lane in which tasks were left is open and not empty, for as long as its poll counts", () => {
  const { lanes, pass } = world();
  lanes.scanned(1, true);
  pass(600);
  lanes.filled(1);
  lanes.filled(2);
  expect([lanes.areEmpty([1]), lanes.areOpen([1]), lanes.areOpen([2])]).toEqual([
    false,
    true,
    false,
  ]);
  pass(600);
  expect(lanes.areOpen([1])).toBe(false);
});

it("nothing is known of a lane with limits, or of any in another database", () => {
  const { lanes } = world();
  lanes.scanned(1, true);
  lanes.scanned(2, true);
  lanes.drop(1);
  expect([lanes.areOpen([1]), lanes.areOpen([2])]).toEqual([false, true]);
  lanes.forget();
  expect(lanes.areOpen([2])).toBe(false);
});
