/**
 * Links between the pages lead somewhere, in the repository and on the site: to a file that exists
 * and to a heading of it. Every page of the site can be reached from its index.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withHowTos } from "../docs/how-to-list.ts";
import { sidebar } from "../site/.vitepress/navigation.ts";
import { address, headingId, pagePaths, targetOf } from "../site/.vitepress/pages.ts";
import { readTree, treeRoot } from "./support/tree.ts";

const INDEX = "docs/README.md";
const pages = readTree().filter(({ path }) => path.endsWith(".md"));
const textOf = new Map(pages.map(({ path, text }) => [path, text]));

/** The text without what is code: a link there is none. */
function prose(text: string): string {
  return text
    .replace(/^ *(```+)[^\n]*\n.*?^ *\1 *$/gms, "")
    .replace(/^ {4}.*$/gm, "")
    .replace(/`[^`\n]+`/g, "code");
}

function linksOf(text: string): readonly string[] {
  return [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = ""]) => href);
}

/** Anchors of a page: its headings, and `-1` for the second of one name. */
function anchorsOf(path: string): ReadonlySet<string> {
  const found = new Set<string>();
  const text = (textOf.get(path) ?? "").replace(/^ *(```+)[^\n]*\n.*?^ *\1 *$/gms, "");
  for (const [, heading = ""] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const id = headingId(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, ""));
    let unique = id;
    for (let n = 1; found.has(unique); n++) unique = `${id}-${n}`;
    found.add(unique);
  }
  return found;
}

/** What is wrong with a link of the page; null: it leads somewhere. */
function problemOf(href: string, page: string): string | null {
  const target = targetOf(href, page);
  switch (target.kind) {
    case "missing":
      return `${href}: there is no ${target.path}`;
    case "elsewhere":
      return /^(?:https?:\/\/[^/?#]+\.[^/?#]+(?:[/?#].*)?|mailto:.+@.+)$/.test(href)
        ? null
        : `${href}: an address of another host is written as https://HOST/PATH`;
    default: {
      const [, anchor = ""] = href.split("#");
      if (anchor === "" || anchorsOf(target.path).has(anchor)) return null;
      return `${href}: ${target.path} has no heading of this name`;
    }
  }
}

test("the pages are those of every folder", () => {
  expect([...textOf.keys()]).toContain("agents-examples/stubs/go/README.md");
  expect(pages.length).toBeGreaterThan(110);
});

test.each([
  ["a file that is missing", "NOWHERE.md", /there is no docs\/NOWHERE\.md/],
  ["a heading that is missing", "STATES.md#no-such", /docs\/STATES\.md has no heading/],
  ["a heading of the page itself", "#no-such", /docs\/README\.md has no heading/],
  ["an address that is none", "https://nowhere", /https:\/\/HOST\/PATH/],
  ["a scheme that no reader has", "file:///etc", /https:\/\/HOST\/PATH/],
])("a link is refused to %s", (_what, href, says) => {
  expect(problemOf(href, INDEX)).toMatch(says);
});

test.for(pages)("$path has links that lead somewhere", ({ path, text }) => {
  expect(linksOf(text).flatMap((href) => problemOf(href, path) ?? [])).toEqual([]);
});

describe("the index of docs", () => {
  const index = readFileSync(join(treeRoot, INDEX), "utf8");

  test("has the how-tos that `node docs/generate.ts` lists", () => {
    expect(index).toBe(withHowTos(index));
  });

  test("names every page but those of the two folders of the reference", () => {
    const named = new Set(linksOf(index).map((href) => targetOf(href, INDEX)));
    const paths = new Set([...named].flatMap((of) => (of.kind === "page" ? [of.path] : [])));
    const left = pagePaths.filter((path) => path !== INDEX && !paths.has(path));
    const own = left.filter((path) => !/^docs\/reference\/\w+\//.test(path));
    expect(own, `add a line to ${INDEX} for each`).toEqual([]);
  });

  test("leads to every page of the site", () => {
    const reached = new Set([INDEX]);
    for (const path of reached)
      for (const href of linksOf(textOf.get(path) ?? "")) {
        const target = targetOf(href, path);
        if (target.kind === "page") reached.add(target.path);
      }
    expect(pagePaths.filter((path) => !reached.has(path))).toEqual([]);
  });

  test("is the navigation of the site, in groups", () => {
    const groups = sidebar();
    const titles = ["Start", "Concepts", "How-to", "Examples", "Reference", "Operate", "Security"];
    expect(groups.map(({ text }) => text)).toEqual([...titles, "Design"]);
    const reference = groups.find(({ text }) => text === "Reference")?.items ?? [];
    const errors = reference.find(({ link }) => link === "/reference/errors/")?.items ?? [];
    expect(errors.map(({ link }) => link)).toContain("/reference/errors/key_reused");
  });
});

test("no two pages have one address", () => {
  expect(new Set(pagePaths.map(address)).size).toBe(pagePaths.length);
});
