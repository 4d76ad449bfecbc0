// The Python SDK as a wheel and a source distribution.
import { execFile } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

/** `python` has pip and the package `build`. Returns the paths of the files. */
export async function packPython(to: string, python: string): Promise<readonly string[]> {
  mkdirSync(to, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "drover-python-"));
  try {
    // setuptools writes beside the sources.
    cpSync(join(root, "sdk/python"), work, { recursive: true });
    copyFileSync(join(root, "LICENSE"), join(work, "LICENSE"));
    await run(python, ["-m", "build", "--outdir", to, work]);
    return readdirSync(to).map((name) => join(to, name));
  } finally {
    rmSync(work, { recursive: true });
  }
}
