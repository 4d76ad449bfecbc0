// drover init: what it writes runs as it is, against drover dev, in each language.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, type TestContext, test } from "vitest";
import { type DroverProcess, drover, startDrover } from "../support/drover-process.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { go, needsGo } from "../support/go-tool.ts";
import { needsJava } from "../support/java-tool.ts";
import { preparePython } from "../support/python-env.ts";
import { endForLack } from "../support/required-tools.ts";

const root = join(import.meta.dirname, "../..");

const installMsMax = 60_000;

let folder: string;
let dev: DroverProcess;
let env: { DROVER_ADDRESS: string };
beforeAll(async () => {
  folder = makeTestFolder();
  dev = startDrover(["dev", "--data-dir", join(folder, "data"), "--address", "127.0.0.1:0"]);
  const output = await dev.wrote("next: drover run list");
  env = { DROVER_ADDRESS: /server +([\d.:]+): /.exec(output)?.[1] ?? "" };
});
afterAll(async () => {
  dev.signal("SIGTERM");
  await dev.ended;
  rmSync(folder, { recursive: true });
});

async function init(lang: string): Promise<string> {
  const made = await drover(["init", `hello-${lang}`, "--lang", lang], { cwd: folder });
  expect(made).toMatchObject({ code: 0 });
  return join(folder, `hello-${lang}`);
}

/** Its agent, and a run that ends well and one that is unwound. */
async function tryOut(cwd: string, command: string, args: readonly string[], more = {}) {
  const agent = spawn(command, args, { cwd, env: { ...process.env, ...env, ...more } });
  onTestFinished(() => ended(agent));
  let output = "";
  for (const stream of [agent.stdout, agent.stderr])
    stream.on("data", (bytes: Buffer) => {
      output += bytes.toString();
    });
  const inFolder = { env, cwd };
  const tested = await drover(["workflow", "test"], { cwd });
  expect(tested, tested.stderr).toMatchObject({ code: 0 });
  expect(tested.stdout).toContain("3 scenarios, all passed");
  const applied = await drover(["workflow", "apply", "seats.yaml"], inFolder);
  expect(applied).toMatchObject({ code: 0 });
  const runOf = (card: string) =>
    drover(["run", "start", "seats", "--input", JSON.stringify({ card }), "--watch"], inFolder);
  const paid = await runOf("visa");
  expect(paid, output).toMatchObject({ code: 0 });
  expect(paid.stdout).toContain("run: completed");
  const unpaid = await runOf("none");
  expect(unpaid.code, output).toBe(1);
  expect(unpaid.stdout).toContain("no-card");
  expect(unpaid.stdout).toMatch(/run: compensated|run: failed/);
  expect(output).toContain("agent seats-1 waits for tasks");
  expect(output).toContain("the seat is free again");
}

async function ended(agent: ChildProcess): Promise<void> {
  if (agent.exitCode !== null || agent.signalCode !== null) return;
  agent.kill("SIGTERM");
  await once(agent, "exit");
}

test("a TypeScript project", { timeout: 120_000 }, async () => {
  const cwd = await init("typescript");
  const { dependencies, devDependencies, optionalDependencies } = packageOf(cwd);
  const tools = Object.keys(devDependencies);
  expect(devDependencies).toEqual(pick(packageOf(root).devDependencies, tools));
  expect(tools).toEqual(["@types/node", "typescript"]);
  expect(optionalDependencies).toEqual(nodeOf(packageOf(root).optionalDependencies));
  expect(Object.keys(dependencies)).toEqual(["@drover/proto", "@drover/sdk"]);
  // All but the Node that it brings is on this machine already, and the tools are in this clone.
  for (const tool of tools)
    await npm(cwd, ["pkg", "set", `devDependencies.${tool}=file:${root}/node_modules/${tool}`]);
  await npm(cwd, ["install", "--offline", "--no-audit", "--no-fund", "--omit=optional"]);
  await npm(cwd, ["run", "typecheck"]);
  const onThisNode = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  expect(await npm(cwd, ["test"], { PATH: onThisNode })).toMatch(/pass 3$/m);
  await tryOut(cwd, process.execPath, ["agent.ts"]);
});

