/**
 * A Python environment for an agent: made once for each content of its requirements, under the
 * repository's .drover/, and used again by later runs.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { madeOnce } from "./made-once.ts";

export const stubFolder = join(import.meta.dirname, "../../agents-examples/stubs/python");
const cacheFolder = join(import.meta.dirname, "../../.drover");
const installMsMax = 300_000;
const run = promisify(execFile);

export type PythonEnv =
  | { readonly kind: "ready"; readonly python: string }
  | { readonly kind: "missing"; readonly why: string };

/** Of a file of requirements, or of these packages. Default: the requirements of the stub agent. */
export async function preparePython(
  requirements: string | readonly string[] = join(stubFolder, "requirements.txt"),
): Promise<PythonEnv> {
  try {
    await run("python3", ["-c", "import venv, ensurepip"]);
  } catch {
    return { kind: "missing", why: "python3 with venv is not on this machine: install it to run" };
  }
  const { stdout: version } = await run("python3", ["--version"]);
  const ofFile = typeof requirements === "string";
  const text = ofFile ? readFileSync(requirements) : requirements.join("\n");
  const hash = createHash("sha256").update(text).update(version);
  const folder = join(cacheFolder, `python-${hash.digest("hex").slice(0, 12)}`);
  const python = join(folder, "bin", "python");
  try {
    // `bin/python` works wherever the environment lies.
    await madeOnce(folder, async (building) => {
      await run("python3", ["-m", "venv", building]);
      const wanted = ofFile ? ["-r", requirements] : requirements;
      const pip = ["-m", "pip", "install", "-q", "--retries", "1", ...wanted];
      await run(join(building, "bin", "python"), pip, { timeout: installMsMax });
    });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { kind: "missing", why: `the Python packages cannot be installed here: ${text}` };
  }
  return { kind: "ready", python };
}
