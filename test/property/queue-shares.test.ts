/**
 * The limits of a queue hold over all shards together, whatever fails while units move between
 * them; and whoever waits is served.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterGranting, type QueueLimits, room } from "../../server/core/model/limits.ts";
import { allot, raises, type ShareUse } from "../../server/core/model/shares.ts";
import { createMemoryShards, type MemoryStore } from "../../server/store/memory/memory-store.ts";
import { ALLOT_EVERY_MS, allotQueues, type QueueShares } from "../../server/store/queue-shares.ts";
import { type Shards, shardsOf } from "../../server/store/shards.ts";
import type { Granted } from "../../server/store/store.ts";
import { hex, insert, place, prepare, report, SESSION, success } from "../contract/fixture.ts";
import { workflow } from "../support/core-world.ts";

const START = 1_767_225_600_000;
const QUEUE = "q";

const limitsOf = fc.record({
  leasesMax: fc.option(fc.integer({ min: 0, max: 12 })),
  rate: fc.option(
    fc.record({
      perSecond: fc.double({ min: 0.1, max: 50, noNaN: true }),
      burst: fc.double({ min: 1, max: 20, noNaN: true }),
    }),
  ),
});
const useOf: fc.Arbitrary<ShareUse> = fc.record({
  slots: fc.nat(6),
  burst: fc.nat(6),
  leased: fc.nat(6),
  waiting: fc.nat(9),
  servedAt: fc.nat(100_000),
});
const usesOf = fc.array(useOf, { minLength: 2, maxLength: 8 });

describe("an allotment", () => {
  test("gives out every unit, and none twice", () => {
    fc.assert(
      fc.property(limitsOf, usesOf, (limits, uses) => {
        const sizes = allot(limits, uses, 100_000, ALLOT_EVERY_MS);
        expect(sum(sizes.map(({ slots }) => slots))).toBe(limits.leasesMax ?? 0);
        expect(sum(sizes.map(({ burst }) => burst))).toBe(Math.floor(limits.rate?.burst ?? 0));
      }),
    );
  });

  test("leaves no shard in want while another one has more than it needs", () => {
    fc.assert(
      fc.property(fc.nat(12), usesOf, (leasesMax, uses) => {
        const sizes = allot({ leasesMax, rate: null }, uses, 100_000, ALLOT_EVERY_MS);
        const left = uses.map((use, shard) => {
          return (sizes[shard]?.slots ?? 0) - use.leased - use.waiting;
        });
        const isWanting = left.some((one) => one < 0);
        expect(isWanting && left.some((one) => one > 0)).toBe(false);
      }),
    );
  });

  test("raises shards to no more than the limit, tasks with agents included", () => {
    fc.assert(
      fc.property(limitsOf, usesOf, fc.nat(20), (limits, uses, tokens) => {
        const sizes = allot(limits, uses, 100_000, ALLOT_EVERY_MS);
        const lowered = uses.map(({ slots, burst, leased }, shard) => ({
          slots: Math.min(slots, sizes[shard]?.slots ?? 0),
          burst: Math.min(burst, sizes[shard]?.burst ?? 0),
          leased,
        }));
        const given = raises(limits, lowered, sizes, tokens);
        const used = (of: readonly { readonly slots: number }[]) =>
          sum(of.map(({ slots }, shard) => Math.max(slots, uses[shard]?.leased ?? 0)));
        const after = lowered.map((one, shard) => ({ ...one, ...given[shard] }));
        expect(used(after)).toBeLessThanOrEqual(Math.max(limits.leasesMax ?? 0, used(lowered)));
        expect(sum(given.map((one) => one?.tokens ?? 0))).toBeLessThanOrEqual(tokens);
      }),
    );
  });
});

type Act =
  | { readonly kind: "schedule" | "claim" | "end"; readonly shard: number }
  | { readonly kind: "elapse"; readonly ms: number }
  | { readonly kind: "limit"; readonly limits: QueueLimits }
  | { readonly kind: "allot"; readonly fails: number | null }
  /** An allotment whose orders to raise arrive late. */
  | { readonly kind: "stuck" | "resume" };