async function npm(cwd: string, args: readonly string[], more = {}): Promise<string> {
  const options = { cwd, timeout: installMsMax, env: { ...process.env, ...more } };
  return (await promisify(execFile)("npm", args, options)).stdout;
}

test("a Python project", { timeout: 300_000 }, async (context: TestContext) => {
  const found = await preparePython(join(root, "sdk/python/requirements.txt"));
  if (found.kind === "missing") return endForLack(context, "python3", found.why);
  const cwd = await init("python");
  const [, sdk = ""] = readFileSync(join(cwd, "requirements.txt"), "utf8").trim().split("file://");
  expect(existsSync(join(sdk, "pyproject.toml"))).toBe(true);
  const env = { ...process.env, PYTHONPATH: sdk };
  const tested = await promisify(execFile)(found.python, ["-m", "unittest"], { cwd, env });
  expect(tested.stderr).toContain("Ran 3 tests");
  await tryOut(cwd, found.python, ["agent.py"], { PYTHONPATH: sdk });
});

test("a Go project", { timeout: 300_000 }, async (context: TestContext) => {
  await needsGo(context);
  const cwd = await init("go");
  await go(["mod", "tidy"], { cwd });
  expect(await go(["test", "./..."], { cwd })).toContain("ok");
  await go(["build", "-o", "agent", "."], { cwd });
  await tryOut(cwd, join(cwd, "agent"), []);
});

test("a Java project", { timeout: 900_000 }, async (context: TestContext) => {
  await needsJava(context);
  const cwd = await init("java");
  const setup = readFileSync(join(cwd, "README.md"), "utf8")
    .split("\n")
    .find((line) => line.startsWith("mvn "));
  // Its own tests run with it.
  await promisify(execFile)("sh", ["-euc", setup ?? "false"], { cwd });
  await tryOut(cwd, "mvn", ["-q", "compile", "exec:java"]);
});

test("nothing is written into a folder that is not empty, nor under a name that is none", async () => {
  const cwd = makeTestFolder();
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, "mine.txt"), "");
  const taken = await drover(["init", ".", "--lang", "go"], { cwd });
  expect(taken.code).toBe(2);
  expect(taken.stderr).toContain("mine.txt");
  expect(readdirSync(cwd)).toEqual(["mine.txt"]);
  const unnamed = await drover(["init", "My Project", "--lang", "go"], { cwd });
  expect(unnamed.stderr).toContain('"My Project" cannot be the name of a project');
  const unknown = await drover(["init", "hello", "--lang", "cobol"], { cwd });
  expect(unknown.stderr).toContain("go, java, python, typescript");
  expect(readdirSync(cwd)).toEqual(["mine.txt"]);
});

interface Package {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

function packageOf(of: string): Package {
  const read: unknown = JSON.parse(readFileSync(join(of, "package.json"), "utf8"));
  const record = (key: string): Readonly<Record<string, string>> => {
    const value: unknown = typeof read === "object" && read !== null ? Reflect.get(read, key) : {};
    return Object.fromEntries(Object.entries(value ?? {}).map(([name, is]) => [name, String(is)]));
  };
  return {
    dependencies: record("dependencies"),
    devDependencies: record("devDependencies"),
    optionalDependencies: record("optionalDependencies"),
  };
}

function pick(of: Readonly<Record<string, string>>, names: readonly string[]) {
  return Object.fromEntries(Object.entries(of).filter(([name]) => names.includes(name)));
}

/** The Node that the project brings, of all that it brings. */
function nodeOf(of: Package["optionalDependencies"]): Package["optionalDependencies"] {
  return Object.fromEntries(Object.entries(of).filter(([name]) => name.startsWith("node-")));
}
