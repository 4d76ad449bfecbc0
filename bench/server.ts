// A server on a database, as a process of its own: says its address when it listens, and drains on
// SIGTERM.
//   node server.ts CONNECTION-STRING
import { startServer } from "../server/main.ts";

const [url = ""] = process.argv.slice(2);
const server = await startServer({
  address: "127.0.0.1:0",
  database: { kind: "url", url },
  log: { level: "error" },
});
process.stdout.write(`${server.address}\n`);
process.on("SIGTERM", () => {
  void server.stop().then(() => process.exit(0));
});
