/**
 * Runs a server (of `dev` and `server`) or a supervisor in this process until a signal ends it.
 *
 *     starting -> serving -SIGINT or SIGTERM-> draining -> stopped
 *
 * The first signal drains and stops. The second ends the process at once, which is safe, too:
 * everything that was acknowledged is in the database.
 */
import type {
  CircuitConfig,
  LogConfig,
  SupervisorConfig,
  TraceConfig,
} from "@drover/server/config.ts";
import type { IdentityConfig } from "@drover/server/identity-config.ts";
import type { ApiLimitConfig, RpcConfig } from "@drover/server/rpc-config.ts";
import type { TlsConfig } from "@drover/server/tls-config.ts";
import type { Context } from "./context.ts";
import { type Database, serverDatabase } from "./database.ts";
import { CliFailure, type ExitCode, exitCodes } from "./failure.ts";

export interface ServeOptions {
  readonly database: Database;
  /** false: a schema that is too old is refused; left out: it is migrated. */
  readonly migrate?: boolean;
  readonly insecureNoAuth: boolean;
  /** Every call must send an API token; left out: no call needs one. */
  readonly requireTokens?: boolean;
  /** A proxy in front of the server terminates TLS. */
  readonly tlsInFront?: boolean;
  /** Left out: plain text. */
  readonly tls?: TlsConfig;
  /** Who calls, besides by API tokens; left out: API tokens are all. */
  readonly identities?: IdentityConfig;
  /** Names under which a browser may reach the server on loopback. */
  readonly hostNames?: readonly string[];
  /** Allows webhooks to this machine and its local network. */
  readonly allowLocalWebhooks: boolean;
  readonly supervisor: "embedded" | "none";
  /** Thresholds of the supervisor. */
  readonly settings: SupervisorConfig;
  /** When circuits open, and for how long; left out: the defaults. */
  readonly circuits?: CircuitConfig;
  /** Limits of concurrent calls; left out: the defaults. */
  readonly limits?: Partial<ApiLimitConfig & Pick<RpcConfig, "lameDuckMs">>;
  /** undefined: traces are off. */
  readonly trace: TraceConfig | undefined;
  /** The template of links to traces; undefined: there are none. */
  readonly traceLink: string | undefined;
  readonly log: LogConfig;
  /** Commands to try once the server is up, one a line. */
  readonly next: readonly string[];
}

const endedBySignal = 130;

export async function serve(
  { database, next, ...options }: ServeOptions,
  { address, output }: Context,
): Promise<ExitCode> {
  const signals = listenForSignals();
  const { startServer } = await import("@drover/server/main.ts");
  const server = await startServer({
    address,
    database: serverDatabase(database),
    ...options,
  }).catch((error: unknown) => {
    throw isAddressInUse(error) ? addressInUse(address) : error;
  });
  output.line(`database  ${whereOf(database)}`);
  output.line(`server    ${server.address}: gRPC, Connect and JSON at ${server.url}`);
  output.line(`dashboard ${server.url}/`);
  if (options.trace) output.line(`traces    to ${options.trace.url}`);
  for (const hint of next) output.line(`  next: ${hint}`);
  return untilSignal(signals, server, "draining", output);
}

export interface SuperviseOptions {
  readonly database: Database;
  /** false: a schema that is too old is refused; left out: it is migrated. */
  readonly migrate?: boolean;
  readonly allowLocalWebhooks: boolean;
  readonly standby: boolean;
  readonly region?: string;
  readonly listen?: string;
  /** TLS of the pages; left out: plain text. */
  readonly tls?: TlsConfig;
  /** Thresholds of the supervisor. */
  readonly settings: SupervisorConfig;
  readonly circuits: CircuitConfig;
  readonly trace: TraceConfig | undefined;
  readonly log: LogConfig;
}

export async function supervise(
  { database, ...options }: SuperviseOptions,
  { output }: Context,
): Promise<ExitCode> {
  const signals = listenForSignals();
  const { startSupervisor } = await import("@drover/server/main.ts");
  const supervisor = await startSupervisor({
    database: serverDatabase(database),
    ...options,
  }).catch((error: unknown) => {
    throw isAddressInUse(error) ? addressInUse(options.listen ?? "") : error;
  });
  const what = options.region === undefined ? "all regions" : `the region ${options.region}`;
  output.line(`database    ${whereOf(database)}`);
  output.line(`supervisor  of ${what}${options.standby ? ", on standby" : ""}`);
  if (supervisor.address !== null)
    output.line(
      `pages       ${options.tls ? "https" : "http"}://${supervisor.address}/healthz, /readyz, /partitions`,
    );
  return untilSignal(signals, supervisor, "handing partitions back", output);
}

function whereOf(database: Database): string {
  const schema = `schema ${database.schema}`;
  if (database.kind === "url") return `PostgreSQL of DATABASE_URL or --database-url, ${schema}`;
  return `embedded PostgreSQL, data in ${database.dataDir} (drover db url), ${schema}`;
}

async function untilSignal(
  signals: ReturnType<typeof listenForSignals>,
  running: { stop(): Promise<void> },
  what: string,
  output: Context["output"],
): Promise<ExitCode> {
  const signal = await signals.first;
  output.note(`${signal}: ${what}; a second signal stops at once`);
  signals.endAtNext();
  await running.stop();
  output.note("stopped");
  return exitCodes.done;
}

function isAddressInUse(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EADDRINUSE";
}

function addressInUse(address: string): CliFailure {
  return new CliFailure(`a process already listens at ${address}`, {
    code: exitCodes.failed,
    next: "if it is Drover, use it: drover run list; else choose another --address",
  });
}

/** Signals are recorded from the start on: an early one takes effect when the server is up. */
function listenForSignals() {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let last = false;
  const obey = (signal: NodeJS.Signals) => {
    if (last) process.exit(endedBySignal);
    resolve(signal);
  };
  process.on("SIGINT", obey);
  process.on("SIGTERM", obey);
  return {
    first: promise,
    endAtNext: () => {
      last = true;
    },
  };
}
