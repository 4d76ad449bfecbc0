// A server as a process, on a database and, if named, an address: prints its address when it
// listens, drains on SIGTERM.
import { startServer } from "../../server/main.ts";

const [url = "", address = "127.0.0.1:0"] = process.argv.slice(2);
const server = await startServer({
  address,
  database: { kind: "url", url },
  log: { level: "error" },
});
process.stdout.write(`${server.address}\n`);
process.on("SIGTERM", () => {
  void server.stop().then(() => process.exit(0));
});
