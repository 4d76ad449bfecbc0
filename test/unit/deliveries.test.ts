/** What follows from a try of a webhook, and which tries are made side by side. */
import fc from "fast-check";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import type { DueDelivery, Tried } from "../../server/store/outbox.ts";
import type { Plans } from "../../server/store/plans.ts";
import {
  afterTry,
  createDeliveries,
  nextTryMs,
  type PostResult,
  type Webhook,
} from "../../server/supervisor/webhook-deliveries.ts";
import { createServerClock } from "../support/server-clock.ts";

const DAY_MS = 24 * 3_600_000;
const NOW = 1_767_225_600_000;
const failed: PostResult = { kind: "failed", why: "answered 500" };

function delivery(more: Partial<DueDelivery> = {}): DueDelivery {
  return {
    id: "d-1",
    hook: "ops",
    url: null,
    kind: "run-ended",
    count: 1,
    runId: "r",
    n: 0,
    state: "pending",
    tries: 0,
    error: null,
    createdAt: NOW,
    endedAt: null,
    nextTryAt: NOW,
    now: NOW,
    target: { url: "http://there", secret: "s" },
    escalation: null,
    approval: null,
    run: {
      namespace: "default",
      namespaceId: 1,
      definitionId: 1,
      workflow: "w",
      version: 1,
      key: null,
      labels: {},
      createdAt: NOW,
      end: {
        state: "COMPLETED",
        reason: "DONE",
        failure: null,
        warnings: 0,
        undone: 0,
        cancelNote: null,
        at: NOW,
      },
    },
    ...more,
  };
}

describe("the time from one try to the next", () => {
  test("is five seconds, doubled up to an hour", () => {
    const minutes = [0, 1, 2, 9, 10, 60].map((tries) => nextTryMs(tries, 0) / 1_000);
    expect(minutes).toEqual([5, 10, 20, 2_560, 3_600, 3_600]);
  });

  test("is spread by up to a fifth", () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.double({ min: 0, max: 1, noNaN: true }), (tries, draw) => {
        const least = nextTryMs(tries, 0);
        const is = nextTryMs(tries, draw);
        expect(is).toBeGreaterThanOrEqual(least);
        expect(is).toBeLessThanOrEqual(least * 1.2);
        expect(Number.isInteger(is)).toBe(true);
      }),
    );
  });
});

describe("a try", () => {
  test("that was received ends the delivery", () => {
    const tried = afterTry(delivery({ tries: 3 }), { kind: "delivered" }, 0);
    expect(tried).toMatchObject({ id: "d-1", triesBefore: 3, state: "delivered", error: null });
  });

  test("that was not is made again later", () => {
    expect(afterTry(delivery({ tries: 1 }), failed, 0)).toEqual({
      id: "d-1",
      triesBefore: 1,
      state: "pending",
      error: "answered 500",
      nextTryInMs: 10_000,
    });
  });

  test("is the last when the next would come more than a day after the delivery was made", () => {
    const state = (createdAt: number) => afterTry(delivery({ createdAt }), failed, 0).state;
    expect(state(NOW - DAY_MS + 5_000)).toBe("pending");
    expect(state(NOW - DAY_MS + 4_999)).toBe("given-up");
  });

  test("is the last when the hook was deleted", () => {
    expect(afterTry(delivery({ target: null }), failed, 0).state).toBe("given-up");
  });
});

const PLANS: Plans = {
  get: () => Promise.reject(new Error("the database is away")),
};

interface World {
  readonly due: readonly DueDelivery[];
  readonly plans?: Plans;
  readonly post?: (webhook: Webhook) => Promise<PostResult>;
}

function world({ due, plans, post }: World) {
  const settled: Tried[] = [];
  const lines: string[] = [];
  const clock = createServerClock();
  let polls = 0;
  const plan = { steps: [] };
  const deliveries = createDeliveries({
    outbox: {
      due: async () => {
        polls++;
        return due.filter(({ id }) => !settled.some((one) => one.id === id));
      },
      settle: async (tried) => void settled.push(...tried),
    },
    plans: plans ?? { get: async () => ({ plan }) as never },
    post: post ?? (async () => ({ kind: "delivered" })),
    clock,
    random: { bytes: (count) => new Uint8Array(count), fraction: () => 0 },
    log: pino({ base: null }, { write: (line: string) => void lines.push(line) }),
    owned: () => [{ partition: 1, epoch: 1 }],
  });
  return { deliveries, settled, lines, clock, polls: () => polls };
}

describe("the sender", () => {
  test("logs what it gives up, and why", async () => {
    const old = delivery({ createdAt: NOW - DAY_MS });
    const { deliveries, settled, lines } = world({ due: [old], post: async () => failed });
    expect(await deliveries.sendOnce()).toBe(1);
    expect(settled).toMatchObject([{ state: "given-up", error: "answered 500" }]);
    expect(lines.join("")).toContain('"event":"webhook.given-up"');
    expect(lines.join("")).toContain('"why":"answered 500"');
  });

  test("counts a try that broke on our side as one that failed", async () => {
    const { deliveries, settled } = world({ due: [delivery()], plans: PLANS });
    await deliveries.sendOnce();
    expect(settled).toMatchObject([{ state: "pending", error: "Error: the database is away" }]);
  });

  test("has no more than eight of one hook out, and a dead hook holds up no other", async () => {
    const dead = Array.from({ length: 12 }, (_, no) =>
      delivery({ id: `dead-${no}`, hook: "dead" }),
    );
    const { promise: never } = Promise.withResolvers<PostResult>();
    const out: string[] = [];
    const { deliveries, settled } = world({
      due: [...dead, delivery({ id: "live", hook: "live" })],
      post: ({ id }) => {
        out.push(id);
        return id === "live" ? Promise.resolve({ kind: "delivered" }) : never;
      },
    });
    void deliveries.sendOnce();
    await expect.poll(() => settled.map(({ id }) => id), { interval: 1 }).toEqual(["live"]);
    expect(out.filter((id) => id !== "live")).toHaveLength(8);
    void deliveries.sendOnce();
    expect(out).toHaveLength(9);
  });

  test("scans at its start, and then where something was announced, once a second", async () => {
    const { deliveries, clock, polls } = world({ due: [] });
    const second = async () => {
      clock.advance(1_000);
      await new Promise(setImmediate);
    };
    deliveries.start();
    await second();
    expect(polls()).toBe(1);
    for (let passed = 0; passed < 10; passed++) await second();
    expect(polls()).toBe(1);
    for (let n = 0; n < 3; n++) deliveries.announce();
    expect(polls()).toBe(1);
    await second();
    expect(polls()).toBe(2);
    await deliveries.stop();
  });
});
