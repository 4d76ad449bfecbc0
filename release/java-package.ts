// The Java SDK as a Maven repository in a folder: the jar, its sources, its documentation and its
// pom. A project takes it from there by `<repository>` with a URL of `file://FOLDER`.
import { execFile } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);
const outputBytesMax = 64 * 1024 * 1024;

/**
 * Needs Maven. Returns the paths of the files that people download, without their checksums.
 * `built`: where what is built stays. Default: nowhere.
 */
export async function packJava(
  to: string,
  version: string,
  built?: string,
): Promise<readonly string[]> {
  mkdirSync(to, { recursive: true });
  const repository = `drover::file://${to}`;
  await (built === undefined ? deploy(repository, []) : deployFrom(built, repository, []));
  const folder = join(to, "dev/drover/drover-sdk", version);
  return globSync("*.{jar,pom}", { cwd: folder })
    .sort()
    .map((name) => join(folder, name));
}

/**
 * To the repository of DROVER_MAVEN_REPOSITORY, as `ID::URL`; Maven's settings have the password
 * for the id, and gpg the key that signs.
 */
export async function publishJava(): Promise<void> {
  const repository = process.env.DROVER_MAVEN_REPOSITORY;
  if (repository === undefined)
    throw new Error("DROVER_MAVEN_REPOSITORY is not set: it is ID::URL of a Maven repository");
  await deploy(repository, ["-Psigned"]);
}

async function deploy(repository: string, more: readonly string[]): Promise<void> {
  const built = mkdtempSync(join(tmpdir(), "drover-java-"));
  try {
    await deployFrom(built, repository, more);
  } finally {
    rmSync(built, { recursive: true });
  }
}

async function deployFrom(built: string, repository: string, more: readonly string[]) {
  const args = ["-q", "-B", "-Prelease", "-DskipTests", `-Dbuilt=${built}`, ...more];
  try {
    await run("mvn", [...args, `-DaltDeploymentRepository=${repository}`, "deploy"], {
      cwd: join(root, "sdk/java"),
      maxBuffer: outputBytesMax,
    });
  } catch (error) {
    // Maven writes what is wrong to its standard output.
    const output = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
    throw new Error(`Maven cannot build sdk/java:\n${output}`, { cause: error });
  }
}
