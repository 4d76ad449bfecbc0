// Which entries the command palette shows for a typed text, and in which order.
import { expect, test } from "vitest";
import { type Entry, matches, type Source } from "../../web/src/shell/palette-entries.ts";

const source = (title: string, names: readonly string[], among = ""): Source => ({
  title,
  among,
  entries: names.map((name) => ({ name, href: `/${title}/${name}` })),
});
const shown = (sources: readonly Source[], typed: string) =>
  matches(sources, typed).map(({ title, entries }) => [title, ...entries.map(({ name }) => name)]);

test("the whole name comes first, then its start, then a word, then any part", () => {
  const names = ["reorder", "new-order", "orders", "order", "mail"];
  expect(shown([source("Workflows", names)], "Order")).toEqual([
    ["Workflows", "order", "orders", "new-order", "reorder"],
  ]);
});

test("the group with the best match comes first", () => {
  const sources = [source("Pages", ["Runs"]), source("Queues", ["fast-runs"])];
  const more = source("Workflows", ["run"]);
  expect(shown([...sources, more], "run")).toEqual([
    ["Workflows", "run"],
    ["Pages", "Runs"],
    ["Queues", "fast-runs"],
  ]);
});

test("a title says what is not shown and what was not searched", () => {
  const many = Array.from({ length: 31 }, (_, n) => `order-${n}`);
  expect(matches([source("Workflows", many)], "order")[0]?.title).toBe("Workflows, 10 of 31");
  const runs = source("Runs", ["order-1"], "the newest 200");
  expect(matches([runs], "order")[0]?.title).toBe("Runs, among the newest 200");
});

test("a run with a key is found by its id, too", () => {
  const run: Entry = { name: "order-1", id: "01a2-77", note: "order", href: "/runs/01a2-77" };
  const other: Entry = { name: "order-2", id: "01a2-78", note: "order", href: "/runs/01a2-78" };
  const runs = { title: "Runs", entries: [run, other], among: "" };
  expect(matches([runs], "01A2-78")[0]?.entries).toEqual([other]);
  expect(matches([runs], "01a2")[0]?.entries).toEqual([run, other]);
});
