// A loop continues after rounds that fail, and does not fill the log with them.
import { expect, test } from "vitest";
import { createLoop } from "../../server/loop.ts";
import { createServerClock } from "../support/server-clock.ts";

test("of failures in a row the first is reported, and then one a minute", async () => {
  const clock = createServerClock();
  const errors: unknown[] = [];
  let fails = true;
  const loop = createLoop({
    clock,
    everyMs: 1_000,
    runOnce: () => (fails ? Promise.reject(new Error("away")) : Promise.resolve()),
    onError: (error) => errors.push(error),
  });
  await loop.runOnce();
  await loop.runOnce();
  expect(errors).toHaveLength(1);
  clock.advance(60_000);
  await loop.runOnce();
  expect(errors).toHaveLength(2);
  fails = false;
  await loop.runOnce();
  fails = true;
  await loop.runOnce();
  expect(errors).toHaveLength(3);
});
