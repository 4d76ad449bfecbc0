// The saved views of the runs list.
import { expect, test } from "vitest";
import { viewsOf, viewsWith, viewsWithout } from "../../web/src/pages/runs/kept-views.ts";

const failed = { name: "Failed", search: "state=FAILED" };

test("views are sorted by name, and one of the same name is replaced", () => {
  const views = viewsWith([failed], { name: "Asks", search: "state=ESCALATED" });
  expect(views.map(({ name }) => name)).toEqual(["Asks", "Failed"]);
  const replaced = viewsWith(views, { name: "Failed", search: "state=FAILED&since=1h" });
  expect(replaced.map(({ search }) => search)).toEqual([
    "state=ESCALATED",
    "state=FAILED&since=1h",
  ]);
  expect(viewsWithout(views, "Asks")).toEqual([failed]);
});

test("what a browser has kept is read, unless it is no view", () => {
  expect(viewsOf(JSON.stringify([failed]))).toEqual([failed]);
  expect(viewsOf(JSON.stringify([failed, { name: 17 }, null, "x"]))).toEqual([failed]);
  for (const text of ["", "{", "null", "{}"]) expect(viewsOf(text)).toEqual([]);
});
