// Virtual time: what happens when, and what is patient.
import { expect, test } from "vitest";
import { createVirtualTime } from "../../../simulator/virtual-time.ts";

test("what is set later for the same time comes later, and what is cancelled never", async () => {
  const time = createVirtualTime(0);
  const seen: string[] = [];
  time.after(20, () => seen.push("late"));
  const cancelled = time.after(10, () => seen.push("cancelled"));
  time.after(10, () => seen.push("first"));
  time.after(10, () => seen.push("second"));
  cancelled.cancel();
  await time.run(100, () => false);
  expect(seen).toEqual(["first", "second", "late"]);
  expect(time.now()).toBe(100);
});

test("what is patient comes before the next happening that is due after it", async () => {
  const time = createVirtualTime(0);
  const seen: string[] = [];
  time.patient(10, () => seen.push(`patient at ${time.now()}`));
  time.after(15, () => seen.push(`happening at ${time.now()}`));
  await time.run(100, () => false);
  expect(seen).toEqual(["patient at 15", "happening at 15"]);
});

test("where nothing happens, what polls every second polls less and less often", async () => {
  const time = createVirtualTime(0);
  let polls = 0;
  const poll = (): void => {
    polls += 1;
    time.patient(1_000, poll);
  };
  time.patient(1_000, poll);
  await time.run(86_400_000, () => false);
  expect(polls).toBeGreaterThan(100);
  expect(polls).toBeLessThan(200);
});

test("as soon as something happens, it polls as often again", async () => {
  const time = createVirtualTime(0);
  const polls: number[] = [];
  const poll = (): void => {
    polls.push(time.now());
    time.patient(1_000, poll);
  };
  time.patient(1_000, poll);
  time.after(3_600_000, () => undefined);
  await time.run(3_720_000, () => false);
  expect(polls.filter((at) => at >= 3_600_000).length).toBeGreaterThan(2);
});
