/** Which partitions a node takes and hands back, from what it sees alone. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { partitionsOf } from "../../server/store/partition.ts";
import type { LiveNode } from "../../server/store/partition-session.ts";
import { assign, preferred, type Seen } from "../../server/supervisor/assignment.ts";

const partitions = Array.from({ length: 256 }, (_, partition) => partition);

/** Watches all regions, unless others are given. */
const live = (node: string, more: Partial<LiveNode> = {}): LiveNode => ({
  node,
  regions: null,
  standby: false,
  ...more,
});

const seen = (more: Partial<Seen> = {}): Seen => ({
  me: live("a"),
  liveNodes: [live("a")],
  partitions,
  owned: new Set(),
  freeForMs: new Map(),
  handedBack: new Set(),
  movesMax: 16,
  ...more,
});

const free = (ms: number, of: readonly number[] = partitions) =>
  new Map(of.map((partition) => [partition, ms]));
const nodeNames = fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 8 });

describe("a node that is alone", () => {
  it("takes every free partition at once", () => {
    expect(assign(seen({ freeForMs: free(0) }))).toEqual({ take: partitions, handBack: [] });
  });

  it("takes nothing that another node holds, whichever nodes are reported alive", () => {
    expect(assign(seen())).toEqual({ take: [], handBack: [] });
  });

  it("hands nothing back", () => {
    expect(assign(seen({ owned: new Set(partitions) })).handBack).toEqual([]);
  });

  it("counts itself among the living even when its own row is not seen", () => {
    expect(assign(seen({ liveNodes: [], freeForMs: free(0) })).take).toEqual(partitions);
  });
});

describe("a free partition that another node should have", () => {
  const two = ["a", "b"];
  const theirs = partitions.filter((partition) => preferred(two, partition) === "b");

  it("is left to that node for half a second, and then taken all the same", () => {
    const at = (ms: number) =>
      assign(seen({ liveNodes: two.map((node) => live(node)), freeForMs: free(ms, theirs) })).take;
    expect(at(0)).toEqual([]);
    expect(at(499)).toEqual([]);
    expect(at(500)).toEqual(theirs);
  });

  it("is left to it for longer by the node that has just handed it back", () => {
    const handedBack = new Set(theirs);
    const at = (ms: number) =>
      assign(
        seen({ liveNodes: two.map((node) => live(node)), freeForMs: free(ms, theirs), handedBack }),
      ).take;
    expect(at(1_999)).toEqual([]);
    expect(at(2_000)).toEqual(theirs);
  });
});

