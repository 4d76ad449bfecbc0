/** An answer of a tool is bounded, says what is left out, and shows what is hidden. */
import { describe, expect, test } from "vitest";
import { ANSWER_CHARS_MAX, bounded, type JsonObject, visible } from "../../cli/mcp/answer.ts";

const sizeOf = (answer: object) => JSON.stringify(answer).length;
const narrower = "Repeat the call with a smaller limit.";
const sent = (data: JsonObject) => bounded({ drover: "Here.", data, narrower });

describe("an answer", () => {
  test("that is small is whole", () => {
    const data = { run: { key: "a" }, steps: [{ id: "b", output: "x".repeat(8_000) }] };
    expect(sent(data)).toEqual({ drover: "Here.", data, left_out: [] });
  });

  test("has its long texts cut first, and says how many", () => {
    const data = { texts: Array.from({ length: 20 }, (_, n) => `${n}`.repeat(9_000)) };
    const answer = sent(data);
    expect(sizeOf(answer)).toBeLessThanOrEqual(ANSWER_CHARS_MAX);
    expect(answer.data.texts).toHaveLength(20);
    expect(answer.left_out).toEqual(['20 long texts are cut; they end with "…".', narrower]);
  });

  test("has its lists cut next, and says of how many", () => {
    const item = (n: number) => ({ id: `step-${n}`, message: "m".repeat(90) });
    const answer = sent({ steps: Array.from({ length: 1_000 }, (_, n) => item(n)) });
    expect(sizeOf(answer)).toBeLessThanOrEqual(ANSWER_CHARS_MAX);
    expect(answer.left_out).toEqual(["Of steps, 125 of 1000 are shown.", narrower]);
    expect(answer.data.steps).toHaveLength(125);
  });

  test("has no long list or object within its items", () => {
    const labels = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`l${n}`, "v"]));
    const needs = Array.from({ length: 150 }, (_, n) => `s${n}`);
    const answer = sent({ steps: [{ labels, needs }] });
    expect(answer.left_out[0]).toBe("250 entries of long lists are left out.");
  });

  test.each([
    ["of quotes, which JSON doubles", '"'.repeat(2_000_000)],
    ["of controls, which JSON writes out", "\n".repeat(2_000_000)],
    ["of half characters", "\ud800".repeat(2_000_000)],
  ])("is no larger with a text %s", (_, text) => {
    const answer = sent({
      run: { input: text, key: text },
      steps: Array(50).fill({ output: text }),
    });
    expect(sizeOf(answer)).toBeLessThanOrEqual(ANSWER_CHARS_MAX);
  });

  test("that cannot be made small is an error, not a large answer", () => {
    const wide = (depth: number): JsonObject =>
      Object.fromEntries(
        Array.from({ length: 60 }, (_, n) => [`k${n}`, depth === 0 ? "x" : wide(depth - 1)]),
      );
    expect(() => sent({ run: wide(2) })).toThrow(/more than 24000 characters/);
  });
});

test.each([
  ["an escape sequence", "\u001b[31mred", "\uFFFD[31mred"],
  ["an override of the direction", "a\u202eb", "a\uFFFDb"],
  ["a space without width", "a\u200bb", "a\uFFFDb"],
  ["words in tags", "a\u{E0069}\u{E0067}b", "a\uFFFD\uFFFDb"],
  ["variation selectors in a row", "a\uFE01\uFE02\uFE03b", "a\uFFFDb"],
  ["a selector beyond the plane", "a\u{E0101}b", "a\uFFFDb"],
  ["a line separator", "a\u2028b", "a\uFFFDb"],
  ["half a character", "a\ud83d", "a\uFFFD"],
])("%s is shown as replaced", (_, given, shown) => {
  expect(visible(given)).toBe(shown);
});

test("lines, tabs, umlauts and plain emoji stay", () => {
  const text = "Zoë:\n\t☀️ 漢字 🙂";
  expect(visible(text)).toBe(text);
});
