// A mutant whose source text is gone would be caught for the wrong reason, or never be made.
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { MUTANTS } from "./catalogue.ts";
import { KNOWN_SEEDS } from "./known-seeds.ts";
import { serverFile } from "./mutate.ts";

describe("each mutant", () => {
  test.each(MUTANTS.map(({ name }) => name))("%s: matches once in its file", (name) => {
    const { file = "", find = "" } = MUTANTS.find((one) => one.name === name) ?? {};
    expect(readFileSync(serverFile(file), "utf8").split(find)).toHaveLength(2);
  });

  test("has a name of its own", () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  test("is the one that a known seed is of, unless a test catches it", () => {
    const names = MUTANTS.flatMap(({ name, test: file }) => (file === undefined ? name : []));
    expect(names).toEqual(expect.arrayContaining(Object.keys(KNOWN_SEEDS)));
  });

  test.each(MUTANTS.flatMap(({ test: file }) => file ?? []))(
    "has a test that is there: %s",
    (file) => expect(existsSync(new URL(`../../../${file}`, import.meta.url))).toBe(true),
  );
});