describe("nodes that see the same", () => {
  it("agree on one owner of each partition, in whatever order they see each other", () => {
    fc.assert(
      fc.property(nodeNames, fc.nat({ max: 255 }), (nodes, partition) => {
        const owner = preferred([...nodes].sort(), partition);
        expect(nodes).toContain(owner);
        const takers = nodes.filter((me) =>
          assign(
            seen({
              me: live(me),
              liveNodes: [...nodes].reverse().map((node) => live(node)),
              freeForMs: new Map([[partition, 0]]),
            }),
          ).take.includes(partition),
        );
        expect(takers).toEqual([owner]);
      }),
    );
  });

  it("share evenly: no node has more than twice its part", () => {
    fc.assert(
      fc.property(nodeNames, (nodes) => {
        for (const node of nodes) {
          const own = partitions.filter((partition) => preferred(nodes, partition) === node);
          expect(own.length).toBeLessThanOrEqual((2 * partitions.length) / nodes.length);
        }
      }),
      { seed: 7, numRuns: 200 },
    );
  });

  it("settle: what a node takes or keeps it never hands back while no node comes or goes", () => {
    fc.assert(
      fc.property(nodeNames, (nodes) => {
        const liveNodes = nodes.map((node) => live(node));
        for (const me of liveNodes) {
          const { take } = assign(seen({ me, liveNodes, freeForMs: free(0) }));
          const after = assign(seen({ me, liveNodes, owned: new Set(take) }));
          expect(after).toEqual({ take: [], handBack: [] });
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe("a node that joins", () => {
  it("is handed a few partitions in each scan, and only its own", () => {
    const owned = new Set(partitions);
    const { handBack, take } = assign(
      seen({ liveNodes: [live("a"), live("b")], owned, movesMax: 16 }),
    );
    expect(take).toEqual([]);
    expect(handBack).toHaveLength(16);
    for (const partition of handBack) expect(preferred(["a", "b"], partition)).toBe("b");
  });

  it("changes the owner of no partition but those that become its own", () => {
    fc.assert(
      fc.property(nodeNames, fc.uuid(), (nodes, joiner) => {
        fc.pre(!nodes.includes(joiner));
        for (const partition of partitions) {
          const owner = preferred([...nodes, joiner], partition);
          if (owner !== joiner) expect(owner).toBe(preferred(nodes, partition));
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe("several regions", () => {
  const eu = [...partitionsOf(1)];
  const us = [...partitionsOf(2)];
  const all = [...partitions, ...eu, ...us];
  const mine = live("a");
  const european = live("b", { regions: [1] });

  it("are shared by those that watch them: a node of one region is entitled to no other", () => {
    const shares = (me: LiveNode, of: readonly number[]) =>
      assign(seen({ me, liveNodes: [mine, european], partitions: of, freeForMs: free(0, of) }))
        .take;
    expect(shares(mine, partitions)).toEqual(partitions);
    expect(shares(mine, us)).toEqual(us);
    expect([...shares(mine, eu), ...shares(european, eu)].sort((x, y) => x - y)).toEqual(eu);
  });

  it("are handed to a node that watches one of them only as far as that goes", () => {
    const handed = assign(
      seen({
        liveNodes: [mine, european],
        partitions: all,
        owned: new Set(all),
        movesMax: 1_000,
      }),
    ).handBack;
    expect(handed.length).toBeGreaterThan(80);
    for (const partition of handed) expect(eu).toContain(partition);
  });

  it("are none of the business of a node that watches nothing", () => {
    const server = live("c", { regions: [] });
    const { handBack } = assign(seen({ liveNodes: [mine, server], owned: new Set(all) }));
    expect(handBack).toEqual([]);
  });
});

describe("a standby", () => {
  const standby = live("s", { standby: true });
  const second = live("t", { standby: true });

  it("leaves everything to a node that is none", () => {
    const liveNodes = [standby, live("a")];
    expect(assign(seen({ me: standby, liveNodes, freeForMs: free(0) })).take).toEqual([]);
    expect(assign(seen({ liveNodes, freeForMs: free(0) })).take).toEqual(partitions);
  });

  it("takes at once what no other node is there for, and after half a second what is free", () => {
    expect(assign(seen({ me: standby, liveNodes: [standby], freeForMs: free(0) })).take).toEqual(
      partitions,
    );
    const liveNodes = [standby, live("a")];
    expect(assign(seen({ me: standby, liveNodes, freeForMs: free(500) })).take).toEqual(partitions);
  });

  it("hands all of it back, a few at a time, to a node that is none", () => {
    const owned = new Set(partitions);
    const { handBack } = assign(
      seen({ me: standby, liveNodes: [standby, live("a")], owned, movesMax: 16 }),
    );
    expect(handBack).toHaveLength(16);
  });

  it("beside another one owns all if it was there first, and nothing if it was not", () => {
    const liveNodes = [second, standby];
    const take = (me: LiveNode) => assign(seen({ me, liveNodes, freeForMs: free(0) })).take;
    expect(take(second)).toEqual(partitions);
    expect(take(standby)).toEqual([]);
    const { handBack } = assign(seen({ me: second, liveNodes, owned: new Set(partitions) }));
    expect(handBack).toEqual([]);
  });
});

describe("nodes that come and go", () => {
  const node = fc.record({
    node: fc.uuid(),
    regions: fc.option(fc.uniqueArray(fc.constantFrom(0, 1), { maxLength: 2 }), { nil: null }),
    standby: fc.boolean(),
  });
  const nodes = fc.uniqueArray(node, { minLength: 1, maxLength: 6, selector: (one) => one.node });
  const regions = [...partitionsOf(0), ...partitionsOf(1)];
  const watchedBy = ({ regions: of }: LiveNode) =>
    of === null ? regions : of.flatMap((region) => partitionsOf(region));

  it("each partition that is watched has one node that is entitled to it", () => {
    fc.assert(
      fc.property(nodes, (liveNodes) => {
        const takers = liveNodes.flatMap(
          (me) =>
            assign(seen({ me, liveNodes, partitions: watchedBy(me), freeForMs: free(0, regions) }))
              .take,
        );
        const watched = new Set(liveNodes.flatMap(watchedBy));
        expect(takers.sort((x, y) => x - y)).toEqual([...watched].sort((x, y) => x - y));
      }),
      { numRuns: 50 },
    );
  });

  it("once all have scanned often enough no node hands anything back, and none was moved in vain", () => {
    fc.assert(
      fc.property(nodes, nodes, (before, after) => {
        const owner = new Map(settled(before, new Map()));
        const moved = new Map(settled(after, owner));
        for (const [partition, node] of moved) {
          const stayed = after.some((one) => one.node === owner.get(partition));
          if (!stayed || node === owner.get(partition)) continue;
          const newcomer = before.every((one) => one.node !== node);
          const yielded = after.find((one) => one.node === owner.get(partition));
          const left = before.some((one) => after.every(({ node: of }) => of !== one.node));
          expect(newcomer || left || yielded?.standby).toBeTruthy();
        }
      }),
      { numRuns: 30 },
    );
  });

  /** Who owns what when all nodes have scanned in turn until nothing changes. */
  function settled(
    liveNodes: readonly LiveNode[],
    owners: ReadonlyMap<number, string>,
  ): ReadonlyMap<number, string> {
    const owner = new Map(
      [...owners].filter(([, node]) => liveNodes.some((one) => one.node === node)),
    );
    for (let round = 0; round < 64; round++) {
      let changed = false;
      for (const me of liveNodes) {
        const owned = new Set([...owner].filter(([, node]) => node === me.node).map(([p]) => p));
        const freeForMs = free(
          0,
          regions.filter((p) => !owner.has(p)),
        );
        const { take, handBack } = assign(
          seen({ me, liveNodes, partitions: watchedBy(me), owned, freeForMs }),
        );
        for (const partition of take) owner.set(partition, me.node);
        for (const partition of handBack) owner.delete(partition);
        changed ||= take.length + handBack.length > 0;
      }
      if (!changed) return owner;
    }
    throw new Error("partitions are still moving after 64 rounds");
  }
});
