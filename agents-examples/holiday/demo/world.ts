/**
 * Everything that the demo starts: a folder, Drover with its PostgreSQL, three remote services with
 * a ledger each, three agents. And the way back: nothing of it is left.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stopAbandonedPostgres } from "@drover/server/embedded/postgres.ts";
import type { ServiceKind } from "../services/booking-desk.ts";
import { travellersWithoutHotel } from "./holidays.ts";
import type { Child, Processes } from "./processes.ts";

export interface Place {
  readonly folder: string;
  readonly database: string;
  readonly logs: string;
  readonly ledgers: Readonly<Record<ServiceKind, string>>;
  /** Removes a temporary folder; one that was asked for stays. */
  readonly leave: () => void;
}

export function makePlace(dataDir: string | null): Place {
  const folder = dataDir === null ? makeTemporary() : resolve(dataDir);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new Error(`--data-dir: ${folder} is not empty; remove it, or name a new folder`);
  }
  const [logs, ledgers] = [join(folder, "logs"), join(folder, "ledgers")];
  for (const made of [logs, ledgers]) mkdirSync(made, { recursive: true });
  return {
    folder,
    database: join(folder, "database"),
    logs,
    ledgers: {
      flight: join(ledgers, "flight.jsonl"),
      hotel: join(ledgers, "hotel.jsonl"),
      car: join(ledgers, "car.jsonl"),
    },
    leave() {
      if (dataDir === null) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function makeTemporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-holiday-"));
  // As root, PostgreSQL runs under another account, which must be able to pass.
  chmodSync(folder, 0o711);
  return folder;
}

export interface Drover {
  /** host:port. */
  readonly address: string;
  readonly connectionString: string;
}

export async function startDrover(place: Place, processes: Processes): Promise<Drover> {
  const { ready } = await processes.startReady({
    name: "server",
    program: "demo/server-process.ts",
    args: ["--data-dir", place.database],
  });
  return {
    address: textIn(ready, "address"),
    connectionString: textIn(ready, "connectionString"),
  };
}

/** URL of each remote service. */
export type Services = Readonly<Record<ServiceKind, string>>;

export async function startServices(
  place: Place,
  processes: Processes,
  seed: number,
): Promise<Services> {
  const start = async (kind: ServiceKind) => {
    const full = kind === "hotel" ? ["--full", ...travellersWithoutHotel] : [];
    const { ready } = await processes.startReady({
      name: `${kind}-service`,
      program: "services/booking-service.ts",
      args: ["--kind", kind, "--ledger", place.ledgers[kind], "--seed", String(seed), ...full],
    });
    return textIn(ready, "url");
  };
  const [flight, hotel, car] = await Promise.all([start("flight"), start("hotel"), start("car")]);
  return { flight, hotel, car };
}

export function startAgent(
  processes: Processes,
  kind: ServiceKind,
  { address, service }: { readonly address: string; readonly service: string },
): Child {
  return processes.start({
    name: `${kind}-agent`,
    program: `agents/${kind}-agent.ts`,
    args: ["--address", address, "--service", service],
  });
}

/** Stops all that runs and removes what need not stay; may be called at any time. */
export async function leaveNothing(place: Place, processes: Processes): Promise<void> {
  await processes.stopAll();
  // Only a server that was killed leaves its database running.
  if (existsSync(join(place.database, "postgres"))) await stopAbandonedPostgres(place.database);
  place.leave();
}

function textIn(ready: unknown, name: string): string {
  const fields: Readonly<Record<string, unknown>> =
    typeof ready === "object" && ready !== null ? { ...ready } : {};
  const value = fields[name];
  if (typeof value === "string") return value;
  throw new Error(`a process says that it is ready without its ${name}: ${JSON.stringify(ready)}`);
}
