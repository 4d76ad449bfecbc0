/**
 * A mark never passes a row that may still be handed out, in whatever order transactions begin,
 * write, commit, fail and claim.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { rangesOf, watermarkAfter } from "../../server/store/watermarks.ts";

interface Writer {
  readonly number: number;
  state: "writes" | "committed" | "failed";
  isClaimed: boolean;
}

const acts = fc.array(
  fc.record({
    act: fc.constantFrom("begin", "begin", "commit", "fail", "claim", "see"),
    pick: fc.nat(),
  }),
  { maxLength: 60 },
);

it("all rows before it are gone for good", () => {
  fc.assert(
    fc.property(acts, (script) => {
      const writers: Writer[] = [];
      let watermark = 0n;
      const pickOf = (state: Writer["state"], pick: number): Writer | undefined => {
        const found = writers.filter((one) => one.state === state && !one.isClaimed);
        return found[pick % Math.max(1, found.length)];
      };
      for (const { act, pick } of script) {
        if (act === "begin")
          writers.push({ number: writers.length + 1, state: "writes", isClaimed: false });
        const writer = pickOf("writes", pick);
        if (act === "commit" && writer) writer.state = "committed";
        if (act === "fail" && writer) writer.state = "failed";
        const row = pickOf("committed", pick);
        if (act === "claim" && row) row.isClaimed = true;
        if (act === "see") {
          const writing = writers.filter(({ state }) => state === "writes");
          const visible = writers
            .filter(({ state, isClaimed }) => state === "committed" && !isClaimed)
            .filter(({ number }) => BigInt(number) >= watermark);
          const least = (of: readonly Writer[]) => Math.min(...of.map(({ number }) => number));
          const oldest = writing.length > 0 ? least(writing) : writers.length + 1;
          const next = watermarkAfter(
            visible.length > 0 ? BigInt(least(visible)) : null,
            BigInt(oldest),
          );
          expect(next).toBeGreaterThanOrEqual(watermark);
          watermark = next;
        }
        const hidden = writers.filter(
          ({ number, state, isClaimed }) =>
            BigInt(number) < watermark && state !== "failed" && !isClaimed,
        );
        expect(hidden).toEqual([]);
      }
    }),
  );
});

it("the ranges of a lane hold each position but those before a watermark, once and in order", () => {
  const watermarks = fc.uniqueArray(
    fc.record({ priority: fc.integer({ min: 1, max: 9 }), from: fc.bigInt({ min: 1n, max: 9n }) }),
    { selector: ({ priority }) => priority, maxLength: 9 },
  );
  const positions = Array.from({ length: 90 }, (_, position) => {
    return { priority: 1 + Math.floor(position / 10), at: BigInt(position % 10) };
  });
  fc.assert(
    fc.property(watermarks, (of) => {
      const [ranges = []] = rangesOf(
        [7],
        of.map((watermark) => ({ lane: 7, ...watermark })),
      );
      const walked = ranges.flatMap(({ priority, from, lastPriority }) =>
        positions.filter(
          (position) =>
            (position.priority > priority ||
              (position.priority === priority && position.at >= from)) &&
            position.priority <= lastPriority,
        ),
      );
      const watermarkOf = (priority: number) =>
        of.find((watermark) => watermark.priority === priority)?.from;
      expect(walked).toEqual(
        positions.filter(({ priority, at }) => at >= (watermarkOf(priority) ?? 0n)),
      );
    }),
  );
});
