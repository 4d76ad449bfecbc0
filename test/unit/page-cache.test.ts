/** First pages that are known: those of open runs, and never more than there is room for. */
import { expect, it } from "vitest";
import { encodePage } from "../../server/core/page/codec.ts";
import { createPageCache } from "../../server/store/postgres/page-cache.ts";
import { headWith } from "../support/pages.ts";

const open = encodePage({ no: 0, head: headWith(), steps: new Map() });
const ended = encodePage({
  no: 0,
  head: headWith({ endedAt: 1 }, { state: { kind: "COMPLETED", reason: "DONE" } }),
  steps: new Map(),
});
const page = (version: number, encoded = open) => ({ version, encoded, wakeAt: null });

it("a page is known by its version until the next is stored", () => {
  const cache = createPageCache();
  expect(cache.known("a")).toBeNull();
  cache.keep("a", page(1));
  cache.keep("a", page(2));
  expect(cache.known("a")).toEqual(page(2));
  expect(cache.decoded("a", 0, 2, "not read")).toBe(open);
});

it("a run that has ended is known no more", () => {
  const cache = createPageCache();
  cache.keep("a", page(1));
  cache.keep("a", page(2, ended));
  expect(cache.known("a")).toBeNull();
});

it("the oldest goes when those after it have more text than there is room for", () => {
  const cache = createPageCache(2 * open.text.length);
  for (const run of ["a", "b", "a", "c"]) cache.keep(run, page(1));
  expect(["a", "b", "c"].map((run) => cache.known(run) !== null)).toEqual([true, false, true]);
});
