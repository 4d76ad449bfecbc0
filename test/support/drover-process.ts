/** The drover command as a process, as a user starts it, without a terminal. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface DroverOptions {
  /** The environment; nothing is taken over from the test's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly cwd?: string;
  /** Another version of the command; left out: this one. */
  readonly program?: string;
  /** For Node itself, before the program. */
  readonly nodeOptions?: readonly string[];
}

const binary = fileURLToPath(new URL("../../cli/bin/drover.js", import.meta.url));

export interface DroverProcess {
  readonly ended: Promise<Ended>;
  /** What was written to standard output, as soon as it contains the text. */
  wrote(text: string): Promise<string>;
  signal(signal: NodeJS.Signals): void;
}

export function drover(args: readonly string[], options: DroverOptions = {}): Promise<Ended> {
  return startDrover(args, options).ended;
}

export function startDrover(args: readonly string[], options: DroverOptions = {}): DroverProcess {
  const { env = {}, stdin = "", cwd, nodeOptions = [], program = binary } = options;
  const child = spawn(process.execPath, [...nodeOptions, program, ...args], { env, cwd });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  // A program that ends before it has read its input is none of the test's concern.
  child.stdin.on("error", () => undefined).end(stdin);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
  return {
    ended,
    signal: (signal) => void child.kill(signal),
    wrote: (text) =>
      new Promise((resolve, reject) => {
        const check = () => stdout.includes(text) && resolve(stdout);
        check();
        child.stdout.on("data", check);
        const early = () => reject(new Error(`ended without "${text}": ${stdout}${stderr}`));
        ended.then(early, reject);
      }),
  };
}

/** Leaves out warnings that the database did not answer in time, as happens on a busy machine. */
export function withoutSlowDatabase(stderr: string): string {
  return stderr.replaceAll(/^\{"level":40,.*(?:no answer|does not answer).*\n/gm, "");
}
