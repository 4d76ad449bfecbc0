/**
 * The processes of a story. Each is asked to stop by SIGTERM and killed if it does not; one that
 * ends though it was not stopped is reported with the last lines that it wrote.
 *
 *   running --stop--> stopped        running --kill--> gone        running --> lost
 *
 * Each is in a group of its own, so that Ctrl-C reaches the story alone, which stops them in order;
 * and each ends by itself when the story is gone (end-with-parent.ts).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Child {
  readonly name: string;
  readonly pid: number;
  /** It does nothing until it is resumed, and its connections stay open. */
  readonly suspend: () => void;
  readonly resume: () => void;
  /** SIGKILL: no last message, no clean-up. */
  readonly kill: () => Promise<void>;
  /** May be called twice. */
  readonly stop: () => Promise<void>;
}

export interface ChildSpec {
  /** Also of its log. */
  readonly name: string;
  readonly program: URL;
  readonly args: readonly string[];
  /** The API token with which it calls Drover; left out: none of its own. */
  readonly token?: string | undefined;
  /** Traces itself, and sends that to this receiver of OTLP over HTTP; left out: it does not. */
  readonly trace?: string | null;
}

export interface Processes {
  readonly start: (spec: ChildSpec) => Child;
  /** Starts a program that prints one line of JSON when it is ready. */
  readonly startReady: (
    spec: ChildSpec,
  ) => Promise<{ readonly child: Child; readonly ready: unknown }>;
  /** All that were ever started, ended ones too. */
  readonly started: () => readonly Child[];
  /** The last that was started is stopped first. Nothing can be started any more. */
  readonly stopAll: () => Promise<void>;
}

export interface ProcessesOptions {
  readonly logFolder: string;
  readonly onLost: (message: string) => void;
}

const preload = new URL("./end-with-parent.ts", import.meta.url).href;
const tracing = new URL("./traced.ts", import.meta.url).href;
/** A server that drains and its PostgreSQL take the longest, a second or two. */
const stopMsMax = 8_000;
const lastLinesMax = 8;

export function createProcesses({ logFolder, onLost }: ProcessesOptions): Processes {
  const children: Child[] = [];
  let stopping = false;

  function launch(spec: ChildSpec): { child: Child; process: ChildProcess } {
    const { name } = spec;
    if (stopping) throw new Error(`${name} is not started: everything is stopping`);
    const logFile = join(logFolder, `${name}.log`);
    const launched = spawnLogged(spec, logFile);
    let expected = false;
    const exited = new Promise<void>((resolve) => {
      launched.once("error", (error) => {
        onLost(`${name} could not be started: ${error.message}`);
        resolve();
      });
      launched.once("exit", (code, signal) => {
        if (!expected) onLost(`${name} ended (${signal ?? `exit ${code}`})${lastLinesOf(logFile)}`);
        resolve();
      });
    });
    // Reading an end that breaks is no news: the exit is.
    launched.stdin?.on("error", () => undefined);

    async function end(signal: NodeJS.Signals): Promise<void> {
      expected = true;
      launched.kill(signal);
      await exited;
    }
    async function stop(): Promise<void> {
      const killing = setTimeout(() => launched.kill("SIGKILL"), stopMsMax);
      await end("SIGTERM");
      clearTimeout(killing);
    }
    const { pid = 0 } = launched;
    const suspend = () => void launched.kill("SIGSTOP");
    const resume = () => void launched.kill("SIGCONT");
    const kill = () => end("SIGKILL");
    const child = Object.freeze({ name, pid, suspend, resume, kill, stop });
    children.push(child);
    return { child, process: launched };
  }

  async function startReady(spec: ChildSpec) {
    const { child, process } = launch(spec);
    if (process.stdout === null) throw new Error(`${spec.name} has no standard output to read`);
    const lines = createInterface({ input: process.stdout });
    const line = once(lines, "line").then(([first]) => String(first));
    const gone = once(process, "exit").then(() => {
      throw new Error(`${spec.name} ended before it was ready`);
    });
    gone.catch(() => undefined);
    const ready: unknown = JSON.parse(await Promise.race([line, gone]));
    return { child, ready };
  }

  return Object.freeze({
    start(spec: ChildSpec): Child {
      const { child, process } = launch(spec);
      process.stdout?.resume();
      return child;
    },
    startReady,
    started: () => children,
    async stopAll() {
      stopping = true;
      for (const child of children.toReversed()) await child.stop();
    },
  });
}

function spawnLogged(spec: ChildSpec, logFile: string) {
  const { name, program, args, token, trace = null } = spec;
  const log = openSync(logFile, "a");
  const traced = trace === null ? [] : ["--import", tracing];
  const tracedEnv = { OTEL_EXPORTER_OTLP_ENDPOINT: trace ?? "", OTEL_SERVICE_NAME: name };
  const env = {
    ...process.env,
    ...(token === undefined ? {} : { DROVER_TOKEN: token }),
    ...(trace === null ? {} : tracedEnv),
  };
  const launched = spawn(
    process.execPath,
    ["--import", preload, ...traced, fileURLToPath(program), ...args],
    { stdio: ["pipe", "pipe", log], detached: true, env },
  );
  closeSync(log);
  return launched;
}

function lastLinesOf(logFile: string): string {
  const lines = readFileSync(logFile, "utf8").trim().split("\n").slice(-lastLinesMax);
  return lines.join("") === "" ? "" : `; its last lines:\n  ${lines.join("\n  ")}`;
}
