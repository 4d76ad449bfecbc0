/**
 * How an agent under test is made ready: what has to be installed, what is built, and what is
 * printed where a machine lacks it. What is built lies under .drover/, and is used again.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { preparePython } from "../support/python-env.ts";
import type { Command } from "./program.ts";

export type Ready =
  | { readonly kind: "ready"; readonly command: Command }
  /** `tool` as DROVER_REQUIRE names it. */
  | { readonly kind: "missing"; readonly tool: string; readonly why: string };

export const root = join(import.meta.dirname, "../..");
const builtFolder = join(root, ".drover", "conformance");
/** The first build of a language fetches its packages. */
const buildMsMax = 540_000;
const run = promisify(execFile);

/** Where what is built for an agent goes. */
export function builtIn(agent: string): string {
  const folder = join(builtFolder, agent);
  mkdirSync(folder, { recursive: true });
  return folder;
}

interface Tool {
  readonly name: string;
  /** What it is asked to see whether it is there. */
  readonly ask: readonly string[];
}

const javaTools: readonly Tool[] = [
  { name: "java", ask: ["-version"] },
  { name: "mvn", ask: ["-version"] },
];

/** Null: all of them answer. */
async function lacking(tools: readonly Tool[]): Promise<Ready | null> {
  for (const { name, ask } of tools) {
    try {
      await run(name, [...ask]);
    } catch {
      const why = `${name} is not on this machine: CONTRIBUTING.md says where it comes from`;
      return { kind: "missing", tool: name, why };
    }
  }
  return null;
}

interface Built {
  readonly agent: string;
  readonly folder: string;
  readonly tools: readonly Tool[];
  /** Each a program with its arguments, in the folder. */
  readonly build: readonly (readonly string[])[];
  readonly command: Command;
}

async function built({ agent, folder, tools, build, command }: Built): Promise<Ready> {
  const absent = absentFolder(agent, folder);
  if (absent !== null) return absent;
  const missing = await lacking(tools);
  if (missing !== null) return missing;
  for (const [program = "", ...args] of build) {
    try {
      await run(program, args, { cwd: join(root, folder), timeout: buildMsMax });
    } catch (error) {
      // A tool that is there and fails is no lack of this machine.
      const output = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
      throw new Error(`${agent} does not build: ${program} ${args.join(" ")}\n${output}`, {
        cause: error,
      });
    }
  }
  return { kind: "ready", command };
}

function absentFolder(agent: string, folder: string): Ready | null {
  if (existsSync(join(root, folder))) return null;
  return { kind: "missing", tool: agent, why: `${folder} is not in this tree` };
}

/** Node runs it as it is. */
export async function withNode(agent: string, folder: string): Promise<Ready> {
  const env = { NODE_COMPILE_CACHE: builtIn("node") };
  const command = { program: process.execPath, args: ["agent.ts"], cwd: join(root, folder), env };
  return built({ agent, folder, tools: [], build: [], command });
}

/** `path`, from the root: what it imports its packages from, beside those that are installed. */
export async function withPython(
  agent: string,
  folder: string,
  { requirements, path }: { readonly requirements: string; readonly path?: string },
): Promise<Ready> {
  const absent = absentFolder(agent, folder);
  if (absent !== null) return absent;
  const env = await preparePython(join(root, requirements));
  if (env.kind === "missing") return { kind: "missing", tool: "python3", why: env.why };
  const variables = {
    PYTHONPYCACHEPREFIX: builtIn("python"),
    ...(path !== undefined && { PYTHONPATH: join(root, path) }),
  };
  const cwd = join(root, folder);
  const command = { program: env.python, args: ["agent.py"], cwd, env: variables };
  return { kind: "ready", command };
}

/** `module` is the folder of go.mod, `main` its package. */
export function withGo(agent: string, module: string, main: string): Promise<Ready> {
  const program = join(builtIn(agent), "agent");
  return built({
    agent,
    folder: main,
    tools: [{ name: "go", ask: ["version"] }],
    build: [
      ["go", "build", "-C", join(root, module), "-o", program, `./${fromModule(module, main)}`],
    ],
    command: { program, args: [], cwd: join(root, main) },
  });
}

function fromModule(module: string, main: string): string {
  return main === module ? "" : main.slice(module.length + 1);
}

export function withCargo(agent: string, folder: string): Promise<Ready> {
  const target = builtIn(agent);
  return built({
    agent,
    folder,
    tools: [{ name: "cargo", ask: ["--version"] }],
    build: [["cargo", "build", "--quiet", "--locked", "--target-dir", target]],
    command: { program: join(target, "debug", "agent"), args: [], cwd: join(root, folder) },
  });
}

interface JavaProgram {
  /** Returns the folder of what it built; used again while the sources are the same. */
  readonly build: () => Promise<string>;
  readonly main: string;
  /** Where the classes of the program are, and what they need, in that folder. */
  readonly classPath: readonly string[];
}

/** `folder` has the sources of the program. */
export async function withJava(agent: string, folder: string, of: JavaProgram): Promise<Ready> {
  const missing = absentFolder(agent, folder) ?? (await lacking(javaTools));
  if (missing !== null) return missing;
  const built = await of.build();
  const classPath = of.classPath.map((part) => join(built, part)).join(":");
  const command = {
    program: "java",
    args: ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath, of.main],
    cwd: join(root, folder),
  };
  return { kind: "ready", command };
}

export function withShell(agent: string, folder: string): Promise<Ready> {
  return built({
    agent,
    folder,
    tools: [
      { name: "curl", ask: ["--version"] },
      { name: "jq", ask: ["--version"] },
    ],
    build: [],
    command: { program: "sh", args: ["agent.sh"], cwd: join(root, folder) },
  });
}
