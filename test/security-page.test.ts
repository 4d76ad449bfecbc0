/** SECURITY.md links the protection of each threat to tests, which exist under their titles. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { treeRoot } from "./support/tree.ts";

const page = readFileSync(join(treeRoot, "SECURITY.md"), "utf8");
const CATEGORIES = [
  "Spoofing",
  "Tampering",
  "Repudiation",
  "Information disclosure",
  "Denial of service",
  "Elevation of privilege",
];
const links = [...page.matchAll(/\[([^\]]+)\]\((test\/[^)]+)\)/g)].map(
  ([, title = "", path = ""]) => [title, path] as const,
);

/** A title is a text of its own in the file of the test. */
function hasTitle(text: string, title: string): boolean {
  return text.includes(`"${title.replaceAll('"', '\\"')}"`);
}

describe("the threat model", () => {
  it("has a table for each category of STRIDE, with threats", () => {
    for (const category of CATEGORIES) {
      const [, section = ""] = page.split(`### ${category}\n`);
      const rows = section.split(/^### /m)[0]?.match(/^\| (?!threat|---).+\|$/gm) ?? [];
      expect(rows.length, category).toBeGreaterThan(2);
      for (const row of rows) expect(row).toMatch(/\]\(test\/|Nothing: /);
    }
  });

  test("a title that no test has is found out", () => {
    expect(hasTitle('test("a viewer changes nothing", () => {})', "a viewer changes it")).toBe(
      false,
    );
    expect(hasTitle('test("a viewer changes nothing", () => {})', "a viewer changes")).toBe(false);
  });

  test.each(links)("%s: %s", (title, path) => {
    expect(existsSync(join(treeRoot, path)), path).toBe(true);
    expect(hasTitle(readFileSync(join(treeRoot, path), "utf8"), title), title).toBe(true);
  });
});
