// The Go module of a release, as a module proxy serves it: a program in an empty folder fetches it
// from there, and runs against a real server, with the oldest Go that the module promises.
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { theVersion } from "../../release/versions.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { go, goFolder, needsGo } from "../support/go-tool.ts";

const root = join(goFolder, "../..");
const goMs = 540_000;
const GO_MODULE = "github.com/drover-dev/drover/sdk/go";

test("a program gets the module from a proxy, and runs", { timeout: goMs }, async (context) => {
  await needsGo(context);
  const folder = makeTestFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const args = ["run", "-s", "release", "--", "--dry-run", "--only", "go", "--to", folder];
  await promisify(execFile)("npm", args, { cwd: root });
  const server = await startDroverServer();
  onTestFinished(() => server.stop());

  const cwd = makeTestFolder();
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const readme = readFileSync(join(goFolder, "README.md"), "utf8");
  const [, program = ""] = /^```go\n(.*?)^```$/ms.exec(readme) ?? [];
  writeFileSync(join(cwd, "main.go"), program);
  const proxy = pathToFileURL(join(folder, "go")).href;
  const [further = "", cache = ""] = (await go(["env", "GOPROXY", "GOMODCACHE"])).split("\n");
  const env = {
    // What the first does not have comes from the next: from the cache of this machine, as a rule.
    GOPROXY: `${proxy},${pathToFileURL(join(cache, "cache/download")).href},${further}`,
    // Before the module is published, no database has its checksum.
    GONOSUMDB: GO_MODULE,
    GOFLAGS: "-mod=mod -modcacherw",
    GOMODCACHE: join(folder, "modules"),
    DROVER_ADDRESS: server.address,
  };
  await go(["mod", "init", "hello"], { cwd, env });
  await go(["get", `${GO_MODULE}@v${theVersion()}`], { cwd, env });
  await go(["mod", "tidy"], { cwd, env });
  expect(await go(["run", "."], { cwd, env })).toContain("flight-to-Lisbon");
});

test("it builds with the oldest Go that it names", { timeout: goMs }, async (context) => {
  await needsGo(context);
  const [, oldest = ""] = /^go (\S+)$/m.exec(readFileSync(join(goFolder, "go.mod"), "utf8")) ?? [];
  const env = { GOTOOLCHAIN: `go${oldest}` };
  expect(await go(["version"], { env })).toContain(`go${oldest}`);
  await go(["vet", "./..."], { env });
});
