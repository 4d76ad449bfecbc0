// The processes under test: each is started again whenever it ends, as a process manager would. An
// end that nobody asked for is remembered: no fault of the database or the network may end a
// process that has once served.
//
//   stopped --start--> running --freeze--> frozen --resume--> running --kill, drain--> stopped
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { join } from "node:path";
import type { Recorder } from "../simulation/recorder.ts";
import { until } from "../support/until.ts";

export type Kind = "server" | "supervisor" | "agent";

export interface Spec {
  readonly name: string;
  readonly kind: Kind;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** On its output once it serves; null: it serves as soon as it runs. */
  readonly ready: RegExp | null;
  /** Exit codes that are no fault of the process: its task has ended it. */
  readonly expectedCodes: readonly number[];
}

export interface Managed {
  readonly name: string;
  readonly kind: Kind;
  readonly pid: () => number | null;
  start(): Promise<void>;
  /** Ends it at once; it stays down until `start`. */
  kill(): Promise<void>;
  /** SIGTERM: it stops when its work allows it; it stays down until `start`. */
  drain(withinMs: number): Promise<void>;
  freeze(): void;
  resume(): void;
  /** Blocks its event loop, through its inspector. Only of a server or supervisor. */
  block(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/** If this process ends by a mistake, none of them stays behind. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

const READY_MS_MAX = 60_000;
const RESTART_MS = 300;

export function manage(
  spec: Spec,
  logs: string,
  recorder: Recorder,
  onUnexpectedEnd: (text: string) => void,
): Managed {
  const { name, kind } = spec;
  const isServer = kind !== "agent";
  const log: WriteStream = createWriteStream(join(logs, `${name}.log`), { flags: "a" });
  let child: ChildProcess | null = null;
  let wanted = false;
  let inspector: string | null = null;
  let output = "";

  const record = (did: "crash" | "start" | "pause" | "resume" | "stop" | "exit"): void =>
    recorder.fault({ kind: "process", did }, name, isServer);

  function launch(): ChildProcess {
    inspector = null;
    output = "";
    const started = spawn(spec.command, spec.args, {
      env: { ...process.env, ...spec.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [started.stdout, started.stderr])
      stream.on("data", (chunk: Buffer) => {
        const text = chunk.toString("utf8");
        if (output.length < 10_000) output += text;
        inspector ??= /Debugger listening on (ws:\S+)/.exec(output)?.[1] ?? null;
        log.write(text);
      });
    running.add(started);
    started.once("exit", (code, signal) => {
      running.delete(started);
      log.write(`--- ended with ${signal ?? code}\n`);
      if (child !== started || !wanted) return;
      child = null;
      record("crash");
      // One that cannot start, as the database is down, says so and is started again.
      const hadServed = spec.ready === null || spec.ready.test(output);
      if (hadServed && (code === null || !spec.expectedCodes.includes(code)))
        onUnexpectedEnd(`${name} ended by itself with ${signal ?? code}: ${output.slice(-400)}`);
      setTimeout(() => {
        if (wanted && child === null) void start().catch(() => undefined);
      }, RESTART_MS);
    });
    return started;
  }
  async function start(): Promise<void> {
    wanted = true;
    if (child !== null) return;
    const started = launch();
    child = started;
    const { ready } = spec;
    if (ready)
      await until(
        `${name} serves`,
        () => (ready.test(output) || child !== started ? true : null),
        READY_MS_MAX,
      );
    if (child === started) record("start");
  }
  async function end(signal: "SIGKILL" | "SIGTERM", withinMs: number): Promise<void> {
    wanted = false;
    const ending = child;
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, "exit");
    record(signal === "SIGKILL" ? "crash" : "stop");
    ending.kill(signal);
    const overdue = setTimeout(() => ending.kill("SIGKILL"), withinMs);
    await ended;
    clearTimeout(overdue);
    child = null;
    if (signal === "SIGTERM") record("exit");
  }
  const managed: Managed = {
    name,
    kind,
    pid: () => child?.pid ?? null,
    start,
    kill: () => end("SIGKILL", 1_000),
    drain: (withinMs) => end("SIGTERM", withinMs),
    freeze() {
      if (child?.kill("SIGSTOP")) record("pause");
    },
    resume() {
      if (child?.kill("SIGCONT")) record("resume");
    },
    async block(ms) {
      if (inspector === null) throw new Error(`${name} has no inspector`);
      record("pause");
      await blockThrough(inspector, ms);
      record("resume");
    },
    async stop() {
      wanted = false;
      child?.kill("SIGCONT");
      await end("SIGKILL", 1_000);
      log.end();
    },
  };
  return Object.freeze(managed);
}

/** Returns when the program goes on, or its inspector is gone. */
function blockThrough(url: string, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url);
    const expression = `for (const end = Date.now() + ${ms}; Date.now() < end; );`;
    const overdue = setTimeout(() => socket.close(), ms + 10_000);
    socket.onopen = () =>
      socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } }));
    socket.onmessage = () => socket.close();
    socket.onerror = () => socket.close();
    socket.onclose = () => {
      clearTimeout(overdue);
      resolve();
    };
  });
}
