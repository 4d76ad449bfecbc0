/** How attempts of agent sessions are counted, and when a session counts as failing. */
import { expect, test } from "vitest";
import { isFailing, sumOfAttempts } from "../../server/core/model/failing-agent.ts";
import { createAttemptCounter } from "../../server/dispatch/attempt-counts.ts";
import type { SessionAttempts } from "../../server/store/operators.ts";

function world() {
  const clock = { now: 0, monotonicMs: () => clock.now };
  const counter = createAttemptCounter(clock);
  const send = async () => {
    const sent: SessionAttempts[] = [];
    await counter.send(async (counts) => void sent.push(...counts));
    return sent;
  };
  return { clock, counter, send };
}

const ended = (session: string, result: "done" | "failed" | "unknown" | "nothing", lane = 1) => ({
  session,
  lane,
  result,
});

test("attempts are summed by session and lane, and sent every 20 s", async () => {
  const { clock, counter, send } = world();
  counter.count([ended("a", "done"), ended("a", "failed"), ended("a", "unknown")]);
  counter.count([ended("a", "done", 2), ended("b", "nothing")]);
  expect(await send()).toEqual([]);
  clock.now = 20_000;
  expect(await send()).toEqual([
    { session: "a", lane: 1, ended: 3, failed: 1, unknown: 1 },
    { session: "a", lane: 2, ended: 1, failed: 0, unknown: 0 },
  ]);
  counter.count([ended("a", "done")]);
  expect(await send()).toEqual([]);
  clock.now = 40_000;
  expect(await send()).toEqual([{ session: "a", lane: 1, ended: 1, failed: 0, unknown: 0 }]);
});

test("what is too much for one statement is sent with the next call", async () => {
  const { clock, counter, send } = world();
  counter.count(Array.from({ length: 4_001 }, (_, n) => ended(`${n}`, "done")));
  clock.now = 20_000;
  expect(await send()).toHaveLength(4_000);
  expect(await send()).toHaveLength(1);
  expect(await send()).toEqual([]);
});

test("counts that could not be stored are not sent again: they may have been stored", async () => {
  const { clock, counter, send } = world();
  counter.count([ended("a", "done")]);
  clock.now = 20_000;
  const lost = counter.send(() => Promise.reject(new Error("no answer")));
  await expect(lost).rejects.toThrow("no answer");
  clock.now = 40_000;
  expect(await send()).toEqual([]);
});

test("a session fails if nine of ten of at least ten attempts failed or are unknown", () => {
  const of = (ended: number, failed: number, unknown = 0) => isFailing({ ended, failed, unknown });
  expect(of(9, 9)).toBe(false);
  expect(of(10, 9)).toBe(true);
  expect(of(10, 5, 4)).toBe(true);
  expect(of(10, 8)).toBe(false);
  expect(of(1_000, 899)).toBe(false);
  expect(of(1_000, 900)).toBe(true);
});

test("counts of attempts add up", () => {
  expect(sumOfAttempts([])).toEqual({ ended: 0, failed: 0, unknown: 0 });
  const counts = [
    { ended: 3, failed: 1, unknown: 1 },
    { ended: 4, failed: 2, unknown: 0 },
  ];
  expect(sumOfAttempts(counts)).toEqual({ ended: 7, failed: 3, unknown: 1 });
});
