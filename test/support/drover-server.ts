// Real servers for tests: in this process on a database of their own, or as processes that can be
// killed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type ServerOptions, startServer } from "../../server/main.ts";
import { createTestDatabase } from "./postgres.ts";

export interface TestServer {
  readonly address: string;
  readonly url: string;
  readonly connectionString: string;
  stop(): Promise<void>;
}

/** A server in this process. Without a connection string it gets a database of its own. */
export async function startDroverServer(
  connectionString?: string,
  more: Partial<ServerOptions> = {},
): Promise<TestServer> {
  const database = connectionString ? null : await createTestDatabase({ shards: true });
  const url = connectionString ?? database?.connectionString ?? "";
  const server = await startServer({
    address: "127.0.0.1:0",
    database: { kind: "url", url },
    log: { level: "silent" },
    ...more,
  });
  return {
    ...server,
    async stop() {
      await server.stop();
      await database?.drop();
    },
  };
}

export interface ServerProcess {
  readonly address: string;
  readonly child: ChildProcess;
  /** Sends the signal and, unless it only freezes or wakes, waits for the end. */
  signal(signal: NodeJS.Signals): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL("./server-process.ts", import.meta.url));

/**
 * A server as a process of its own on this database; without an address, on any free port.
 * `traces`: the URL of a receiver; left out: it makes none.
 */
export async function spawnDroverServer(
  connectionString: string,
  address = "127.0.0.1:0",
  traces?: string,
): Promise<ServerProcess> {
  const more = traces === undefined ? [] : [traces];
  const child = spawn(process.execPath, [PROGRAM, connectionString, address, ...more], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => {
      throw new Error("the server process ended before it listened");
    }),
  ]);
  return {
    address: String(line),
    child,
    async signal(signal) {
      const ended = child.exitCode !== null || child.signalCode !== null;
      child.kill(signal);
      if (signal !== "SIGSTOP" && signal !== "SIGCONT" && !ended) await once(child, "exit");
    },
  };
}
