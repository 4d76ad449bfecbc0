/** Which partitions a node takes and hands back, from what it sees alone. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assign, preferred, type Seen } from "../../server/supervisor/assignment.ts";

const partitions = Array.from({ length: 256 }, (_, partition) => partition);

const seen = (more: Partial<Seen> = {}): Seen => ({
  me: "a",
  liveNodes: ["a"],
  partitions,
  owned: new Set(),
  freeForMs: new Map(),
  handedBack: new Set(),
  movesMax: 16,
  ...more,
});

const free = (ms: number, of = partitions) => new Map(of.map((partition) => [partition, ms]));
const nodeNames = fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 8 });

describe("a node that is alone", () => {
  it("takes every free partition at once", () => {
    expect(assign(seen({ freeForMs: free(0) }))).toEqual({ take: partitions, handBack: [] });
  });

  it("takes nothing that somebody holds, whoever is said to live", () => {
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
    const at = (ms: number) => assign(seen({ liveNodes: two, freeForMs: free(ms, theirs) })).take;
    expect(at(0)).toEqual([]);
    expect(at(499)).toEqual([]);
    expect(at(500)).toEqual(theirs);
  });

  it("is left to it for longer by the node that has just handed it back", () => {
    const handedBack = new Set(theirs);
    const at = (ms: number) =>
      assign(seen({ liveNodes: two, freeForMs: free(ms, theirs), handedBack })).take;
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
            seen({ me, liveNodes: [...nodes].reverse(), freeForMs: new Map([[partition, 0]]) }),
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

  it("settle: what a node takes or keeps it never hands back while nobody comes or goes", () => {
    fc.assert(
      fc.property(nodeNames, (nodes) => {
        for (const me of nodes) {
          const { take } = assign(seen({ me, liveNodes: nodes, freeForMs: free(0) }));
          const after = assign(seen({ me, liveNodes: nodes, owned: new Set(take) }));
          expect(after).toEqual({ take: [], handBack: [] });
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe("a node that joins", () => {
  it("is handed a few partitions in each look, and only its own", () => {
    const owned = new Set(partitions);
    const { handBack, take } = assign(seen({ liveNodes: ["a", "b"], owned, movesMax: 16 }));
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
