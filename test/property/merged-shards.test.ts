// What shards answer, merged, is what one store of all their rows would answer.
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  byKeys,
  descending,
  mergePages,
  mergeRows,
  sumByKey,
} from "../../server/store/merge-pages.ts";

interface Row {
  readonly at: number;
  readonly id: string;
}

const ROW = fc.record({ at: fc.nat(5), id: fc.uuid() });
const SHARDS = fc.array(fc.array(ROW, { maxLength: 12 }), { minLength: 1, maxLength: 4 });
const newestFirst = descending(byKeys(({ at, id }: Row) => [at, id]));

function pageOf(rows: readonly Row[], after: Row | null, limit: number): readonly Row[] {
  const behind = rows.filter((row) => after === null || newestFirst(after, row) < 0);
  return behind.sort(newestFirst).slice(0, limit);
}

test("pages of shards, one after the other, are all rows in their order, each once", () => {
  fc.assert(
    fc.property(SHARDS, fc.integer({ min: 1, max: 5 }), (shards, limit) => {
      const listed: Row[] = [];
      for (;;) {
        const after = listed.at(-1) ?? null;
        const pages = shards.map((rows) => pageOf(rows, after, limit));
        const page = mergePages(pages, newestFirst, limit);
        listed.push(...page);
        if (page.length < limit) break;
      }
      expect(listed).toEqual(pageOf(shards.flat(), null, Number.POSITIVE_INFINITY));
    }),
  );
});

test("rows of one key become one, with the sum of all", () => {
  fc.assert(
    fc.property(SHARDS, (shards) => {
      const merged = mergeRows(
        shards.flat().map(({ at }) => ({ at, count: 1 })),
        ({ at }) => String(at),
        (one, other) => ({ ...one, count: one.count + other.count }),
      );
      const counted = shards.map(
        (rows) =>
          new Map(
            [...Map.groupBy(rows, ({ at }) => at)].map(([at, of]) => [at, of.length] as const),
          ),
      );
      expect(new Map(merged.map(({ at, count }) => [at, count]))).toEqual(
        new Map(sumByKey(counted)),
      );
    }),
  );
});

test("names are ordered by their bytes, as PostgreSQL orders them with collation C", () => {
  const names = ["é", "a", "Z", "_", "\u{1f9ad}", "\uffee"];
  const order = byKeys((name: string) => [name]);
  expect([...names].sort(order)).toEqual(["Z", "_", "a", "é", "\uffee", "\u{1f9ad}"]);
});