const SHARDS = 4;
const shard = fc.nat(SHARDS - 1);
const actOf: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("schedule" as const), shard }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("claim" as const), shard }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("end" as const), shard }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("elapse" as const), ms: fc.nat(3_000) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("allot" as const),
      fails: fc.option(fc.nat(3 * SHARDS), { freq: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: "stuck" as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: "resume" as const }) },
);

describe("the limits of a queue over several shards", () => {
  test("hold, and everything that waits is claimed in the end", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          leasesMax: fc.option(fc.integer({ min: 1, max: 6 })),
          rate: fc.option(
            fc.record({
              perSecond: fc.double({ min: 0.5, max: 20, noNaN: true }),
              burst: fc.integer({ min: 1, max: 6 }),
            }),
          ),
        }),
        fc.array(actOf, { maxLength: 60 }),
        async (limits, acts) => {
          const world = await openWorld(limits);
          for (const act of acts) await world.does(act);
          await world.drain();
        },
      ),
      { numRuns: 150 },
    );
  });

  test("with one unit, every shard is served in its turn, however long its tasks take", async () => {
    for (const takesMs of [400, 999, 1_000, 1_500, 2_000, 3_100]) {
      const world = await openWorld({ leasesMax: 1, rate: null });
      for (let count = 0; count < 60; count++)
        for (let one = 0; one < SHARDS; one++) await world.does({ kind: "schedule", shard: one });
      const served = await world.serve(takesMs, 60_000);
      const turnMs = Math.max(takesMs, ALLOT_EVERY_MS) + 2 * ALLOT_EVERY_MS;
      for (const { shard: of, at } of served.filter((one) => one.at < 60_000 - SHARDS * turnMs)) {
        const others = served.filter((one) => one.at > at && one.at <= at + SHARDS * turnMs);
        expect(new Set(others.map((one) => one.shard)).size, `after shard ${of}`).toBe(SHARDS);
      }
    }
  });
});

interface Held {
  readonly granted: Granted;
  readonly run: Awaited<ReturnType<typeof insert>>;
}

