/**
 * One process of a command, with all that it starts: a process group of its own, which is ended as
 * a whole.
 *
 *   running -> exited -> ended (what is left of its group is killed)
 *      '----> stopping: SIGTERM, and SIGKILL after a while -> ended
 */
import { type ChildProcess, spawn } from "node:child_process";

export interface ProcessSpec {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly outputBytesMax: number;
  /** null: there is no other limit than the signal. */
  readonly timeoutMs: number | null;
  readonly killAfterMs: number;
}

export type ProcessEnd =
  /** Nothing ran: there is no such program, or no process could be made. */
  | { readonly kind: "not-started"; readonly message: string }
  | ({ readonly kind: "exited"; readonly code: number } & ProcessOutput)
  /** Something else than the agent killed it. */
  | ({ readonly kind: "killed"; readonly signal: string } & ProcessOutput)
  /** The agent killed it, after it was asked to end. */
  | { readonly kind: "stopped" }
  | ({ readonly kind: "timeout" } & ProcessOutput);

export interface ProcessOutput {
  readonly stdout: string;
  /** More was written than may be; that is left out. */
  readonly isCut: boolean;
  /** The last part of standard error. */
  readonly stderr: string;
}

const STDERR_BYTES_MAX = 2_000;

/** Never rejects. It ends when no process of the group is left. */
export function runProcess(spec: ProcessSpec, signal: AbortSignal): Promise<ProcessEnd> {
  if (signal.aborted) return Promise.resolve({ kind: "stopped" });
  return new Promise((settle) => {
    const { program, args, cwd, env } = spec;
    const child = spawn(program, [...args], { cwd, env, detached: true, shell: false });
    child.once("error", (error) => {
      // Also of a signal that could not be sent: then the process runs, and ends by itself.
      if (child.pid === undefined) settle({ kind: "not-started", message: error.message });
    });
    if (child.pid === undefined) return;
    watch(spec, child, child.pid, signal).then(settle, () => settle({ kind: "stopped" }));
  });
}

async function watch(
  spec: ProcessSpec,
  child: ChildProcess,
  pid: number,
  signal: AbortSignal,
): Promise<ProcessEnd> {
  let why: "stopped" | "timeout" | null = null;
  let killing: NodeJS.Timeout | undefined;
  const end = (reason: "stopped" | "timeout"): void => {
    if (why !== null) return;
    why = reason;
    signalGroup(pid, "SIGTERM");
    killing = setTimeout(() => signalGroup(pid, "SIGKILL"), spec.killAfterMs);
  };
  const stop = () => end("stopped");
  signal.addEventListener("abort", stop, { once: true });
  const limit =
    spec.timeoutMs === null ? undefined : setTimeout(() => end("timeout"), spec.timeoutMs);
  const output = collect(child, spec.outputBytesMax);
  // A program that ends before it has read its input is no problem of the agent.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(spec.stdin);
  // What it has left running holds its output open, and must not act after the report.
  child.once("exit", () => signalGroup(pid, "SIGKILL"));
  const [code, killedBy] = await ended(child);
  clearTimeout(killing);
  clearTimeout(limit);
  signal.removeEventListener("abort", stop);
  if (why === "stopped") return { kind: "stopped" };
  if (why === "timeout") return { kind: "timeout", ...output() };
  if (code !== null) return { kind: "exited", code, ...output() };
  return { kind: "killed", signal: killedBy ?? "a signal", ...output() };
}

/** After its output is closed. */
function ended(child: ChildProcess): Promise<readonly [number | null, NodeJS.Signals | null]> {
  return new Promise((resolve) => {
    child.once("close", (code, killedBy) => resolve([code, killedBy]));
  });
}

function collect(child: ChildProcess, bytesMax: number): () => ProcessOutput {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let tail = Buffer.alloc(0);
  child.stdout?.on("data", (chunk: Buffer) => {
    if (bytes < bytesMax) chunks.push(chunk.subarray(0, bytesMax - bytes));
    bytes += chunk.length;
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-STDERR_BYTES_MAX);
  });
  return () => ({
    stdout: Buffer.concat(chunks).toString("utf8"),
    isCut: bytes > bytesMax,
    stderr: tail.toString("utf8"),
  });
}

/** To all processes of the group. There may be none left, or only some of another user. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH and EPERM: nothing more can be done.
  }
}
