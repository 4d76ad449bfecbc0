/**
 * The contract of a store of several shards: what holds in all of them although a transaction is
 * within one. The suite of one store (store-contract.ts) is about each shard by itself.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { room } from "../../server/core/model/limits.ts";
import { type AllShards, allShards } from "../../server/store/all-shards.ts";
import { NO_LIMITS } from "../../server/store/namespaces.ts";
import type { LowerOrder, RaiseOrder } from "../../server/store/queue-shares.ts";
import type { Shards } from "../../server/store/shards.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  claim,
  claimOne,
  hex,
  insert,
  newNamespace,
  newUuid,
  type Placed,
  pass,
  permanent,
  place,
  renewSession,
  report,
  type Scheduled,
  type ScheduleOptions,
  success,
} from "./fixture.ts";

export interface OpenedShards {
  /** At least two. */
  readonly shards: Shards<EngineStore>;
  close(): Promise<void>;
}

export function describeShards(name: string, open: () => Promise<OpenedShards>): void {
  describe(`${name} contract`, () => {
    let opened: OpenedShards;
    let all: AllShards;
    beforeAll(async () => {
      opened = await open();
      all = allShards(opened.shards, () => 1);
    });
    afterAll(() => opened.close());
    beforeEach(renewSession);

    const home = () => opened.shards.home;
    const shardNo = (number: number): EngineStore => {
      const found = opened.shards.all[number];
      if (!found) throw new Error(`there is no shard ${number}`);
      return found;
    };
    /** What all shards share is made through the first one. */
    const prepared = (options: ScheduleOptions = {}, queue = "q"): Promise<Placed> =>
      place(home(), workflow({ a: { queue } }), options);
    const begin = (placed: Placed, number: number, options: ScheduleOptions = {}) =>
      shardNo(number).transact({ name: "schedule" }, (tx) =>
        insert(tx, placed, { ...options, partition: number }),
      );
    const inEach = async (placed: Placed): Promise<readonly [Scheduled, Scheduled]> => [
      await begin(placed, 0),
      await begin(placed, 1),
    ];
    const claimed = async (number: number, of: Placed) => (await claim(shardNo(number), of)).length;

    describe("what all shards share", () => {
      test("is seen in each of them once the first one has made it", async () => {
        const { namespaceId, definitionId, lanes } = await prepared();
        expect(await shardNo(1).definition(definitionId)).toEqual(
          await home().definition(definitionId),
        );
        expect(await shardNo(1).lanesOfQueues(namespaceId, ["q"])).toMatchObject(
          lanes.map((lane) => ({ lane })),
        );
      });

      test("a queue that is paused gives nothing in any shard", async () => {
        const placed = await prepared();
        await inEach(placed);
        const of = { namespaceId: placed.namespaceId, queue: "q" };
        await all.queues.pause(of, "");
        expect([await claimed(0, placed), await claimed(1, placed)]).toEqual([0, 0]);
        await all.queues.resume(of);
        expect([await claimed(0, placed), await claimed(1, placed)]).toEqual([1, 1]);
      });

      test("a workflow that is paused gives nothing in any shard, later runs neither", async () => {
        const placed = await prepared();
        const { workflow: name } = placed.plan;
        await inEach(placed);
        const of = { namespaceId: placed.namespaceId, workflow: name };
        expect(await all.queues.pauseWorkflow(of, "why")).toMatchObject({ reason: "why" });
        await begin(placed, 1);
        expect([await claimed(0, placed), await claimed(1, placed)]).toEqual([0, 0]);
        expect(await all.queues.resumeWorkflow(of)).toEqual(placed.lanes);
        expect([await claimed(0, placed), await claimed(1, placed)]).toEqual([1, 2]);
      });

      test("a pin moves what is ready in every shard to the lanes of its version", async () => {
        const placed = await prepared();
        const { workflow: name } = placed.plan;
        await inEach(placed);
        const of = { namespaceId: placed.namespaceId, workflow: name, queue: "q", version: 0 };
        const lanes = await all.pins.pin(of, "v2");
        expect(lanes).toHaveLength(1);
        expect([await claimed(0, placed), await claimed(1, placed)]).toEqual([0, 0]);
        const own = { ...placed, lanes: lanes ?? [] };
        expect([await claimed(0, own), await claimed(1, own)]).toEqual([1, 1]);
      });
    });

    describe("limits of queues", () => {
      const TWO = { leasesMax: 2, rate: null };
      const QUICK = { leasesMax: null, rate: { perSecond: 1, burst: 4 } };
      const sharesOf = async (namespaceId: number) =>
        Promise.all(
          opened.shards.all.map(async ({ queues }) =>
            (await queues.shares.read()).find((one) => one.namespaceId === namespaceId),
          ),
        );
      const order = (of: Pick<Placed, "namespaceId">, number: number) => {
        return { namespaceId: of.namespaceId, queue: "q", number };
      };
      const lower = (number: number, of: LowerOrder) => shardNo(number).queues.shares.lower([of]);
      const raise = (number: number, of: Omit<RaiseOrder, "isServed">) =>
        shardNo(number).queues.shares.raise([{ ...of, isServed: true }]);
      const begun = async ({ namespaceId }: Placed) => {
        const [allotment] = await home().queues.shares.begin([{ namespaceId, queue: "q" }]);
        if (!allotment) throw new Error("a queue with limits has an allotment");
        return allotment;
      };
      const roomIn = (number: number, { namespaceId }: Placed) =>
        shardNo(number).transact({ name: "read" }, async (tx) => {
          const [queue] = await tx.lockQueues([{ namespaceId, queue: "q" }]);
          return queue ? room(queue, tx.now) : null;
        });

      test("are divided among the shards, by what waits there", async () => {
        const placed = await prepared();
        const of = { namespaceId: placed.namespaceId, queue: "q" };
        for (let run = 0; run < 3; run++) await begin(placed, 1);
        await all.queues.setLimits(of, TWO);
        expect(await sharesOf(placed.namespaceId)).toMatchObject([
          { limits: TWO, slots: 0, leased: 0, waiting: 0 },
          { limits: TWO, slots: 2, leased: 0, waiting: 3 },
        ]);
        expect([await roomIn(0, placed), await roomIn(1, placed)]).toEqual([0, 2]);
        await all.queues.setLimits(of, { leasesMax: null, rate: null });
        expect([await roomIn(0, placed), await roomIn(1, placed)]).toEqual([null, null]);
      });

      test("tasks with agents count although their shard was lowered", async () => {
        const placed = await prepared();
        const [one] = await inEach(placed);
        await claimOne(home(), one);
        await all.queues.setLimits(order(placed, 0), { leasesMax: 1, rate: null });
        expect([await roomIn(0, placed), await roomIn(1, placed)]).toEqual([0, 0]);
      });

      test("numbers of allotments grow, and the tokens of a new rate are given out once", async () => {
        const placed = await prepared();
        const of = { namespaceId: placed.namespaceId, queue: "q" };
        expect(await home().queues.shares.begin([of])).toEqual([]);
        await home().queues.setLimits(of, QUICK);
        const first = await begun(placed);
        const second = await begun(placed);
        expect(first).toMatchObject({ limits: QUICK, tokens: 4 });
        expect(second).toMatchObject({ limits: QUICK, tokens: 0 });
        expect(second.number).toBeGreaterThan(first.number);
      });

      test("a shard takes no order of an allotment once it has seen a later one", async () => {
        const placed = await prepared();
        await home().queues.setLimits(order(placed, 0), TWO);
        const first = await begun(placed);
        const size = { slots: 1, burst: 0 };
        const raised = { ...size, tokens: 0 };
        const [seen] = await lower(1, { ...order(placed, first.number), ...size });
        expect(seen).toMatchObject({ slots: 0, leased: 0 });
        expect(await raise(1, { ...order(placed, first.number), ...raised })).toEqual(placed.lanes);
        expect(await roomIn(1, placed)).toBe(1);
        const second = await begun(placed);
        await lower(1, { ...order(placed, second.number), slots: 0, burst: 0 });
        expect(await roomIn(1, placed)).toBe(0);
        expect(await raise(1, { ...order(placed, first.number), ...raised })).toEqual([]);
        expect(await lower(1, { ...order(placed, first.number), ...size })).toEqual([]);
        expect(await roomIn(1, placed)).toBe(0);
      });

      test("tokens go with the units: no shard begins with a full bucket", async () => {
        const placed = await prepared();
        await home().queues.setLimits(order(placed, 0), QUICK);
        const first = await begun(placed);
        for (const number of [0, 1])
          await lower(number, { ...order(placed, first.number), slots: 0, burst: 4 });
        await raise(0, { ...order(placed, first.number), slots: 0, burst: 4, tokens: 4 });
        expect([await roomIn(0, placed), await roomIn(1, placed)]).toEqual([4, 0]);
        const second = await begun(placed);
        const [left] = await lower(0, { ...order(placed, second.number), slots: 0, burst: 1 });
        expect(left).toMatchObject({ burst: 1, tokens: 3 });
        await lower(1, { ...order(placed, second.number), slots: 0, burst: 3 });
        await raise(1, { ...order(placed, second.number), slots: 0, burst: 3, tokens: 2 });
        expect([await roomIn(0, placed), await roomIn(1, placed)]).toEqual([1, 2]);
      });
    });

    describe("all shards together", () => {
      test("a run is found in its shard, by its id and by its key", async () => {
        const placed = await prepared();
        const { namespaceId } = placed;
        const key = { namespaceId, key: "order-1", digest: hex(32), keepMs: 60_000 };
        const run = await begin(placed, 1, { key: "order-1" });
        const { runId } = run.ref;
        await shardNo(1).transact({ name: "key" }, (tx) => tx.reserveKeys([{ ...key, runId }]));
        // The place of the key, if the run has its place by its concurrency key.
        await home().transact({ name: "key" }, (tx) =>
          tx.reserveKeys([{ ...key, runId: newUuid() }]),
        );
        expect(await all.reads.findRun(namespaceId, { key: "order-1" })).toMatchObject({ runId });
        expect(await all.reads.findRun(namespaceId, { runId })).toMatchObject({ runId });
        expect(await all.reads.findRun(namespaceId, { key: "order-2" })).toBeNull();
      });

      test("an erased run goes with its key in every shard, and a run of another key stays", async () => {
        const placed = await prepared();
        const { namespaceId } = placed;
        const reserve = async (number: number, key: string, runId: string) => {
          const reserved = { namespaceId, key, digest: hex(32), keepMs: 60_000, runId };
          const [holder] = await shardNo(number).transact({ name: "key" }, (tx) =>
            tx.reserveKeys([reserved]),
          );
          return holder?.mine;
        };
        const run = await begin(placed, 1, { key: "order-1" });
        const beside = await begin(placed, 0, { key: "order-2" });
        await reserve(1, "order-1", run.ref.runId);
        await reserve(0, "order-1", newUuid());
        await reserve(0, "order-2", beside.ref.runId);
        await pass(shardNo(1), run, report(await claimOne(shardNo(1), run), permanent));
        const { runId } = run.ref;
        expect(await all.namespaces.eraseRun(namespaceId, runId, null)).toMatchObject({
          kind: "erased",
          key: "order-1",
        });
        expect(await reserve(0, "order-1", newUuid())).toBe(true);
        expect(await reserve(1, "order-1", newUuid())).toBe(true);
        await home().namespaces.forgetKey(namespaceId, "order-2");
        expect(await reserve(0, "order-2", newUuid())).toBe(false);
      });

      test("facts of runs of several shards come together", async () => {
        const placed = await prepared();
        const runs = await inEach(placed);
        const ids = runs.map(({ ref }) => ref.runId);
        const found = await all.facts(ids.map((runId) => ({ runId, steps: [] })));
        expect([...found.keys()].sort()).toEqual([...ids].sort());
      });

      test("open runs count for the limit of their namespace in every shard", async () => {
        const namespaceId = await newNamespace(home());
        await all.namespaces.setLimits(namespaceId, { ...NO_LIMITS, openRunsMax: 9 });
        await inEach(await prepared({ namespaceId }));
        const limited = await all.namespaces.limited();
        expect(limited.find((one) => one.namespaceId === namespaceId)).toMatchObject({
          openRuns: 2,
        });
      });

      test("the shard of its run knows how a probe has ended", async () => {
        const placed = await prepared();
        const [lane = 0] = placed.lanes;
        const run = await begin(placed, 1);
        const open = { kind: "open", since: 1, until: 2, cooldowns: 1 } as const;
        const of = { lane, agentId: "", saw: "", did: "", dueAt: 0, about: null };
        const node = newUuid();
        await home().circuits.change([{ ...of, before: 0, state: open }], { node, epoch: 1 });
        const circuit = async () => {
          const [evidence] = await all.circuits.evidence([lane], 60_000);
          const [found] = evidence?.circuits ?? [];
          if (!found) throw new Error("the lane has a circuit");
          return found;
        };
        expect(await circuit()).toMatchObject({ state: open, probeEnd: null });
        const { version } = await circuit();
        const granted = await claimOne(shardNo(1), run);
        const { step, fence } = granted.ready;
        const probe = { runId: run.ref.runId, step, fence, secret: granted.secret };
        await home().transact({ name: "probes" }, (tx) =>
          tx.takeProbes([{ lane, agentId: "", version, ...probe }]),
        );
        expect(await circuit()).toMatchObject({ state: { kind: "trying" }, probeEnd: null });
        await pass(shardNo(1), run, report(granted, success));
        expect(await circuit()).toMatchObject({ probeEnd: { end: "good", runId: run.ref.runId } });
      });
    });
  });
}
