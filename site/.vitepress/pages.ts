/**
 * Which files of the repository are pages of the site, at which address, and where their links
 * lead. Pages keep the links that work in the repository: relative paths and GitHub's anchors.
 */
import { existsSync, globSync } from "node:fs";
import { posix } from "node:path";
import type { MarkdownRenderer } from "vitepress";

type Token = ReturnType<MarkdownRenderer["parse"]>[number];
type MakeToken = (type: string, tag: string, nesting: 0) => Token;

export const repositoryRoot = posix.join(import.meta.dirname, "../..");

/** Besides docs/: each README of these folders is a page. */
const FOLDERS = ["sdk", "deploy", "proto", "agents", "agents-examples"];

/** By their paths in the repository, sorted. */
export const pagePaths: readonly string[] = globSync(
  ["docs/**/*.md", `{${FOLDERS.join()}}/**/README.md`],
  { cwd: repositoryRoot, exclude: ["**/node_modules/**", "**/vendor/**", "**/.venv/**"] },
).sort();

/** For VitePress, which asks for what is left out. */
export const excludedPaths: readonly string[] = [
  "*.md",
  `!(docs|${FOLDERS.join("|")})/**`,
  `{${FOLDERS.join()}}/**/!(README).md`,
  "**/{vendor,.venv}/**",
];

/** Its file within the site: `docs/CLI.md` is `cli.md`, `sdk/go/README.md` is `sdk/go.md`. */
export function address(path: string): string {
  if (path.startsWith("docs/"))
    return path
      .slice("docs/".length)
      .replace(/README\.md$/, "index.md")
      .toLowerCase();
  return path.replace(/\/README\.md$/, ".md").toLowerCase();
}

/** The anchor of a heading, as GitHub makes it. */
export function headingId(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** Where a link of a page leads. */
export type Target =
  | { readonly kind: "page"; readonly path: string; readonly anchor: string }
  /** A file or folder of the repository that is no page of the site. */
  | { readonly kind: "source"; readonly path: string }
  | { readonly kind: "missing"; readonly path: string }
  | { readonly kind: "elsewhere" };

const ELSEWHERE: Target = { kind: "elsewhere" };

export function targetOf(href: string, page: string): Target {
  if (/^[a-z][a-z+.-]*:/i.test(href)) return ELSEWHERE;
  const [file = "", anchor = ""] = decodeURI(href).split("#");
  const path = file === "" ? page : posix.join(posix.dirname(page), file).replace(/\/$/, "");
  const found = [path, `${path}/README.md`].find((one) => pagePaths.includes(one));
  if (found !== undefined) return { kind: "page", path: found, anchor };
  const kind = existsSync(posix.join(repositoryRoot, path)) ? "source" : "missing";
  return { kind, path };
}

/**
 * Links between pages lead to their addresses. A link to a file that is no page becomes the path
 * of that file, since the site does not have it.
 */
export function repositoryLinks(md: MarkdownRenderer): void {
  md.core.ruler.push("repository-links", ({ tokens, env, Token }) => {
    const page = pageAt(String(env.relativePath));
    for (const token of tokens)
      if (token.children)
        token.children = withAddresses(token.children, page, (...of) => new Token(...of));
  });
}

function withAddresses(given: readonly Token[], page: string, make: MakeToken): Token[] {
  /** Of the link that is open: the path to add to its text; null: it is a link. */
  let path: string | null = null;
  return given.flatMap((token, at) => {
    if (token.type === "link_open") {
      const href = token.attrGet("href") ?? "";
      // Each heading has a link to itself, which VitePress' search reads.
      const target = href.startsWith("#") ? ELSEWHERE : targetOf(href, page);
      if (target.kind === "page") token.attrSet("href", hrefOf(target));
      path = target.kind === "source" ? target.path : null;
      return path === null ? [token] : [];
    }
    if (token.type !== "link_close" || path === null) return [token];
    const text = given[at - 1]?.content ?? "";
    const code = make("code_inline", "code", 0);
    code.content = path;
    path = null;
    if (code.content.endsWith(text.replace(/\/$/, ""))) return [];
    const before = make("text", "", 0);
    before.content = " (";
    const after = make("text", "", 0);
    after.content = ")";
    return [before, code, after];
  });
}

/** The page in the repository, by its file there or in the site. */
function pageAt(file: string): string {
  return pagePaths.find((path) => path === file || address(path) === file) ?? file;
}

function hrefOf({ path, anchor }: Extract<Target, { kind: "page" }>): string {
  return `/${address(path)}${anchor === "" ? "" : `#${anchor}`}`;
}
