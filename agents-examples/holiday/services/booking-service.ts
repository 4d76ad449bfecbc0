/**
 * A remote service of the outside world, as a process of its own: books flights, hotels or cars,
 * keeps a ledger, and is as unreliable over HTTP as the table in faults.ts defines.
 *
 * Prints one JSON line {kind, port, url, ledger} when it is ready. Ends on SIGTERM or SIGINT with
 * code 0; with 2 for wrong flags, 1 when it cannot start.
 */

import { parseArgs } from "node:util";
import { createSeededRandom } from "../../stage/seeded-random.ts";
import { createBookingDesk, type ServiceKind, serviceKinds } from "./booking-desk.ts";
import { createBookingServer } from "./booking-http.ts";
import { calmWorld, createFaults, type FaultTable, flakyWorld, parseFaults } from "./faults.ts";
import { openLedger } from "./ledger.ts";

const usage = `usage: node booking-service.ts --kind flight|hotel|car --ledger FILE
  --port N        port on loopback; 0 (default) takes a free one
  --seed N        seed of the faults (default 1)
  --full NAME...  travellers for whom there is no room, and hotels that have none, ever
  --calm          no faults
  --faults JSON   other probabilities, e.g. '{"busy": 0.5}', over the default ones or --calm
  --verbose       one line for each request on stderr`;

interface Settings {
  readonly kind: ServiceKind;
  readonly port: number;
  readonly seed: string;
  readonly ledgerPath: string;
  readonly full: ReadonlySet<string>;
  readonly table: FaultTable;
  readonly verbose: boolean;
}

function readSettings(args: readonly string[]): Settings {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      kind: { type: "string" },
      port: { type: "string", default: "0" },
      seed: { type: "string", default: "1" },
      ledger: { type: "string" },
      full: { type: "string", multiple: true, default: [] },
      calm: { type: "boolean", default: false },
      faults: { type: "string", default: "{}" },
      verbose: { type: "boolean", default: false },
    },
  });
  const kind = serviceKinds.find((known) => known === values.kind);
  if (kind === undefined) {
    throw new Error(`--kind is ${values.kind ?? "missing"}; give ${serviceKinds.join(", ")}`);
  }
  if (!values.ledger) throw new Error("--ledger is missing; give the file to store bookings in");
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    throw new Error(`--port is ${values.port}; give a number from 0 to 65535`);
  }
  // `--full A B C`: the parser takes A for the flag, and the rest for positional arguments.
  if (positionals.length > 0 && values.full.length === 0) {
    throw new Error(`"${positionals[0]}" belongs to no flag`);
  }
  const full = new Set([...values.full, ...positionals]);
  if (full.size > 0 && kind !== "hotel") {
    throw new Error(`--full is for hotels only; leave it out for --kind ${kind}`);
  }
  const table = parseFaults(values.faults, values.calm ? calmWorld : flakyWorld);
  const { seed, ledger: ledgerPath, verbose } = values;
  return { kind, port, seed, ledgerPath, full, table, verbose };
}

async function serve(settings: Settings): Promise<void> {
  const { kind, ledgerPath, full } = settings;
  const ledger = openLedger(ledgerPath);
  const desk = createBookingDesk({ kind, ledger, full, now: () => new Date() });
  // The kind is part of the seed: three services of one seed must not fail at the same time.
  const faults = createFaults(settings.table, createSeededRandom(`${kind}:${settings.seed}`));
  const log = settings.verbose
    ? (line: string) => void process.stderr.write(`${kind} ${line}\n`)
    : () => {};
  const server = createBookingServer({ desk, ledger, faults, log });

  async function stop(): Promise<void> {
    await server.stop();
    ledger.close();
  }
  process.on("SIGTERM", () => void stop());
  process.on("SIGINT", () => void stop());

  const port = await server.start(settings.port);
  const ready = { kind, port, url: `http://127.0.0.1:${port}`, ledger: ledgerPath };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
}

function fail(error: unknown, code: number, more: string): never {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`booking-service: ${text}\n${more}`);
  process.exit(code);
}

function main(args: readonly string[]): Promise<void> {
  let settings: Settings;
  try {
    settings = readSettings(args);
  } catch (error) {
    return fail(error, 2, `${usage}\n`);
  }
  return serve(settings).catch((error: unknown) => fail(error, 1, ""));
}

await main(process.argv.slice(2));
