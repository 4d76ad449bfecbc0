/**
 * Drover for a story: scheduler and supervisor in one process, with an embedded PostgreSQL or on
 * an empty database that is given.
 *
 * Prints one JSON line {address, connectionString} when it is ready; drains on SIGTERM. Ends with
 * code 1 and a sentence when it cannot start. With --require-tokens, no call is taken without one.
 */
import { once } from "node:events";
import { parseArgs } from "node:util";
import { postgresLauncher } from "@drover/dev-postgres/postgres.ts";
import { traceReceiver } from "@drover/server/config.ts";
import { startServer } from "@drover/server/main.ts";

async function serve(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    options: {
      "data-dir": text,
      "database-url": text,
      trace: text,
      "require-tokens": { type: "boolean", default: false },
    },
  });
  const dataDir = values["data-dir"];
  if (dataDir === undefined) throw new Error("--data-dir is missing; give the folder of the data");
  // Counts from the start on: a signal that comes early is obeyed when the server is up.
  const stopRequested = once(process, "SIGTERM");
  const url = values["database-url"];
  const database = url
    ? ({ kind: "url", url } as const)
    : ({ kind: "launched", launch: postgresLauncher(dataDir) } as const);
  const receiver = values.trace === undefined ? null : traceReceiver(values.trace);
  const trace = receiver ? { ...receiver, ratio: 1 } : undefined;
  const requireTokens = values["require-tokens"];
  const server = await startServer({ address: "127.0.0.1:0", database, trace, requireTokens });
  const { address, connectionString } = server;
  process.stdout.write(`${JSON.stringify({ address, connectionString })}\n`);
  await stopRequested;
  await server.stop();
}

await serve().catch((error: unknown) => {
  process.stderr.write(`server: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
