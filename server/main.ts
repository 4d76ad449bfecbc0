// A server, put together and started in order: database, migrations, store, control plane, port;
// and stopped in reverse, draining first. The only place that constructs things for real.
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { systemClock, systemRandom } from "./clock.ts";
import {
  type DatabaseConfig,
  HEALTH_DEFAULTS,
  type HealthConfig,
  LOG_DEFAULTS,
  type LogConfig,
  RPC_DEFAULTS,
  type RpcConfig,
  type SupervisorConfig,
  supervisorConfig,
} from "./config.ts";
import { createControlPlane } from "./control-plane.ts";
import type { CircuitSettings } from "./core/circuit.ts";
import { createEmbeddedPostgres } from "./embedded/postgres.ts";
import { checkDefinition } from "./expressions/definition-expressions.ts";
import { createMeasures, observePlane } from "./measures.ts";
import { createRpcServer } from "./rpc/server.ts";
import { partitionsOf } from "./store/partition.ts";
import { isRetryable } from "./store/postgres/failure.ts";
import { migrate } from "./store/postgres/migrate.ts";
import { createPostgresStore } from "./store/postgres/postgres-store.ts";
import { createItself } from "./supervisor/itself.ts";
import { createLog } from "./telemetry/log.ts";
import { createMetrics, METRICS_CONTENT_TYPE } from "./telemetry/metrics.ts";
import { createPost } from "./webhooks/post.ts";

export const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));

export interface ServerOptions {
  /** `host:port`; port 0 is any free one. */
  readonly address: string;
  readonly database: DatabaseConfig;
  readonly insecureNoAuth?: boolean;
  /** Lets webhooks go to this machine and its link. Default false. */
  readonly allowLocalWebhooks?: boolean;
  /** When circuits open, and for how long; what is left out is as CIRCUIT_DEFAULTS. */
  readonly circuits?: Partial<CircuitSettings>;
  readonly log?: Partial<LogConfig>;
  readonly limits?: Partial<RpcConfig>;
  /** Thresholds of the watches; those left out have their defaults. */
  readonly supervisor?: Partial<SupervisorConfig>;
  readonly health?: Partial<HealthConfig>;
}

export interface RunningServer {
  /** `host:port` that it listens on. */
  readonly address: string;
  readonly url: string;
  readonly connectionString: string;
  /**
   * Drains: answers parked polls, finishes what is under way, hands partitions back. May be
   * repeated.
   */
  stop(): Promise<void>;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const settings = supervisorConfig(options.supervisor ?? {});
  const log = createLog({ ...LOG_DEFAULTS, ...options.log });
  const closers: (() => Promise<unknown>)[] = [];
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      for (const close of closers.reverse()) await close();
    })();
    return stopping;
  };
  try {
    const connectionString = await openDatabase(options.database, log, closers);
    await migrate(connectionString, { folder: MIGRATIONS });
    const store = createPostgresStore({ connectionString, log });
    closers.push(() => store.close());
    const { address } = options;
    const common = { store, clock: systemClock, random: systemRandom, log, isRetryable };
    const post = createPost({
      clock: systemClock,
      allowLocal: options.allowLocalWebhooks ?? false,
    });
    const { circuits = {} } = options;
    const metrics = createMetrics();
    const measures = createMeasures(metrics, systemClock);
    const plane = createControlPlane({ ...common, address, post, circuits, settings, measures });
    closers.push(() => plane.stop());
    await plane.start();
    const config = { ...HEALTH_DEFAULTS, ...options.health };
    const itself = createItself({
      store,
      clock: systemClock,
      log,
      partitions: partitionsOf(0),
      config,
    });
    observePlane(metrics, { plane, measures, itself });
    await itself.runOnce();
    itself.start();
    closers.push(() => itself.stop());
    const rpc = createRpcServer({
      scheduler: plane.scheduler,
      dispatcher: plane.dispatcher,
      store,
      definitionCheck: checkDefinition,
      triggers: plane.triggers,
      config: {
        ...RPC_DEFAULTS,
        ...options.limits,
        ...parseAddress(address),
        insecureNoAuth: options.insecureNoAuth ?? false,
      },
      clock: systemClock,
      log,
      health: itself.health,
      pages: {
        "/metrics": async () => ({
          status: 200,
          contentType: METRICS_CONTENT_TYPE,
          body: await metrics.page(),
        }),
      },
    });
    const at = await rpc.start();
    closers.push(() => rpc.drain());
    const host = at.host.includes(":") ? `[${at.host}]` : at.host;
    const listening = `${host}:${at.port}`;
    return { address: listening, url: `http://${listening}`, connectionString, stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

async function openDatabase(
  database: DatabaseConfig,
  log: Logger,
  closers: (() => Promise<unknown>)[],
): Promise<string> {
  if (database.kind === "url") return database.url;
  const embedded = createEmbeddedPostgres({
    dataDir: database.dataDir,
    log: (message) => log.info({ event: "embedded" }, message),
  });
  closers.push(() => embedded.stop());
  const { connectionString } = await embedded.start();
  return connectionString;
}

/** `host:port`, `[v6]:port`, or a port alone on loopback. */
export function parseAddress(address: string): { host: string; port: number } {
  const found = /^(?:(?<host>[^:]+|\[[^\]]+\]):)?(?<port>\d{1,5})$/.exec(address);
  const port = Number(found?.groups?.port);
  if (!found || port > 65_535)
    throw new Error(`"${address}" is no address: write host:port, as 127.0.0.1:7420`);
  const host = found.groups?.host?.replaceAll(/[[\]]/g, "") ?? RPC_DEFAULTS.host;
  return { host, port };
}
