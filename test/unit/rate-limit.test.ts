/** The start limits of a namespace are checked in memory: the last query plus later starts. */
import { expect, test } from "vitest";
import { createRateLimit } from "../../server/scheduler/rate-limit.ts";
import { type NamespaceUse, NO_LIMITS } from "../../server/store/namespaces.ts";
import { createServerClock } from "../support/server-clock.ts";

const TEAM = { id: 7, name: "team", region: 0 };
const OTHER = { id: 8, name: "other", region: 0 };

function limiterOf(...samples: readonly Partial<NamespaceUse>[]) {
  const clock = createServerClock();
  const left = [...samples];
  let last: Partial<NamespaceUse> = {};
  const rateLimit = createRateLimit({
    namespaces: {
      limited: async () => {
        last = left.shift() ?? last;
        const known = { namespaceId: 7, name: "team", limits: NO_LIMITS };
        return [{ ...known, storesLogs: true, openRuns: 0, storageBytes: 0, ...last }];
      },
    },
    clock,
  });
  const enter = (count: number) =>
    Array.from({ length: count }, () => rateLimit.admit(TEAM)?.reason ?? "in");
  return { rateLimit, clock, enter };
}

test("a namespace without limits begins what is asked for, without a query", async () => {
  const { rateLimit, enter } = limiterOf({ limits: { ...NO_LIMITS, payloadBytesMax: 99 } });
  expect(enter(2)).toEqual(["in", "in"]);
  await rateLimit.refresh();
  expect(enter(2)).toEqual(["in", "in"]);
  expect(rateLimit.payloadBytesMax("team")).toBe(99);
  expect(rateLimit.payloadBytesMax("other")).toBeNull();
});

test("a namespace stores lines of handlers until a query says that it does not", async () => {
  const { rateLimit } = limiterOf({ storesLogs: false }, { storesLogs: true });
  expect(rateLimit.storesLogs("team")).toBe(true);
  await rateLimit.refresh();
  expect(["team", "other"].map(rateLimit.storesLogs)).toEqual([false, true]);
  await rateLimit.refresh();
  expect(rateLimit.storesLogs("team")).toBe(true);
});

test("open runs are those of the last query and what has started here since", async () => {
  const limits = { ...NO_LIMITS, openRunsMax: 3 };
  const { rateLimit, enter } = limiterOf({ limits, openRuns: 1 }, { limits, openRuns: 2 });
  await rateLimit.refresh();
  expect(enter(3)).toEqual(["in", "in", "NAMESPACE_LIMIT"]);
  expect(rateLimit.admit(OTHER)).toBeNull();
  await rateLimit.refresh();
  expect(enter(2)).toEqual(["in", "NAMESPACE_LIMIT"]);
  const refused = rateLimit.admit(TEAM);
  expect(refused?.message).toBe(
    'The namespace "team" may have 3 open runs, and has reached that: wait until some have ended, or raise the limit (drover namespace limit).',
  );
  expect(refused?.metadata).toEqual({ name: "team", limit: "open_runs", most: "3", used: "3" });
  expect(refused?.retryAfterMs).toBe(5_000);
});

test("runs per second come from a bucket that fills with time, across queries", async () => {
  const limits = { ...NO_LIMITS, rate: { perSecond: 2, burst: 2 } };
  const { rateLimit, clock, enter } = limiterOf({ limits });
  await rateLimit.refresh();
  expect(enter(3)).toEqual(["in", "in", "NAMESPACE_LIMIT"]);
  expect(rateLimit.admit(TEAM)).toMatchObject({
    metadata: { limit: "runs_per_second", most: "2" },
    retryAfterMs: 500,
  });
  await rateLimit.refresh();
  expect(enter(1)).toEqual(["NAMESPACE_LIMIT"]);
  clock.advance(500);
  expect(enter(2)).toEqual(["in", "NAMESPACE_LIMIT"]);
});

test("no run begins while the runs of a namespace take more than they may", async () => {
  const limits = { ...NO_LIMITS, storageBytesMax: 1_000 };
  const { rateLimit, enter } = limiterOf(
    { limits, storageBytes: 999 },
    { limits, storageBytes: 1_000 },
  );
  await rateLimit.refresh();
  expect(enter(2)).toEqual(["in", "in"]);
  await rateLimit.refresh();
  const refused = rateLimit.admit(TEAM);
  expect(refused?.message).toBe(
    'The namespace "team" may take 1000 bytes, and its runs take about 1000: retain runs for less time (drover namespace retention), or raise the limit (drover namespace limit).',
  );
  expect(refused?.metadata).toEqual({
    name: "team",
    limit: "storage_bytes",
    most: "1000",
    used: "1000",
  });
  expect(refused?.retryAfterMs).toBe(60_000);
});

test("calls come from a bucket of their own", async () => {
  const limits = { ...NO_LIMITS, callRate: { perSecond: 4, burst: 2 } };
  const { rateLimit, clock, enter } = limiterOf({ limits });
  const call = () => rateLimit.admitCall("team");
  expect(call()).toBeNull();
  await rateLimit.refresh();
  expect([call(), call()]).toEqual([null, null]);
  expect(call()).toMatchObject({
    reason: "NAMESPACE_LIMIT",
    metadata: { name: "team", limit: "calls_per_second", most: "4" },
    retryAfterMs: 250,
  });
  expect(enter(1)).toEqual(["in"]);
  expect(rateLimit.admitCall("other")).toBeNull();
  clock.advance(250);
  expect(call()).toBeNull();
});

test("a namespace without a weight has that of most", async () => {
  const { rateLimit } = limiterOf({ limits: { ...NO_LIMITS, weight: 250 } });
  expect(rateLimit.weights.ofName("team")).toBe(100);
  await rateLimit.refresh();
  expect([rateLimit.weights.ofName("team"), rateLimit.weights.of(7)]).toEqual([250, 250]);
  expect([rateLimit.weights.ofName("other"), rateLimit.weights.of(8)]).toEqual([100, 100]);
});

test("the delay is whole milliseconds, whatever fraction of one the clock shows", async () => {
  const limits = { ...NO_LIMITS, rate: { perSecond: 0.01, burst: 1 } };
  const use = { namespaceId: 7, name: "team", limits, storesLogs: true, storageBytes: 0 };
  let now = 60_000.678_912_345;
  const rateLimit = createRateLimit({
    namespaces: { limited: async () => [{ ...use, openRuns: 0 }] },
    clock: { monotonicMs: () => now },
  });
  await rateLimit.refresh();
  rateLimit.admit(TEAM);
  for (let times = 0; times < 100; times++) {
    now += 7.123_456_789;
    expect(Number.isInteger(rateLimit.admit(TEAM)?.retryAfterMs)).toBe(true);
  }
});
