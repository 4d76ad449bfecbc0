/** An agent without an SDK stays short enough to be read as what the contract asks of one. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { columnsMax } from "../support/tree-rules.ts";
import { root } from "./toolbox.ts";

const folder = join(root, "agents-examples/stubs");
const linesMax = 130;

test.each(readdirSync(folder))("the agent with generated code alone in %s is short", (language) => {
  const files = readdirSync(join(folder, language));
  const agents = files.filter((path) => /^agent\.[a-z]+$/i.test(path));
  expect(agents).toHaveLength(1);
  const text = readFileSync(join(folder, language, agents[0] ?? ""), "utf8");
  const lines = text.trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(linesMax);
  expect(lines.filter((line) => [...line].length > columnsMax)).toEqual([]);
});
