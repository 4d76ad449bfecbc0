/**
 * The sidebar: the groups and links of docs/README.md. A link to the README of a folder of the
 * reference opens the other pages of that folder.
 */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import type { DefaultTheme } from "vitepress";
import { address, pagePaths, repositoryRoot, targetOf } from "./pages.ts";

const INDEX = "docs/README.md";

type Item = DefaultTheme.SidebarItem;

export function sidebar(): Item[] {
  return textOf(INDEX)
    .split(/^## /m)
    .slice(1)
    .map((group) => {
      const [text = "", ...lines] = group.split("\n");
      return { text, collapsed: false, items: lines.flatMap(itemOf) };
    });
}

function itemOf(line: string): Item[] {
  const [, text = "", href = ""] = /^- \[([^\]]+)\]\(([^)]+)\)/.exec(line) ?? [];
  if (href === "") return [];
  const target = targetOf(href, INDEX);
  if (target.kind !== "page") throw new Error(`${INDEX} links to ${href}, which is no page`);
  const { path } = target;
  const folder = posix.dirname(path);
  const isIndex = path.startsWith("docs/reference/") && path.endsWith("/README.md");
  const below = isIndex ? pagePaths.filter((one) => posix.dirname(one) === folder) : [];
  const items = below.filter((one) => one !== path).map((one) => itemFor(one));
  return [{ ...itemFor(path, text), ...(items.length > 0 ? { collapsed: true, items } : {}) }];
}

function itemFor(path: string, text = titleOf(path)): Item {
  return { text, link: `/${address(path).replace(/(?:index)?\.md$/, "")}` };
}

function titleOf(path: string): string {
  return /^# (.+)$/m.exec(textOf(path))?.[1]?.replaceAll("`", "") ?? path;
}

function textOf(path: string): string {
  return readFileSync(posix.join(repositoryRoot, path), "utf8");
}
