// The Go SDK as a module proxy serves it: what `GOPROXY=file://FOLDER` reads. The module itself is
// published by a tag alone; this is to try it before.
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

const GO_MODULE = "github.com/drover-dev/drover/sdk/go";

/** Of the last commit, as a tag would be. Returns the path of the zip. */
export async function packGo(to: string, version: string): Promise<string> {
  const folder = join(to, GO_MODULE, "@v");
  mkdirSync(folder, { recursive: true });
  const name = `v${version}`;
  const zip = join(folder, `${name}.zip`);
  const prefix = `${GO_MODULE}@${name}/`;
  const license = [`--prefix=${prefix}`, `--add-file=${join(root, "LICENSE")}`];
  await run("git", ["archive", "--format=zip", `--output=${zip}`, ...license, "HEAD:sdk/go"], {
    cwd: root,
  });
  copyFileSync(join(root, "sdk/go/go.mod"), join(folder, `${name}.mod`));
  writeFileSync(join(folder, `${name}.info`), JSON.stringify({ Version: name }));
  writeFileSync(join(folder, "list"), `${name}\n`);
  return zip;
}
