/** Tables fit the width that they are given, and ages are in one unit. */
import { describe, expect, it, test } from "vitest";
import { tableLines } from "../../../cli/table.ts";
import { ageWords } from "../../../cli/words.ts";

const headers = ["ESCALATION", "STEP", "RUN", "MESSAGE"];
const id = "01a21fff-e4b7-7c98-a5d8-52b0f5091e2d";
const row = [
  `${id}/1`,
  "charge-the-card",
  id,
  "the bank did not answer in time ".repeat(10).trim(),
];

const linesIn = (columns: number | null) => tableLines(headers, [row], undefined, columns);

describe("a table", () => {
  it("is cut nowhere without a width", () => {
    expect(linesIn(null)[1]).toBe(row.join("  "));
  });

  it("loses from its widest column first, never from a name that people copy", () => {
    const [, line = ""] = linesIn(120);
    expect(line).toHaveLength(120);
    expect(line).toMatch(new RegExp(`^${id}/1  charge-the-card  ${id}  the bank did.*…$`));
  });

  it("is wider than the terminal rather than without a name", () => {
    const [, line = ""] = linesIn(40);
    expect(line).toBe(`${id}/1  charge-th…  ${id}  the bank …`);
  });
});

test.each([
  [-90_000, "in 1m"],
  [-500, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_599_999, "59m"],
  [47 * 3_600_000, "47h"],
  [48 * 3_600_000, "2d"],
])("%d ms is %s", (ms, words) => {
  expect(ageWords(ms)).toBe(words);
});
