// The support window: a server answers SDKs and agents of its own minor version and of the two
// before it. The contract of each release in the window is compared with this one, so that nothing
// of it is missing or has another meaning on the wire.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const MINORS_BEFORE = 2;

/** Of a tag such as v1.4.2; null: it is no tag of a release. */
function versionOf(tag: string): readonly [number, number, number] | null {
  const found = /^v(\d+)\.(\d+)\.(\d+)$/.exec(tag);
  return found ? [Number(found[1]), Number(found[2]), Number(found[3])] : null;
}

/**
 * The tags in the window of a version: the last release of its own minor version, if there is one,
 * and of the two minor versions before it with the same major version. The newest first.
 */
export function tagsInWindow(version: string, tags: readonly string[]): readonly string[] {
  const [major = 0, minor = 0] = versionOf(`v${version}`) ?? [];
  const lastOf = (wanted: number) =>
    tags
      .filter((tag) => versionOf(tag)?.[0] === major && versionOf(tag)?.[1] === wanted)
      .toSorted((a, b) => (versionOf(b)?.[2] ?? 0) - (versionOf(a)?.[2] ?? 0))
      .slice(0, 1);
  return Array.from({ length: MINORS_BEFORE + 1 }, (_, back) => lastOf(minor - back)).flat();
}

/** Throws an error that lists what breaks. Returns the tags that it has compared with. */
export async function requireContractOfWindow(
  root: string,
  version: string,
): Promise<readonly string[]> {
  const { stdout } = await run("git", ["tag", "--list"], { cwd: root });
  const own = `v${version}`;
  const tags = tagsInWindow(
    version,
    stdout.split("\n").filter((tag) => tag !== own),
  );
  const folder = mkdtempSync(join(tmpdir(), "drover-contract-"));
  try {
    const now = await imageOf(root, ".", join(folder, "now.binpb"));
    for (const tag of tags) {
      const then = await imageOf(root, `.git#tag=${tag}`, join(folder, `${tag}.binpb`));
      await buf(root, ["breaking", now, "--against", then], `the contract breaks that of ${tag}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return tags;
}

/** buf compares workspaces of two modules only as images. */
async function imageOf(root: string, source: string, image: string): Promise<string> {
  await buf(root, ["build", source, "-o", image], `${source} is no contract`);
  return image;
}

async function buf(root: string, args: readonly string[], otherwise: string): Promise<void> {
  try {
    await run(join(import.meta.dirname, "../node_modules/.bin/buf"), args, { cwd: root });
  } catch (error) {
    const printed = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
    const why = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
    throw new Error(`${otherwise}:\n${printed}${why}`);
  }
}
