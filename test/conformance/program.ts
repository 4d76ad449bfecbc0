/**
 * A program under test as a process: started as PROTOCOL.md says, watched by the lines that it
 * prints, steered by signals.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** How to start it, once it is made ready. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A line of the program; what an event does not have is empty or 0. */
export interface Line {
  readonly event: string;
  readonly run: string;
  readonly step: string;
  readonly kind: string;
  readonly attempt: number;
  readonly fence: number;
  readonly key: string;
  readonly effectKey: string;
  readonly callbackToken: string;
  readonly item: number | null;
  readonly why: string;
  readonly path: string;
  readonly act: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Program {
  readonly id: string;
  readonly lines: readonly Line[];
  /** All that it wrote, to both outputs. */
  written(): string;
  /** The first line of this event, past or to come, of which all that is given is so. */
  line(event: string, given?: Partial<Line>): Promise<Line>;
  signal(signal: NodeJS.Signals): void;
  readonly ended: Promise<Exit>;
  hasEnded(): boolean;
  /** Kills it if it still runs, and waits for the end. */
  end(): Promise<void>;
}

interface Waiter {
  readonly fits: (line: Line) => boolean;
  readonly resolve: (line: Line) => void;
  readonly reject: (error: Error) => void;
}

const running = new Set<ChildProcess>();
// However this process ends, its children do.
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export function startProgram(
  id: string,
  command: Command,
  env: Readonly<Record<string, string>>,
): Program {
  const child = spawn(command.program, command.args, {
    cwd: command.cwd,
    env: { ...process.env, ...command.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  child.once("close", () => running.delete(child));
  const lines: Line[] = [];
  const waiters = new Set<Waiter>();
  let written = "";
  const ended = exitOf(child);

  createInterface({ input: child.stdout }).on("line", (text) => {
    written += `${text}\n`;
    const line = readLine(text);
    if (line === null) return;
    lines.push(line);
    for (const waiter of [...waiters].filter(({ fits }) => fits(line))) {
      waiters.delete(waiter);
      waiter.resolve(line);
    }
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    written += text;
  });
  child.once("close", () => {
    for (const { reject } of waiters) reject(new Error("the program ended before that"));
  });

  return Object.freeze({
    id,
    lines,
    written: () => written,
    line(event: string, given: Partial<Line> = {}): Promise<Line> {
      const wanted = Object.entries({ ...given, event });
      const fits = (line: Line): boolean => {
        const has = new Map<string, unknown>(Object.entries(line));
        return wanted.every(([name, value]) => has.get(name) === value);
      };
      const known = lines.find(fits);
      if (known !== undefined) return Promise.resolve(known);
      const coming = new Promise<Line>((resolve, reject) => {
        if (child.exitCode !== null) reject(new Error(`the program ended before "${event}"`));
        else waiters.add({ fits, resolve, reject });
      });
      // It may be awaited only later.
      coming.catch(() => undefined);
      return coming;
    },
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async end(): Promise<void> {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await ended.catch(() => undefined);
    },
  });
}

function exitOf(child: ChildProcess): Promise<Exit> {
  const ended = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  // Each call that waits for a line gets it.
  ended.catch(() => undefined);
  return ended;
}

/** Null: it is none of the protocol's, which the scenario's rules complain of. */
function readLine(text: string): Line | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const has = new Map<string, unknown>(Object.entries(value));
  const textOf = (name: string): string => {
    const got = has.get(name);
    return typeof got === "string" ? got : "";
  };
  const number = (name: string): number => {
    const got = has.get(name);
    return typeof got === "number" ? got : 0;
  };
  const item = has.get("item");
  return Object.freeze({
    event: textOf("event"),
    run: textOf("run"),
    step: textOf("step"),
    kind: textOf("kind"),
    attempt: number("attempt"),
    fence: number("fence"),
    key: textOf("key"),
    effectKey: textOf("effect_key"),
    callbackToken: textOf("callback_token"),
    item: typeof item === "number" ? item : null,
    why: textOf("why"),
    path: textOf("path"),
    act: textOf("act"),
  });
}
