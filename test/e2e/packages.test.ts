// The packages of a release, installed by npm into an empty folder. There the command runs a server
// with its dashboard, on the oldest Node that it promises and on this one; and a project that
// `drover init` writes names the version, and runs with the packed SDK.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { packNpm } from "../../release/npm-packages.ts";
import { theVersion } from "../../release/versions.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const INSTALL_MS_MAX = 180_000;
const OLDEST_NODE = `node-linux-${process.arch}`;

let folder: string;
let servers = 0;
beforeAll(async () => {
  folder = makeTestFolder();
  const tarballs = await packNpm(join(folder, "tarballs"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }');
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts"];
  const install = ["install", ...quiet, ...tarballs, `${OLDEST_NODE}@22.18.0`];
  await run("npm", install, { cwd: folder, timeout: INSTALL_MS_MAX });
}, INSTALL_MS_MAX);
afterAll(() => rmSync(folder, { recursive: true }));

/** A process, with what it prints; it has ended when the test has. */
function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv, cwd = folder) {
  const child = spawn(command, args, { cwd, env });
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill("SIGTERM")) await once(child, "exit");
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => {
      printed += bytes.toString();
    });
  return {
    wrote: (what: RegExp) =>
      until(`it prints ${what}`, () => {
        if (child.exitCode !== null) throw new Error(printed);
        return what.exec(printed)?.[1] ?? null;
      }),
  };
}

/** `drover dev` on this Node, and the command with its address. */
async function openServer(bin: string) {
  const command = join(folder, "node_modules/.bin/drover");
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const data = join(folder, `data-${++servers}`);
  const dev = start(command, ["dev", "--data-dir", data, "--address", "127.0.0.1:0"], env);
  const DROVER_ADDRESS = await dev.wrote(/^server +([\d.:]+):/m);
  const own = { ...env, DROVER_ADDRESS };
  return {
    env: own,
    drover: (args: readonly string[], cwd = folder) => run(command, args, { cwd, env: own }),
  };
}

test("the server serves on the oldest Node, with its dashboard and its migrations", async () => {
  const { env, drover } = await openServer(join(folder, "node_modules", OLDEST_NODE, "bin"));
  expect((await drover(["--version"])).stdout.trim()).toBe(theVersion());
  const page = await fetch(`http://${env.DROVER_ADDRESS}/`);
  expect(await page.text()).toContain("<title>");
  expect((await drover(["status"])).stdout).toContain("(0001_init.sql)");
  // It has loaded its protocol when it looks for the tool.
  await expect(drover(["mcp", "--by", "ada", "--tools", "x"])).rejects.toMatchObject({
    stderr: expect.stringContaining('"x", which is no tool'),
  });
});

test("a TypeScript project of the packed command runs with the packed SDK", async () => {
  const { env, drover } = await openServer(dirname(process.execPath));
  await drover(["init", "hello", "--lang", "typescript"]);
  const cwd = join(folder, "hello");
  expect((await run(process.execPath, ["--test"], { cwd, env })).stdout).toMatch(/pass 3$/m);
  const agent = start(process.execPath, ["agent.ts"], env, cwd);
  await agent.wrote(/(waits for tasks)/);
  expect((await drover(["workflow", "test"], cwd)).stdout).toContain("3 scenarios, all passed");
  await drover(["workflow", "apply", "seats.yaml"], cwd);
  const input = JSON.stringify({ card: "visa" });
  const watched = await drover(["run", "start", "seats", "--input", input, "--watch"], cwd);
  expect(watched.stdout).toContain("run: completed");
});

test("the ready-made agents are in the packed command", async () => {
  const { drover } = await openServer(join(folder, "node_modules", OLDEST_NODE, "bin"));
  const shell = "agent: s\ncommands:\n  greet: { run: [echo, hello] }\n";
  writeFileSync(join(folder, "shell.yaml"), shell);
  writeFileSync(join(folder, "http.yaml"), "agent: h\nhosts:\n  - origin: https://a.example\n");
  for (const kind of ["shell", "http"]) {
    const { stderr } = await drover(["agent", kind, `${kind}.yaml`, "--check"]);
    expect(stderr).toContain("is valid");
  }
});

test.each(["typescript", "python", "go"])("a project names the version, in %s", async (lang) => {
  const command = join(folder, "node_modules/.bin/drover");
  await run(command, ["init", `named-${lang}`, "--lang", lang], { cwd: folder });
  const { stdout } = await run("grep", ["-r", "", `named-${lang}`], { cwd: folder });
  expect(stdout).toContain(theVersion());
  expect(stdout).not.toMatch(/file:|replace|\{\{/);
});
