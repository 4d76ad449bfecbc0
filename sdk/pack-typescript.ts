/**
 * `npm run pack:sdk -- [FOLDER]`: the TypeScript SDK and the contract that it speaks, as tarballs
 * that any project installs. In this repository both are run as the TypeScript that they are; Node
 * does that for nothing within `node_modules`, so what is packed is JavaScript with its types.
 */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

interface Source {
  /** Of the package, in this repository. */
  readonly folder: string;
  /** Of what is compiled, within it. */
  readonly sources: string;
  readonly include: readonly string[];
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
}

const MODULE = { types: "./*.d.ts", default: "./*.js" };

const SOURCES: readonly Source[] = [
  {
    folder: "proto",
    sources: "gen/ts",
    include: ["**/*.ts"],
    // By the names by which the SDK imports them here, and by those that they have now.
    exports: { "./*.ts": MODULE, "./*.js": MODULE },
  },
  {
    folder: "sdk/typescript",
    sources: ".",
    include: ["*.ts"],
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
  },
];

/** Returns the paths of the tarballs, in the order in which one needs the other. */
export async function packTypescript(to: string): Promise<readonly string[]> {
  mkdirSync(to, { recursive: true });
  const built = mkdtempSync(join(tmpdir(), "drover-pack-"));
  try {
    return await Promise.all(SOURCES.map((source) => pack(source, join(built, source.folder), to)));
  } finally {
    rmSync(built, { recursive: true });
  }
}

async function pack(source: Source, built: string, to: string): Promise<string> {
  const folder = join(root, source.folder);
  mkdirSync(built, { recursive: true });
  await compile(source, built);
  const described: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (typeof described !== "object" || described === null)
    throw new Error(`${folder}/package.json describes no package`);
  const description = { ...described, exports: source.exports, engines: { node: ">=22" } };
  writeFileSync(join(built, "package.json"), `${JSON.stringify(description, null, 2)}\n`);
  copyFileSync(join(folder, "README.md"), join(built, "README.md"));
  copyFileSync(join(root, "LICENSE"), join(built, "LICENSE"));
  const { stdout } = await run("npm", ["pack", built, "--pack-destination", to, "--silent"]);
  return join(to, stdout.trim());
}

async function compile({ folder, sources, include }: Source, built: string): Promise<void> {
  const from = join(root, folder, sources);
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      outDir: built,
      rootDir: from,
      target: "es2023",
      declaration: true,
      rewriteRelativeImportExtensions: true,
      typeRoots: [join(root, "node_modules/@types")],
    },
    include: include.map((pattern) => join(from, pattern)),
  };
  const project = `${built}.tsconfig.json`;
  writeFileSync(project, JSON.stringify(config));
  await run(join(root, "node_modules/.bin/tsc"), ["-p", project]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tarballs = await packTypescript(resolve(process.argv[2] ?? "."));
  process.stdout.write(`${tarballs.join("\n")}\n`);
}
