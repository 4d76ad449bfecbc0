// All packages have the same version: a server and an SDK of one version were tested together.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Each place that names the version of Drover, and what it says. */
export function versionsFound(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const { version, workspaces } = manifest("package.json");
  found.set("package.json", version);
  for (const folder of workspaces ?? []) {
    const file = join(folder, "package.json");
    const described = manifest(file);
    if (!described.name.startsWith("@drover/")) continue;
    found.set(file, described.version);
    for (const [name, wanted] of Object.entries(described.dependencies ?? {}))
      if (name.startsWith("@drover/")) found.set(`${file}, ${name}`, wanted);
  }
  const python = "sdk/python/pyproject.toml";
  found.set(python, /^version = "(.+)"$/m.exec(textOf(python))?.[1] ?? "none");
  const java = "sdk/java/pom.xml";
  found.set(java, /^ {2}<version>(.+)<\/version>$/m.exec(textOf(java))?.[1] ?? "none");
  return found;
}

/** The version of all packages; an error names each place that has another one. */
export function theVersion(found = versionsFound()): string {
  const [version = "none"] = found.values();
  const others = [...found].filter(([, one]) => one !== version);
  if (others.length === 0) return version;
  const lines = others.map(([place, one]) => `  ${place}: ${one}`);
  throw new Error(
    `package.json has version ${version}, and these have another:\n${lines.join("\n")}`,
  );
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

function manifest(file: string): Manifest {
  const parsed: Manifest = JSON.parse(textOf(file));
  return parsed;
}

function textOf(file: string): string {
  return readFileSync(join(root, file), "utf8");
}
