/**
 * The tree as the tidy test reads it: its files, and the code of a file without what only looks
 * like code. Files that .gitignore names are left out by its own lines, so that no git is asked: a
 * clone may belong to another account than the one that runs the tests.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A file by its path from the root of the tree, with slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export const treeRoot = join(import.meta.dirname, "../..");

/** Every text file of the tree, in the order of their paths. */
export function readTree(): readonly SourceFile[] {
  const isIgnored = ignoredBy(readFileSync(join(treeRoot, ".gitignore"), "utf8"));
  const files: SourceFile[] = [];
  const walk = (folder: string): void => {
    for (const entry of readdirSync(join(treeRoot, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.name === ".git" || isIgnored(entry.name)) continue;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile())
        files.push({ path, text: readFileSync(join(treeRoot, path), "utf8") });
    }
  };
  walk("");
  return files
    .filter(({ text }) => !text.includes("\u0000"))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The lines of our .gitignore are names of folders (`x/`) and endings (`*.x`). */
function ignoredBy(gitignore: string): (name: string) => boolean {
  const lines = gitignore.split("\n").filter((line) => line !== "");
  const names = new Set(lines.map((line) => line.replace(/\/$/, "")));
  const endings = lines.filter((line) => line.startsWith("*")).map((line) => line.slice(1));
  return (name) => names.has(name) || endings.some((ending) => name.endsWith(ending));
}

/** TypeScript that people write. */
export function isHandwritten({ path }: SourceFile): boolean {
  return /\.tsx?$/.test(path) && !path.includes("/gen/");
}

export interface Scan {
  /** The text with blanks in place of comments. */
  readonly withoutComments: string;
  /** The text with blanks in place of comments and of the content of strings and expressions. */
  readonly code: string;
}

type Part = "code" | "comment" | "quoted";

const scans = new Map<string, Scan>();

/** Every blank keeps its position, so lines and columns are those of the text. */
export function scan(text: string): Scan {
  const known = scans.get(text);
  if (known) return known;
  const parts = partsOf(text);
  const only = (included: readonly Part[]): string =>
    [...text]
      .map((char, at) => (char === "\n" || included.includes(parts[at] ?? "code") ? char : " "))
      .join("");
  const made = { withoutComments: only(["code", "quoted"]), code: only(["code"]) };
  scans.set(text, made);
  return made;
}

/** What each character belongs to. Delimiters of strings count as code. */
function partsOf(text: string): readonly Part[] {
  const chars = [...text];
  const parts: Part[] = [];
  /** Braces open within each `${`, innermost last. */
  const holes: number[] = [];
  let at = 0;
  const take = (count: number, part: Part): void => {
    for (let taken = 0; taken < count && at < chars.length; taken++, at++) parts.push(part);
  };
  const quotedUntil = (isEnd: () => boolean): void => {
    while (at < chars.length && !isEnd()) take(chars[at] === "\\" ? 2 : 1, "quoted");
  };
  const template = (): void => {
    quotedUntil(() => chars[at] === "`" || (chars[at] === "$" && chars[at + 1] === "{"));
    if (chars[at] === "$") holes.push(0);
    take(chars[at] === "$" ? 2 : 1, "code");
  };
  const comment = (two: string): void => {
    const ends = (): boolean =>
      two === "//" ? chars[at] === "\n" : chars[at] === "*" && chars[at + 1] === "/";
    take(2, "comment");
    while (at < chars.length && !ends()) take(1, "comment");
    if (two === "/*") take(2, "comment");
  };
  const expression = (): void => {
    let inClass = false;
    take(1, "code");
    quotedUntil(() => {
      if (chars[at] === "[") inClass = true;
      if (chars[at] === "]") inClass = false;
      return chars[at] === "/" && !inClass;
    });
    take(1, "code");
  };
  while (at < chars.length) {
    const char = chars[at] ?? "";
    const two = char + (chars[at + 1] ?? "");
    const depth = holes.at(-1);
    if (two === "//" || two === "/*") comment(two);
    else if (char === '"' || char === "'") {
      take(1, "code");
      quotedUntil(() => chars[at] === char);
      take(1, "code");
    } else if (char === "`") {
      take(1, "code");
      template();
    } else if (char === "/" && beginsExpression(chars, at)) expression();
    else if (depth === 0 && char === "}") {
      holes.pop();
      take(1, "code");
      template();
    } else {
      if (depth !== undefined && char === "{") holes[holes.length - 1] = depth + 1;
      if (depth !== undefined && char === "}") holes[holes.length - 1] = depth - 1;
      take(1, "code");
    }
  }
  return parts;
}

/**
 * Whether a slash begins a regular expression: it does not divide what is before it, and does
 * not end an element of a page.
 */
function beginsExpression(chars: readonly string[], at: number): boolean {
  if (chars[at + 1] === ">") return false;
  const before = chars
    .slice(Math.max(0, at - 20), at)
    .join("")
    .trimEnd();
  return before === "" || /[(,=:[!&|?{};+>]$|\b(return|case|typeof|of|in)$/.test(before);
}

export interface Import {
  readonly line: number;
  /** As written: `./x.ts`, `node:fs`, `@drover/proto/x_pb.ts`. */
  readonly specifier: string;
  /** From the root of the tree for files of ours, the package's name for others. */
  readonly target: string;
  /** `import type`, or nothing but types: it is gone when the program runs. */
  readonly typeOnly: boolean;
}

const importForms =
  /\b(?:import|export)\s+(type\s)?([\w\s{},*$]*?)\s*from\s+"([^"]+)"|\bimport\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/g;

export function importsOf(file: SourceFile): readonly Import[] {
  const text = scan(file.text).withoutComments;
  return [...text.matchAll(importForms)].map((found) => {
    const specifier = found[3] ?? found[4] ?? found[5] ?? "";
    return {
      line: lineAt(text, found.index),
      specifier,
      target: targetOf(file.path, specifier),
      typeOnly: found[1] !== undefined,
    };
  });
}

/** Packages of this tree, and where they are. */
const workspaces: Readonly<Record<string, string>> = {
  "@drover/proto": "proto/gen/ts",
  "@drover/server": "server",
  "@drover/sdk": "sdk/typescript",
  "@drover/agents": "agents",
  "@drover/cli": "cli",
  "@drover/simulator": "simulator",
  "@drover/dev-postgres": "dev-postgres",
};

function targetOf(from: string, specifier: string): string {
  if (specifier.startsWith(".")) return join(from, "..", specifier);
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  const folder = workspaces[name];
  if (folder === undefined) return name;
  if (specifier === name) return `${folder}/index.ts`;
  const path = folder + specifier.slice(name.length);
  // A part of a package by its name, such as @drover/sdk/testing.
  return path.endsWith(".ts") ? path : `${path}.ts`;
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
