/** The table in the docs is that of the scenarios and agents that there are. */
import { expect, test } from "vitest";
import { isRequired } from "../support/required-tools.ts";
import { agents } from "./agents.ts";
import { conformancePage, marksOf, readPage } from "./page.ts";
import { scenarios } from "./scenarios/scenarios.ts";

test("docs/CONFORMANCE.md names every agent and every scenario, as they are", () => {
  expect(conformancePage(marksOf([]))).toBe(readPage());
});

test("no two scenarios and no two agents have the same name", () => {
  for (const named of [scenarios, agents])
    expect(new Set(named.map(({ name }) => name)).size).toBe(named.length);
});

test("a missing tool is a failure where DROVER_REQUIRE asks for it", () => {
  expect(isRequired("go", {})).toBe(false);
  expect(isRequired("go", { DROVER_REQUIRE: "cargo python3" })).toBe(false);
  expect(isRequired("go", { DROVER_REQUIRE: "python3,go" })).toBe(true);
  expect(isRequired("go", { DROVER_REQUIRE: "all" })).toBe(true);
});
