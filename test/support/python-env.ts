/**
 * A Python environment for an agent: made once for each content of its requirements, under the
 * repository's .drover/, and used again by later runs.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

export const stubFolder = join(import.meta.dirname, "../../agents-examples/stubs/python");
const cacheFolder = join(import.meta.dirname, "../../.drover");
const installMsMax = 300_000;
const run = promisify(execFile);

export type PythonEnv =
  | { readonly kind: "ready"; readonly python: string }
  | { readonly kind: "missing"; readonly why: string };

/** Default: the requirements of the stub agent. */
export async function preparePython(
  requirements = join(stubFolder, "requirements.txt"),
): Promise<PythonEnv> {
  try {
    await run("python3", ["-c", "import venv, ensurepip"]);
  } catch {
    return { kind: "missing", why: "python3 with venv is not on this machine: install it to run" };
  }
  const { stdout: version } = await run("python3", ["--version"]);
  const hash = createHash("sha256").update(readFileSync(requirements)).update(version);
  const folder = join(cacheFolder, `python-${hash.digest("hex").slice(0, 12)}`);
  const python = join(folder, "bin", "python");
  if (existsSync(folder)) return { kind: "ready", python };
  // Only a whole environment gets the name; `bin/python` works wherever it lies.
  const building = `${folder}.${process.pid}`;
  try {
    await run("python3", ["-m", "venv", building]);
    const pip = ["-m", "pip", "install", "-q", "--retries", "1", "-r", requirements];
    await run(join(building, "bin", "python"), pip, { timeout: installMsMax });
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
    const text = error instanceof Error ? error.message : String(error);
    return { kind: "missing", why: `the Python packages cannot be installed here: ${text}` };
  }
  try {
    renameSync(building, folder);
  } catch {
    // Another run was quicker.
    rmSync(building, { recursive: true });
  }
  return { kind: "ready", python };
}
