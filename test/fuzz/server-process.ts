// The server that is fuzzed, as a process: prints its address when it listens. It measures how long
// its thread is kept from everything else, in CPU time, so that other programs of the machine do
// not count. A line `memory` on standard input asks for what is in use after a collection.
import { createInterface } from "node:readline";
import { startServer } from "../../server/main.ts";

const TICK_MS = 10;

const [url = ""] = process.argv.slice(2);
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const server = await startServer({
  address: "127.0.0.1:0",
  database: { kind: "url", url },
  log: { level: "warn" },
});

/** CPU time of this thread in milliseconds. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

let ranMs = threadMs();
setInterval(() => {
  const nowMs = threadMs();
  // Between two ticks a free thread works for about a tick.
  const blockedMs = nowMs - ranMs - TICK_MS;
  ranMs = nowMs;
  if (blockedMs > 50) say({ blockedMs });
}, TICK_MS).unref();

createInterface({ input: process.stdin }).on("line", (line) => {
  if (line !== "memory") return;
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  say({ memoryBytes: heapUsed + external });
});

process.on("SIGTERM", () => {
  void server.stop().then(() => process.exit(0));
});
say({ address: server.address });
