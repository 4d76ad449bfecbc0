/** No race is forgotten: each is played, or waits for a feature that does not exist yet. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { RACES } from "./races.ts";

const HERE = new URL("./", import.meta.url);
const TESTS = new URL("../../", import.meta.url);
const RACES_MAX = 45;

const races = Object.entries(RACES);

/** "7: a report after ..." of every scenario file. */
function titlesHere(): readonly string[] {
  const files = readdirSync(HERE).filter((name) => name.endsWith(".test.ts"));
  return files.flatMap((name) =>
    [...readFileSync(new URL(name, HERE), "utf8").matchAll(/\("(?<title>\d+: [^"]+)", /g)].map(
      ({ groups }) => groups?.title ?? "",
    ),
  );
}

test("every race has its row", () => {
  expect(races.map(([number]) => Number(number))).toEqual(
    Array.from({ length: RACES_MAX }, (_, index) => index + 1),
  );
});

test("every race is played, or states what it waits for", () => {
  const idle = races.filter(
    ([, { scenarios = 0, tests = {}, waitsFor = [] }]) =>
      scenarios + Object.values(tests).flat().length + waitsFor.length === 0,
  );
  expect(idle.map(([number]) => number)).toEqual([]);
});

test("no scenario is gone, and none is unknown", () => {
  const numbers = titlesHere().map((title) => title.split(":")[0] ?? "");
  const found = races.map(([number]) => [number, numbers.filter((one) => one === number).length]);
  expect(found).toEqual(races.map(([number, { scenarios = 0 }]) => [number, scenarios]));
  expect(numbers.filter((number) => !(number in RACES))).toEqual([]);
});

test("every other test of the table is there", () => {
  const missing = races.flatMap(([number, { tests = {} }]) =>
    Object.entries(tests).flatMap(([path, titles]) => {
      const file = new URL(path, TESTS);
      const text = existsSync(file) ? readFileSync(file, "utf8") : "";
      return titles
        .filter((title) => !text.includes(`"${title}"`))
        .map((title) => `race ${number}: no "${title}" in test/${path}`);
    }),
  );
  expect(missing).toEqual([]);
});
