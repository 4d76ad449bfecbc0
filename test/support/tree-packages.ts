/**
 * What each package.json of the tree declares, beside what its folder imports: each dependency is
 * used, each import of another package is declared. And each file is asked for by some other one.
 */
import { importsOf, isHandwritten, lineAt, type SourceFile, scan } from "./tree.ts";
import type { Finding } from "./tree-layers.ts";

interface Manifest {
  readonly path: string;
  /** "" for the root. */
  readonly folder: string;
  readonly name: string;
  readonly dependencies: readonly string[];
  readonly scripts: string;
}

/** Tools of the root that are called by a command of another name. */
const commands: Readonly<Record<string, string>> = {
  "@biomejs/biome": "biome",
  "@bufbuild/buf": "buf",
  "@bufbuild/protoc-gen-es": "protoc-gen-es",
  "@changesets/cli": "changeset",
  pyright: "pyright",
  typescript: "tsc",
};

/** Dependencies that are declared and not used, and packages that are used and not declared. */
export function brokenDependencies(tree: readonly SourceFile[]): readonly Finding[] {
  const manifests = tree.filter(({ path }) => /(?:^|\/)package\.json$/.test(path)).map(manifestOf);
  return manifests.flatMap((manifest) =>
    manifest.folder === ""
      ? unusedTools(manifest, tree)
      : [...unused(manifest, tree), ...undeclared(manifest, tree)],
  );
}

function manifestOf({ path, text }: SourceFile): Manifest {
  const parsed: unknown = JSON.parse(text);
  const keysOf = (field: string) => Object.keys(recordOf(recordOf(parsed)[field]));
  return {
    path,
    folder: path.replace(/\/?package\.json$/, ""),
    name: String(recordOf(parsed).name),
    dependencies: ["dependencies", "devDependencies", "peerDependencies"].flatMap(keysOf),
    scripts: JSON.stringify(recordOf(parsed).scripts ?? {}),
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function packagesOf(files: readonly SourceFile[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const file of files)
    for (const { specifier, line } of importsOf(file)) {
      if (specifier.startsWith(".") || specifier.startsWith("node:")) continue;
      const parts = specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1);
      found.set(parts.join("/"), `${file.path}:${line}`);
    }
  return found;
}

function programsIn(folder: string, tree: readonly SourceFile[]): readonly SourceFile[] {
  return tree.filter(({ path }) => path.startsWith(`${folder}/`) && /\.[jt]sx?$/.test(path));
}

function unused(manifest: Manifest, tree: readonly SourceFile[]): readonly Finding[] {
  const used = packagesOf(programsIn(manifest.folder, tree));
  return manifest.dependencies
    .filter((name) => !used.has(name.replace(/^@types\//, "")))
    .map((name) => `${manifest.path}:1 declares ${name}, which nothing there imports: remove it`);
}

function undeclared(manifest: Manifest, tree: readonly SourceFile[]): readonly Finding[] {
  const used = packagesOf(programsIn(manifest.folder, tree));
  return [...used]
    .filter(([name]) => name !== manifest.name && !manifest.dependencies.includes(name))
    .map(([name, where]) => `${where} imports ${name}: declare it in ${manifest.path}`);
}

function unusedTools({ path, dependencies, scripts }: Manifest, tree: readonly SourceFile[]) {
  const ofRoot = tree.filter((file) => /^(?:(?:test|release|docs)\/|[^/]+$)/.test(file.path));
  const used = packagesOf(ofRoot.filter(({ path: of }) => of.endsWith(".ts")));
  const settings = tree
    .filter(({ path: of }) => of === "buf.gen.yaml" || of === "tsconfig.json")
    .map(({ text }) => text);
  const called = [scripts, ...settings].join("\n");
  return dependencies
    .filter((name) => {
      const plain = name.replace(/^@types\//, "");
      return !used.has(plain) && !called.includes(commands[name] ?? `"${plain}"`);
    })
    .map((name) => `${path}:1 declares ${name}, which no test, script or setting uses: remove it`);
}

/** Programs that people, or a program by a part of the path, start. */
const starts = [
  /\.test\.ts$/,
  /^(?:vitest|web\/vite)\.config\.ts$/,
  /^site\/\.vitepress\/(?:config|theme\/index)\.ts$/,
  /^agents-examples\/.+\/agents\/.+-agent\.ts$/,
];

/** Files that no other file names. */
export function deadFiles(tree: readonly SourceFile[]): readonly Finding[] {
  const programs = tree.filter(
    ({ path }) => /\.(?:[jt]sx?|html)$/.test(path) && !path.includes("/gen/"),
  );
  const quoted = programs.map(({ path, text }) => ({ path, text: scan(text).withoutComments }));
  const scripts = tree.filter(({ path }) => /(?:package|vitest\.config)\.(?:json|ts)$/.test(path));
  return programs.filter(isHandwritten).flatMap(({ path }) => {
    if (starts.some((start) => start.test(path))) return [];
    const name = path.split("/").at(-1) ?? path;
    const isNamed = [...quoted, ...scripts].some(
      (other) => other.path !== path && other.text.includes(name),
    );
    return isNamed ? [] : [`${path}:1 is named by no other file: remove it, or use it`];
  });
}

const EXPORTED =
  /^export (?:async )?(?:abstract )?(?:function|const|interface|type|class|let) (\w+)/gm;

/** What a file of server/ exports and no other file names. */
export function deadExports(tree: readonly SourceFile[]): readonly Finding[] {
  const namedIn = new Map<string, Set<string>>();
  for (const file of tree.filter(isHandwritten))
    for (const [name] of file.text.matchAll(/\b[A-Za-z_]\w*\b/g)) {
      const files = namedIn.get(name) ?? new Set();
      namedIn.set(name, files.add(file.path));
    }
  return tree
    .filter((file) => file.path.startsWith("server/") && isHandwritten(file))
    .flatMap(({ path, text }) =>
      [...text.matchAll(EXPORTED)].flatMap(({ 1: name = "", index }) => {
        const others = [...(namedIn.get(name) ?? [])].filter((other) => other !== path);
        const line = lineAt(text, index);
        return others.length > 0 ? [] : `${path}:${line} exports ${name}, which nothing imports`;
      }),
    );
}
