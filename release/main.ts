// `npm run release -- [--dry-run] [--to FOLDER] [--only npm|python|go|java]`
//
// Makes the files of a release. Without --dry-run it publishes them, too: npm packages with
// provenance, the Python package with twine, the Java package with Maven, the Go module by a tag.
// Then the commit must be clean and have the tag of the version, and it runs where the registries
// know this repository.
import { execFile } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { requireContractOfWindow } from "./contract-window.ts";
import { packGo } from "./go-module.ts";
import { packJava, publishJava } from "./java-package.ts";
import { packNpm } from "./npm-packages.ts";
import { packPython } from "./python-package.ts";
import { theVersion } from "./versions.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);
const KINDS = ["npm", "python", "go", "java"] as const;
type Kind = (typeof KINDS)[number];

const { values } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    to: { type: "string", default: join(root, ".drover/release") },
    only: { type: "string", multiple: true },
    python: { type: "string", default: "python3" },
  },
});

function kinds(): readonly Kind[] {
  return (values.only ?? KINDS).map((name) => {
    const kind = KINDS.find((one) => one === name);
    if (kind) return kind;
    throw new Error(`--only is "${name}": use one of ${KINDS.join(", ")}`);
  });
}

async function pack(kind: Kind, to: string, version: string): Promise<readonly string[]> {
  if (kind === "npm") return packNpm(to);
  if (kind === "python") return packPython(to, values.python);
  if (kind === "java") return packJava(to, version);
  return [await packGo(to, version)];
}

async function requireTagged(tag: string): Promise<void> {
  const git = async (...args: string[]) => (await run("git", args, { cwd: root })).stdout.trim();
  const changed = await git("status", "--porcelain");
  if (changed !== "") throw new Error(`files are changed: commit them first\n${changed}`);
  const tags = (await git("tag", "--points-at", "HEAD")).split("\n");
  if (!tags.includes(tag)) throw new Error(`the commit has no tag ${tag}: git tag ${tag}`);
}

/** What is published already is left, so that a release which stopped half-way is continued. */
async function publish(kind: Kind, files: readonly string[], version: string): Promise<void> {
  if (kind === "npm")
    for (const file of files) if (!(await isOnNpm(file))) await run("npm", ["publish", file]);
  if (kind === "python")
    await run(values.python, ["-m", "twine", "upload", "--skip-existing", ...files]);
  if (kind === "java") await publishJava();
  if (kind === "go") {
    const tag = `sdk/go/v${version}`;
    await run("git", ["tag", tag], { cwd: root });
    await run("git", ["push", "origin", tag], { cwd: root });
  }
}

async function isOnNpm(file: string): Promise<boolean> {
  const { stdout } = await run("npm", ["pack", file, "--dry-run", "--json"]);
  const [{ id }]: [{ readonly id: string }] = JSON.parse(stdout);
  return run("npm", ["view", id, "version"]).then(
    ({ stdout: found }) => found.trim() !== "",
    () => false,
  );
}

const version = theVersion();
const folder = resolve(values.to);
const isTrial = values["dry-run"];
// A trial needs no repository: the image is built of files alone.
if (!isTrial) {
  await requireTagged(`v${version}`);
  await requireContractOfWindow(root, version);
}
for (const kind of kinds()) {
  const to = join(folder, kind);
  rmSync(to, { recursive: true, force: true });
  const files = await pack(kind, to, version);
  if (!isTrial) await publish(kind, files, version);
  for (const file of files) {
    const size = `${Math.ceil(statSync(file).size / 1_024)} KiB`;
    process.stdout.write(`${kind.padEnd(7)}${relative(process.cwd(), file)}  ${size}\n`);
  }
}
process.stdout.write(isTrial ? "nothing was published\n" : `published ${version}\n`);