async function openWorld(limits: QueueLimits) {
  let now = START;
  const shards = createMemoryShards({ now: () => now }, SHARDS);
  const { home } = shards;
  const { id: namespaceId } = await home.createNamespace("ns");
  const placed = await place(home, workflow({ a: { queue: QUEUE } }), { namespaceId });
  const of = { namespaceId, queue: QUEUE };
  await home.queues.setLimits(of, limits);
  await allotQueues(shards, of, () => undefined);
  const runs = new Map<string, Held["run"]>();
  const held = shards.all.map((): Held[] => []);
  const stuck: (() => void)[] = [];
  const allotments: Promise<void>[] = [];
  /** One bucket for all shards: it is never overdrawn. */
  const bucket = { tokens: limits.rate ? Math.floor(limits.rate.burst) : 0, at: now };

  function take(count: number): void {
    if (!limits.rate) return;
    const { perSecond, burst } = limits.rate;
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    bucket.tokens -= count;
    expect(bucket.tokens).toBeGreaterThanOrEqual(-1e-6);
  }

  async function claim(number: number): Promise<number> {
    const store = shards.all[number];
    if (!store) throw new Error(`there is no shard ${number}`);
    const granted = await store.transact({ name: "claim" }, async (tx) => {
      const [queue] = await tx.lockQueues([of]);
      const free = queue ? room(queue, tx.now) : Number.POSITIVE_INFINITY;
      if (free === 0) return [];
      const asked = placed.lanes.map((lane) => ({ lane, limit: Math.min(free, 100) }));
      const { rows } = await tx.lockReady(asked, true);
      if (queue)
        await tx.writeBuckets([{ ...queue, ...afterGranting(queue, rows.length, tx.now) }]);
      const agent = { session: SESSION, agentId: "agent-1", pollSeq: 1 };
      return tx.grant(rows.map((ready) => ({ ready, secret: hex(16), ...agent })));
    });
    for (const one of granted) {
      const run = runs.get(one.ready.runId);
      if (run) held[number]?.push({ granted: one, run });
    }
    take(granted.length);
    if (limits.leasesMax !== null)
      expect(sum(held.map(({ length }) => length))).toBeLessThanOrEqual(limits.leasesMax);
    return granted.length;
  }

  async function end(number: number): Promise<void> {
    const one = held[number]?.shift();
    if (!one) return;
    await shards.all[number]?.transact({ name: "report" }, async (tx) => {
      const { record } = await prepare(tx, one.run, [report(one.granted, success)]);
      await tx.write([record]);
    });
  }

  async function does(act: Act): Promise<void> {
    switch (act.kind) {
      case "schedule": {
        const run = await shards.all[act.shard]?.transact({ name: "schedule" }, (tx) =>
          insert(tx, placed, { partition: act.shard, agoMs: 0 }),
        );
        if (run) runs.set(run.ref.runId, run);
        return;
      }
      case "claim":
        await claim(act.shard);
        return;
      case "end":
        return end(act.shard);
      case "elapse":
        now += act.ms;
        return;
      case "allot": {
        const left = { calls: act.fails ?? Number.POSITIVE_INFINITY };
        const fails = async () => {
          if (left.calls-- <= 0) throw new Error("the process has ended");
        };
        await allotQueues(throughCalls(shards, fails), null, () => undefined).catch(
          (error: unknown) => expect(act.fails).not.toBeNull() ?? error,
        );
        return;
      }
      case "stuck": {
        const gate = Promise.withResolvers<void>();
        const waits = (call: keyof QueueShares) =>
          call === "raise" ? gate.promise : Promise.resolve();
        stuck.push(gate.resolve);
        allotments.push(allotQueues(throughCalls(shards, waits), null, () => undefined));
        // It gets as far as it can.
        for (const store of shards.all) await store.ready();
        return;
      }
      case "resume":
        stuck.shift()?.();
        for (const store of shards.all) await store.ready();
        return;
      default:
        throw new Error(`nothing does ${act.kind}`);
    }
  }

  const waiting = async () =>
    sum(
      await Promise.all(
        shards.all.map(async ({ queues }) => {
          const [share] = await queues.shares.read();
          return share?.waiting ?? 0;
        }),
      ),
    );

  return {
    does,
    /** Every task ends at once: each shard is served. */
    async drain() {
      for (const resume of stuck) resume();
      await Promise.all(allotments);
      const isUnlimited = limits.leasesMax === null && limits.rate === null;
      const count = isUnlimited ? 1 : await waiting();
      for (let round = 0; round < 20 + 20 * count; round++) {
        await allotQueues(shards, null, () => undefined);
        for (let one = 0; one < SHARDS; one++) await claim(one);
        for (let one = 0; one < SHARDS; one++) while (held[one]?.length) await end(one);
        now += ALLOT_EVERY_MS;
      }
      expect(await waiting()).toBe(0);
    },
    /** By whom and when tasks were claimed. Shards try it in the order of their numbers. */
    async serve(takesMs: number, forMs: number) {
      const served: { readonly shard: number; readonly at: number }[] = [];
      let endsAt = now;
      for (let allotAt = now; now < START + forMs; now += 50) {
        const shardHolding = held.findIndex(({ length }) => length > 0);
        if (shardHolding >= 0 && now >= endsAt) await end(shardHolding);
        for (let one = 0; one < SHARDS; one++)
          if ((await claim(one)) > 0) {
            served.push({ shard: one, at: now - START });
            endsAt = now + takesMs;
          }
        if (now >= allotAt) {
          await allotQueues(shards, null, () => undefined);
          allotAt = now + ALLOT_EVERY_MS;
        }
      }
      return served;
    },
  };
}

/** The same shards; each call waits for this first. */
function throughCalls(
  shards: Shards<MemoryStore>,
  before: (call: keyof QueueShares) => Promise<void>,
): Shards<{ readonly queues: { readonly shares: QueueShares } }> {
  return shardsOf(
    shards.all.map(({ queues: { shares } }) => ({
      queues: {
        shares: {
          read: () => before("read").then(() => shares.read()),
          begin: (queues) => before("begin").then(() => shares.begin(queues)),
          lower: (orders) => before("lower").then(() => shares.lower(orders)),
          raise: (orders) => before("raise").then(() => shares.raise(orders)),
        },
      },
    })),
  );
}

function sum(all: readonly number[]): number {
  return all.reduce((total, one) => total + one, 0);
}
