/** A page is read back as it was written, whatever it holds. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodePage, encodePage } from "../../server/core/page/codec.ts";
import { pages } from "../support/random-pages.ts";

const SETTINGS = { seed: 20_261_126, numRuns: 500 };

test("any page is read back as it was written, with keys that this version does not know", () => {
  fc.assert(
    fc.property(pages, (page) => {
      expect(decodePage(encodePage(page).text).page).toEqual(page);
    }),
    SETTINGS,
  );
});

test("a page that was read is written with the same text, also when nothing of it is reused", () => {
  fc.assert(
    fc.property(pages, (page) => {
      const { text } = encodePage(page);
      const read = decodePage(text);
      expect(encodePage(read.page, read).text).toBe(text);
      expect(encodePage(read.page).text).toBe(text);
    }),
    SETTINGS,
  );
});

test("lines that are taken from the version before make no difference to the text", () => {
  fc.assert(
    fc.property(pages, pages, (before, next) => {
      // Some steps stay, some are other ones, some are new.
      const carried = [...before.steps].filter((_, index) => index % 2 === 0);
      const after = { ...next, steps: new Map([...next.steps, ...carried]) };
      const reused = encodePage(after, encodePage(before));
      const anew = encodePage(after);
      expect(reused.text).toBe(anew.text);
      expect(reused.lines).toEqual(anew.lines);
    }),
    SETTINGS,
  );
});

test("the text is JSON, and has a line for each step", () => {
  fc.assert(
    fc.property(pages, (page) => {
      const { text, lines } = encodePage(page);
      const { f, n, s } = JSON.parse(text);
      expect({ f, n }).toEqual({ f: 1, n: page.no });
      expect(new Set(Object.keys(s))).toEqual(new Set([...page.steps.keys()].map(String)));
      expect(text.split("\n")).toHaveLength(2 + page.steps.size);
      for (const [index, line] of lines) expect(JSON.parse(line)).toEqual(s[index]);
    }),
    SETTINGS,
  );
});
