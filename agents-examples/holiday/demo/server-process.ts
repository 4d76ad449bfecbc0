/**
 * Drover for the demo: an embedded PostgreSQL, scheduler and supervisor in one process.
 *
 * Prints one JSON line {address, connectionString} when it is ready; drains on SIGTERM. Ends with
 * code 1 and a sentence when it cannot start.
 */
import { once } from "node:events";
import { parseArgs } from "node:util";
import { startServer } from "@drover/server/main.ts";

async function serve(): Promise<void> {
  const { values } = parseArgs({ options: { "data-dir": { type: "string" } } });
  const dataDir = values["data-dir"];
  if (dataDir === undefined) throw new Error("--data-dir is missing; give the folder of the data");
  // Counts from the start on: a signal that comes early is obeyed when the server is up.
  const told = once(process, "SIGTERM");
  const database = { kind: "embedded", dataDir } as const;
  const server = await startServer({ address: "127.0.0.1:0", database });
  const { address, connectionString } = server;
  process.stdout.write(`${JSON.stringify({ address, connectionString })}\n`);
  await told;
  await server.stop();
}

await serve().catch((error: unknown) => {
  process.stderr.write(`server: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
