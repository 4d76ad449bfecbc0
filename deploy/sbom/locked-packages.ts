// The packages of package-lock.json, and which of them a running Drover contains: the workspaces of
// the product with all that they depend on, the embedded Node and PostgreSQL, and what is bundled
// into the dashboard. All other packages build it and test it.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression; "": the package states none. */
  readonly licence: string;
  /** Where it was fetched from; "": the lock does not say. */
  readonly resolved: string;
  readonly integrity: string;
  readonly hasInstallScript: boolean;
  readonly use: "production" | "development";
}

const PRODUCT = "proto server simulator dev-postgres sdk/typescript agents cli web".split(" ");
/** Dependencies of the dashboard that only build it. */
const BUILD_TOOLS = new Set(["vite", "@vitejs/plugin-react"]);

interface Entry {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
  readonly dependencies?: Names;
  readonly optionalDependencies?: Names;
  readonly peerDependencies?: Names;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}
type Names = Readonly<Record<string, string>>;
type Lock = ReadonlyMap<string, Entry>;

function readLock(): Lock {
  const lock: unknown = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"));
  const packages: unknown =
    typeof lock === "object" && lock !== null && Reflect.get(lock, "packages");
  if (typeof packages !== "object" || packages === null)
    throw new Error("package-lock.json has no packages: run npm install");
  return new Map(Object.entries(packages));
}

/** All packages from a registry, in the order of the lock. */
export function lockedPackages(): readonly LockedPackage[] {
  const lock = readLock();
  const inProduct = productOf(lock);
  return [...lock].flatMap(([path, entry]) => {
    const [, name = ""] = /.*node_modules\/(.+)$/.exec(path) ?? [];
    if (name === "" || entry.link) return [];
    return {
      name: entry.name ?? name,
      version: entry.version ?? "",
      licence: entry.license ?? "",
      resolved: entry.resolved ?? "",
      integrity: entry.integrity ?? "",
      hasInstallScript: entry.hasInstallScript ?? false,
      use: inProduct.has(path) ? "production" : "development",
    } as const;
  });
}

/** Paths in the lock. */
function productOf(lock: Lock): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    for (const name of namesOf(lock.get(path), path)) {
      const at = placeOf(lock, path, name);
      if (at !== null) visit(at);
    }
  };
  for (const workspace of PRODUCT) visit(workspace);
  for (const name of Object.keys(lock.get("")?.optionalDependencies ?? {}))
    visit(`node_modules/${name}`);
  return found;
}

function namesOf(entry: Entry | undefined, path: string): readonly string[] {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } =
    entry ?? {};
  const peers = Object.keys(peerDependencies ?? {}).filter(
    (name) => !peerDependenciesMeta?.[name]?.optional,
  );
  const names = [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
  return path === "web" ? names.filter((name) => !BUILD_TOOLS.has(name)) : names;
}

/** Where Node finds the package from there: in the nearest node_modules. */
function placeOf(lock: Lock, from: string, name: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")))) {
    const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    const entry = lock.get(path);
    if (entry) return entry.link && entry.resolved ? entry.resolved : path;
    if (folder === "") return null;
  }
}
