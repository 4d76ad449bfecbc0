// The npm packages, as tarballs that any project installs. In this repository they are run as the
// TypeScript that they are; Node does not do that within `node_modules`, so what is packed is
// JavaScript with its types.
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

type Exports = Readonly<
  Record<string, string | { readonly types: string; readonly default: string }>
>;

interface Source {
  /** Where its package.json is, in this repository. */
  readonly folder: string;
  /** Paths in the package begin there, in this repository. */
  readonly base: string;
  /** What is compiled. */
  readonly compiled: readonly string[];
  /** What is copied, by patterns in `base`. */
  readonly copied: readonly string[];
  readonly exports: Exports;
}

/** By the names by which the sources import each other, and by those that the files have then. */
function modulesIn(folder: string): Exports {
  const module = { types: `${folder}/*.d.ts`, default: `${folder}/*.js` };
  return { "./*.ts": module, "./*.js": module, "./package.json": "./package.json" };
}

const SOURCES: readonly Source[] = [
  {
    folder: "proto",
    base: "proto",
    compiled: ["gen/ts/**/*.ts"],
    // For the compilers of other languages: `protoc -I proto -I proto/vendor`.
    copied: ["drover/**/*.proto", "vendor/**/*"],
    exports: modulesIn("./gen/ts"),
  },
  {
    folder: "sdk/typescript",
    base: "sdk/typescript",
    compiled: ["*.ts"],
    copied: [],
    exports: {
      ".": { types: "./index.d.ts", default: "./index.js" },
      "./testing": { types: "./testing.d.ts", default: "./testing.js" },
      "./package.json": "./package.json",
    },
  },
  {
    folder: "server",
    // It finds its migrations and the dashboard beside its own folder.
    base: ".",
    compiled: ["server/**/*.ts"],
    copied: ["server/**/*.sql", "migrations/*.sql", "web/dist/**/*"],
    exports: modulesIn("./server"),
  },
  {
    folder: "simulator",
    base: "simulator",
    compiled: ["**/*.ts"],
    copied: [],
    exports: modulesIn("."),
  },
  {
    folder: "dev-postgres",
    base: "dev-postgres",
    compiled: ["**/*.ts"],
    copied: [],
    exports: modulesIn("."),
  },
  {
    folder: "agents",
    base: "agents",
    compiled: ["**/*.ts"],
    copied: [],
    exports: modulesIn("."),
  },
  {
    folder: "cli",
    base: "cli",
    compiled: ["**/*.ts", "bin/*.js"],
    copied: ["projects/**/*"],
    exports: { "./package.json": "./package.json" },
  },
];

/** Returns the paths of the tarballs, in the order in which one needs the other. */
export async function packNpm(
  to: string,
  folders: readonly string[] = SOURCES.map(({ folder }) => folder),
): Promise<readonly string[]> {
  mkdirSync(to, { recursive: true });
  const built = mkdtempSync(join(tmpdir(), "drover-pack-"));
  try {
    const wanted = SOURCES.filter(({ folder }) => folders.includes(folder));
    return await Promise.all(wanted.map((source) => pack(source, join(built, source.folder), to)));
  } finally {
    rmSync(built, { recursive: true });
  }
}

async function pack(source: Source, built: string, to: string): Promise<string> {
  const folder = join(root, source.folder);
  if (source.copied.includes("web/dist/**/*") && !existsSync(join(root, "web/dist/index.html")))
    throw new Error("the dashboard is not built: npm run dashboard");
  mkdirSync(built, { recursive: true });
  await compile(source, built);
  for (const path of globSync([...source.copied], { cwd: join(root, source.base) }))
    copy(join(root, source.base, path), join(built, path));
  const described: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (typeof described !== "object" || described === null)
    throw new Error(`${folder}/package.json describes no package`);
  const description = {
    ...described,
    exports: source.exports,
    // A registry proves the origin of a package by it.
    repository: { ...repository(), directory: source.folder },
    engines: { node: ">=22.18" },
    publishConfig: { access: "public", provenance: true },
  };
  writeFileSync(join(built, "package.json"), `${JSON.stringify(description, null, 2)}\n`);
  copy(join(folder, "README.md"), join(built, "README.md"));
  copy(join(root, "LICENSE"), join(built, "LICENSE"));
  const { stdout } = await run("npm", ["pack", built, "--pack-destination", to, "--silent"]);
  return join(to, stdout.trim());
}

function repository(): object {
  const described: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (typeof described === "object" && described !== null && "repository" in described)
    if (typeof described.repository === "object" && described.repository !== null)
      return described.repository;
  throw new Error("package.json names no repository");
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true });
}

async function compile({ base, compiled }: Source, built: string): Promise<void> {
  const from = join(root, base);
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      allowJs: true,
      outDir: built,
      rootDir: from,
      target: "es2024",
      declaration: true,
      rewriteRelativeImportExtensions: true,
      typeRoots: [join(root, "node_modules/@types")],
    },
    include: compiled.map((pattern) => join(from, pattern)),
    exclude: [join(from, "**/node_modules"), join(from, "projects")],
  };
  const project = `${built}.tsconfig.json`;
  writeFileSync(project, JSON.stringify(config));
  await run(join(root, "node_modules/.bin/tsc"), ["-p", project]);
}
