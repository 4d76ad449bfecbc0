// A server as a process, on a database and, if named, an address and a receiver of traces: prints
// its address when it listens, drains on SIGTERM.
import { startServer } from "../../server/main.ts";

const [url = "", address = "127.0.0.1:0", traces] = process.argv.slice(2);
const trace = { protocol: "http", ratio: 1 } as const;
const server = await startServer({
  address,
  database: { kind: "url", url },
  log: { level: "error" },
  ...(traces === undefined ? {} : { trace: { ...trace, url: traces } }),
});
process.stdout.write(`${server.address}\n`);
process.on("SIGTERM", () => {
  void server.stop().then(() => process.exit(0));
});
