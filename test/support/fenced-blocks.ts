// The fenced blocks of the pages: what a reader copies.
import { pagePaths } from "../../site/.vitepress/pages.ts";
import { readTree } from "./tree.ts";

export interface FencedBlock {
  /** By its path in the repository. */
  readonly page: string;
  readonly line: number;
  /** The first word after the fence; "": none. */
  readonly language: string;
  readonly text: string;
}

/** Those of the pages of the site, and of the README. */
export function fencedBlocks(): readonly FencedBlock[] {
  const pages = new Set(["README.md", ...pagePaths]);
  return readTree()
    .filter(({ path }) => pages.has(path))
    .flatMap(({ path, text }) => blocksOf(path, text));
}

export function blocksOf(page: string, text: string): readonly FencedBlock[] {
  return [...text.matchAll(/^( *)```([^\s`]*)[^\n]*\n(.*?)^ *```$/gms)].map((found) => {
    const [, indent = "", language = "", body = ""] = found;
    return {
      page,
      line: text.slice(0, found.index).split("\n").length,
      language,
      text: body.replace(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}
