/**
 * The content of the image of deploy/container/Containerfile, made without a container engine: each
 * instruction is carried out in a folder that stands for the root of its stage. Of the base images
 * only Node is needed, which is this one.
 */
import { execFile, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, matchesGlob, relative } from "node:path";
import { promisify } from "node:util";
import { treeRoot } from "./tree.ts";

const run = promisify(execFile);
const BUILD_MS_MAX = 540_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const NODE = "/nodejs/bin/node";

export const containerfile = join(treeRoot, "deploy/container/Containerfile");

export interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** Of a file that hadolint accepts: comments and continued lines are all that has to be undone. */
export function instructionsOf(text: string): readonly Instruction[] {
  const lines = text.replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\\\n\s*/g, "");
  return [...lines.matchAll(/^([A-Z]+) +(.*)$/gm)].map(([, name = "", value = ""]) => ({
    name,
    value: value.replaceAll(/ {2,}/g, " "),
  }));
}

export interface Image {
  /** Its root, which no process may write to. */
  readonly root: string;
  /** Its entrypoint with these arguments, as the user of the image. */
  start(args: readonly string[], env: Environment): ImageProcess;
  /** Another program of it, as a health check: `command` begins with its path in the image. */
  exec(command: readonly string[]): ImageProcess;
  /** Also ends what still runs in it. */
  remove(): void;
}

type Environment = Readonly<Record<string, string>>;

export interface ImageProcess {
  /** The exit code; null: it was ended by a signal. */
  readonly ended: Promise<number | null>;
  /** What it has written so far, to both streams. */
  printed(): string;
  kill(signal: NodeJS.Signals): void;
}

/** Minutes: it installs the packages twice, and builds the dashboard. */
export async function buildImage(): Promise<Image> {
  const folder = mkdtempSync(join(tmpdir(), "drover-image-"));
  try {
    const made = await carryOut(instructionsOf(readFileSync(containerfile, "utf8")), folder);
    return imageOf(folder, made);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}

interface Made {
  readonly root: string;
  readonly user: string;
  readonly entrypoint: readonly string[];
}

/** The last stage; `FROM x AS name` begins one, and `COPY --from` reads another. */
async function carryOut(instructions: readonly Instruction[], folder: string): Promise<Made> {
  const stages = new Map<string, string>();
  let root = folder;
  let cwd = "/";
  let user = "";
  let entrypoint: readonly string[] = [];
  for (const { name, value } of instructions) {
    if (name === "FROM") {
      const [, stage = "last"] = / AS (\w+)$/.exec(value) ?? [];
      root = join(folder, stage);
      stages.set(stage, root);
      mkdirSync(join(root, dirname(NODE)), { recursive: true });
      copyFileSync(process.execPath, join(root, NODE));
    } else if (name === "WORKDIR") {
      cwd = value;
      mkdirSync(join(root, cwd), { recursive: true });
    } else if (name === "COPY") copy(value, { root, cwd, stages });
    else if (name === "RUN") await shell(value, join(root, cwd));
    else if (name === "USER") user = value;
    else if (name === "ENTRYPOINT") entrypoint = JSON.parse(value);
    else if (!["ARG", "LABEL", "EXPOSE", "CMD"].includes(name))
      throw new Error(`this test cannot carry out ${name}: teach it`);
  }
  return { root, user, entrypoint };
}

function copy(
  value: string,
  to: { readonly root: string; readonly cwd: string; readonly stages: ReadonlyMap<string, string> },
): void {
  const [, stage, source = "", target = ""] = /^(?:--from=(\w+) )?(\S+) (\S+)$/.exec(value) ?? [];
  const goal = join(to.root, target.startsWith("/") ? target : join(to.cwd, target));
  if (stage === undefined) {
    copyContext(join(treeRoot, source), goal);
    return;
  }
  const from = to.stages.get(stage);
  if (from === undefined) throw new Error(`COPY --from=${stage}: there is no such stage`);
  cpSync(join(from, source), goal, { recursive: true, verbatimSymlinks: true });
}

function copyContext(from: string, to: string): void {
  const lines = readFileSync(join(treeRoot, ".dockerignore"), "utf8").split("\n");
  const ignored = lines.filter((line) => line !== "" && !line.startsWith("#"));
  cpSync(from, to, {
    recursive: true,
    filter: (path) => !ignored.some((pattern) => matchesGlob(relative(treeRoot, path), pattern)),
  });
}

async function shell(command: string, cwd: string): Promise<void> {
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  // The packages of this checkout's own installation are taken from npm's cache.
  const env = { PATH, HOME: process.env.HOME, npm_config_prefer_offline: "true" };
  const options = { cwd, env, timeout: BUILD_MS_MAX, maxBuffer: OUTPUT_BYTES_MAX };
  await run("/bin/sh", ["-c", command], options);
}

function imageOf(folder: string, { root, user, entrypoint }: Made): Image {
  chmodSync(folder, 0o755);
  setWritable(root, false);
  const started: ImageProcess[] = [];
  const begin = (command: readonly string[], env: Environment): ImageProcess => {
    const child = startAs(user, command, { root, env });
    started.push(child);
    return child;
  };
  const within = (path: string) => join(root, path);
  return {
    root,
    start: (args, env) => begin([...entrypoint.map(within), ...args], env),
    exec: ([program = "", ...args]) => begin([within(program), ...args], {}),
    remove() {
      for (const child of started) child.kill("SIGKILL");
      setWritable(root, true);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Root may write anywhere, so it becomes the user of the image; another account may not. */
function startAs(
  user: string,
  [program = "", ...args]: readonly string[],
  { root, env }: { readonly root: string; readonly env: Environment },
): ImageProcess {
  const [uid, gid] = user.split(":").map(Number);
  const account = process.getuid?.() === 0 ? { uid, gid } : {};
  // There is no folder for temporary files, either.
  const own = { ...env, TMPDIR: join(root, "no-such-folder") };
  const child = spawn(program, args, { cwd: root, env: own, ...account });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
  return {
    ended: new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    }),
    printed: () => printed,
    kill: (signal) => void child.kill(signal),
  };
}

function setWritable(root: string, writable: boolean): void {
  execFileSync("chmod", ["-R", writable ? "u+w" : "a-w,a+rX", root]);
}
