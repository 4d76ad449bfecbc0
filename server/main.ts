// The two programs: their parts are created and started in order (database, migrations, store,
// control plane, port), and stopped in reverse, draining first. Only this file creates the real
// parts.
//
//   server       takes calls, and watches its share of the partitions unless configured otherwise
//   supervisor   takes no calls and watches: all partitions, a region, or (standby) what no other
//                process watches
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import type { Logger } from "pino";
import { createRpcServer } from "./api/server.ts";
import {
  createConnectionGuard,
  REFUSAL_REASONS,
  type Refusal,
} from "./api/transport/connection-guard.ts";
import { TRANSPORT_LIMITS } from "./api/transport/limits.ts";
import { createPagesPort, type Pages, statusPages } from "./api/transport/pages.ts";
import { systemClock, systemRandom } from "./clock.ts";
import {
  circuitConfig,
  type DatabaseConfig,
  HEALTH_DEFAULTS,
  type HealthConfig,
  LOG_DEFAULTS,
  type LogConfig,
  type SupervisorConfig,
  supervisorConfig,
  type TraceConfig,
} from "./config.ts";
import { type ControlPlane, createControlPlane } from "./control-plane.ts";
import type { CircuitSettings } from "./core/model/circuit.ts";
import { DroverError, errorMessage } from "./errors.ts";
import { checkDefinition } from "./expressions/definition-expressions.ts";
import type { IdentityConfig } from "./identity-config.ts";
import { createPost } from "./integrations/webhooks/post.ts";
import type { ControlPlaneOptions } from "./plane/options.ts";
import { RPC_DEFAULTS, type RpcConfig } from "./rpc-config.ts";
import { createPlaceOfSchedule } from "./scheduler/cron/schedule-control.ts";
import { createPlaceOfKey } from "./scheduler/run-id.ts";
import type { WholeStore } from "./store/all-shards.ts";
import { DATABASE_SCHEMA, databaseSchema } from "./store/postgres/database-schema.ts";
import { isRetryable } from "./store/postgres/failure.ts";
import { migrate, requireMigrated } from "./store/postgres/migrate.ts";
import { MIGRATIONS } from "./store/postgres/migrations-folder.ts";
import { createPostgresShards } from "./store/postgres/postgres-store.ts";
import { shardPlaces } from "./store/postgres/shard-address.ts";
import type { Shards } from "./store/shards.ts";
import type { Store } from "./store/store.ts";
import { wholeStore } from "./store/whole-store.ts";
import { createSupervisorHealth, type SupervisorHealth } from "./supervisor/health.ts";
import { NO_SUPERVISION, type Supervision } from "./supervisor/ownership.ts";
import { observeGauges, observeProcess } from "./telemetry/gauges.ts";
import { createLog } from "./telemetry/log.ts";
import { createMeasures, observePlane } from "./telemetry/measures.ts";
import { createMetrics, METRICS_CONTENT_TYPE, type Metrics } from "./telemetry/metrics.ts";
import type { SpanSink } from "./telemetry/spans.ts";
import { createTracedCalls } from "./telemetry/traces/call-spans.ts";
import type { TlsConfig } from "./tls-config.ts";

// The check of a JSON Schema is a function that ajv makes of a text. V8 of Node 24 retains each
// such text for ever, for the case that the same one comes again. A process compiles each once.
setFlagsFromString("--no-compilation-cache");

/**
 * Scans of the consistency check after which a round is late: with few runs it takes a third of
 * them.
 */
const SCANS_LATE_MAX = 100;
/** What `npm run dashboard` builds. */
const DASHBOARD = fileURLToPath(new URL("../web/dist", import.meta.url));

interface ProcessOptions {
  readonly database: DatabaseConfig;
  /** false: a schema that is older than needed is refused instead of migrated. Default true. */
  readonly migrate?: boolean;
  /** Thresholds of supervision; those left out have their defaults. */
  readonly settings?: Partial<SupervisorConfig>;
  /** When circuits open, and for how long; what is left out is as CIRCUIT_DEFAULTS. */
  readonly circuits?: Partial<CircuitSettings>;
  /** When the process counts as degraded; what is left out is as HEALTH_DEFAULTS. */
  readonly health?: Partial<HealthConfig>;
  /** Allows webhooks to this machine, its link and its cloud. Default false. */
  readonly allowLocalWebhooks?: boolean;
  readonly log?: Partial<LogConfig>;
  /** Left out: nothing is traced, and the exporter is not loaded. */
  readonly trace?: TraceConfig | undefined;
}

export interface ServerOptions extends ProcessOptions {
  /** `host:port`; port 0 is any free one. */
  readonly address: string;
  readonly insecureNoAuth?: boolean;
  /** Every call has to present an API token. Default false. */
  readonly requireTokens?: boolean;
  /** TLS ends in front of it, so that tokens never travel in plain text. Default false. */
  readonly tlsInFront?: boolean;
  /** Left out: plain text. */
  readonly tls?: TlsConfig;
  /** Who calls, besides by API tokens. Left out: API tokens are all. */
  readonly identities?: Partial<IdentityConfig>;
  /** Names under which a browser may reach it on loopback, besides localhost and addresses. */
  readonly hostNames?: readonly string[];
  /** none: other processes watch. Default embedded: it shares the partitions with all others. */
  readonly supervisor?: "embedded" | "none";
  readonly limits?: Partial<RpcConfig>;
  /** The template of links to traces (api/run/trace-link.ts); left out: there are none. */
  readonly traceLink?: string | undefined;
}

interface SupervisorOptions extends ProcessOptions {
  /**
   * The region that it watches, by name; left out: all of them, also those that are created later.
   */
  readonly region?: string;
  /** Takes over when no other process watches. Default false. */
  readonly standby?: boolean;
  /** `host:port` for /healthz, /readyz and /partitions; left out: no port. */
  readonly listen?: string;
  /** TLS of that port; left out: plain text. */
  readonly tls?: TlsConfig;
}

interface RunningServer {
  /** `host:port` that it listens on. */
  readonly address: string;
  readonly url: string;
  readonly connectionString: string;
  /**
   * Drains: answers parked polls, finishes what is in flight, hands partitions back. May be
   * repeated.
   */
  stop(): Promise<void>;
}

interface RunningSupervisor {
  /** Of its pages; null: it has no port. */
  readonly address: string | null;
  /** Finishes what is in flight and hands its partitions back. May be repeated. */
  stop(): Promise<void>;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  return starting(options, async ({ log, closers, settings, circuits }) => {
    const { connectionString, shards, store } = await openStore(options, {
      log,
      closers,
      settings,
    });
    const { address, supervisor } = options;
    const supervision = supervisor === "none" ? NO_SUPERVISION : undefined;
    const of = { shards, store, log, settings, circuits, address, supervision };
    const opened = await openPlane(options, of, closers);
    const { plane, metrics, supervisorHealth, sink } = opened;
    const rpc = createRpcServer({
      scheduler: plane.scheduler,
      dispatcher: plane.dispatcher,
      store,
      definitionCheck: checkDefinition,
      triggers: plane.triggers,
      payloadBytesMax: plane.payloadBytesMax,
      admitCall: plane.admitCall,
      weightOf: plane.weights.ofName,
      logs: plane.logs,
      config: {
        ...RPC_DEFAULTS,
        ...options.limits,
        ...parseAddress(address),
        insecureNoAuth: options.insecureNoAuth ?? false,
        requireTokens: options.requireTokens ?? false,
        tlsInFront: options.tlsInFront ?? false,
        tls: options.tls ?? null,
        identities: { ...RPC_DEFAULTS.identities, ...options.identities },
        hostNames: options.hostNames ?? [],
      },
      traceLink: options.traceLink,
      overdueMs: options.health?.overdueMs ?? settings.overdueMs,
      clock: systemClock,
      random: systemRandom,
      log,
      health: supervisorHealth.health,
      pages: metricsPage(metrics),
      onRefused: countRefusals(metrics),
      dashboard: DASHBOARD,
      traced: sink ? createTracedCalls(sink, systemClock, systemRandom) : undefined,
    });
    const listening = listeningAt(await rpc.start());
    closers.push(() => rpc.drain());
    const url = `${options.tls ? "https" : "http"}://${listening}`;
    return { address: listening, url, connectionString };
  });
}

export async function startSupervisor(options: SupervisorOptions): Promise<RunningSupervisor> {
  return starting(options, async ({ log, closers, settings, circuits }) => {
    const { shards, store } = await openStore(options, { log, closers, settings });
    const { region, standby = false, listen } = options;
    const regions = region === undefined ? null : [await regionNamed(store, region)];
    const supervision = { regions, standby };
    const of = { shards, store, log, settings, circuits, address: "supervisor", supervision };
    const { plane, metrics, supervisorHealth } = await openPlane(options, of, closers);
    if (listen === undefined) return { address: null };
    const port = createPagesPort(
      supervisorPages(plane, store, { metrics, supervisorHealth }),
      { ...parseAddress(listen), tls: options.tls ?? null },
      {
        guard: createConnectionGuard({
          ...RPC_DEFAULTS,
          clock: systemClock,
          log,
          limits: TRANSPORT_LIMITS,
          onRefused: countRefusals(metrics),
        }),
        clock: systemClock,
        log,
      },
    );
    const address = listeningAt(await port.start());
    closers.push(() => port.stop());
    return { address };
  });
}

type Closers = (() => Promise<unknown>)[];

interface Start {
  readonly log: Logger;
  readonly closers: Closers;
  readonly settings: SupervisorConfig;
  readonly circuits: CircuitSettings;
}

/** Runs the parts of a start, and closes what has been opened if one of them fails. */
async function starting<T extends object>(
  options: ProcessOptions,
  open: (start: Start) => Promise<T>,
): Promise<T & { stop(): Promise<void> }> {
  // Wrong settings are reported before anything is opened.
  const settings = supervisorConfig(options.settings ?? {});
  const circuits = circuitConfig(options.circuits ?? {});
  const log = createLog({ ...LOG_DEFAULTS, ...options.log });
  const closers: Closers = [];
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      for (const close of closers.reverse()) await close();
    })();
    return stopping;
  };
  try {
    return { ...(await open({ log, closers, settings, circuits })), stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

async function openStore(
  { database, migrate: migrates = true }: Pick<ProcessOptions, "database" | "migrate">,
  { log, closers, settings }: { log: Logger; closers: Closers; settings: SupervisorConfig },
) {
  const schema = databaseSchema(database.schema ?? DATABASE_SCHEMA);
  const connectionString = await openDatabase(database, log, closers);
  const { directUrl } = database.kind === "url" ? database : {};
  const directConnectionString = directUrl ?? connectionString;
  const prepare = migrates ? migrate : requireMigrated;
  await prepare(directConnectionString, {
    folder: MIGRATIONS,
    schema,
    onUnreachable: (shard, error) =>
      log.warn(
        { event: "migrations.unread", schema: shard, err: errorMessage(error) },
        `the node of ${shard} does not answer: its runs wait, and its tables are taken for up to date`,
      ),
  });
  const { polledMs, ownerLostMs } = settings;
  const times = { polledMs, ownerLostMs };
  const places = await shardPlaces(directConnectionString, schema);
  const shards = createPostgresShards(
    places.map(({ schema: own, address }) => {
      const reached = address ?? connectionString;
      const direct = address ?? directConnectionString;
      return { connectionString: reached, directConnectionString: direct, schema: own, log, times };
    }),
  );
  const store = wholeStore(shards, createPlaceOfSchedule(createPlaceOfKey()));
  closers.push(() => store.close());
  return { connectionString, shards, store };
}

interface Opened {
  readonly plane: ControlPlane;
  readonly metrics: Metrics;
  readonly supervisorHealth: SupervisorHealth;
  /** null: nothing is traced. */
  readonly sink: SpanSink | null;
}

async function openPlane(
  { allowLocalWebhooks: allowLocal = false, ...options }: ProcessOptions,
  of: {
    readonly shards: Shards<Store>;
    readonly store: WholeStore;
    readonly log: Logger;
    readonly settings: SupervisorConfig;
    readonly circuits: CircuitSettings;
    readonly address: string;
    readonly supervision: Supervision | undefined;
  },
  closers: Closers,
): Promise<Opened> {
  const { supervision, ...rest } = of;
  const metrics = createMetrics();
  const spans = await spansOf(options.trace, rest.log, metrics);
  const measures = createMeasures(metrics, systemClock);
  const plane = createControlPlane({
    ...rest,
    clock: systemClock,
    random: systemRandom,
    isRetryable,
    measures,
    spans,
    ...(supervision ? { supervision } : {}),
    post: createPost({ clock: systemClock, allowLocal }),
    inbox: rest.store.inbox,
    logs: rest.store.logs,
  });
  closers.push(() => plane.stop());
  await plane.start();
  const { store, log } = rest;
  const { partitions } = plane.ownership;
  const { overdueMs, unownedMs, consistencyEveryMs } = of.settings;
  const leastLateMs = SCANS_LATE_MAX * consistencyEveryMs;
  const consistencyLateMs = Math.max(of.settings.consistencyLateMs, leastLateMs);
  const late = { overdueMs, unownedMs, consistencyLateMs };
  const config = { ...HEALTH_DEFAULTS, ...late, ...options.health };
  const { consistencyAgeMs } = plane;
  const supervisorHealth = createSupervisorHealth({
    store,
    clock: systemClock,
    log,
    partitions,
    consistencyAgeMs,
    config,
    onFailed: () => measures.failed("health"),
  });
  observePlane(metrics, { plane, measures, supervisorHealth });
  observeGauges(metrics, store.operators, systemClock);
  observeProcess(metrics);
  await supervisorHealth.runOnce();
  supervisorHealth.start();
  closers.push(() => supervisorHealth.stop());
  return { plane, metrics, supervisorHealth, sink: spans?.sink ?? null };
}

async function spansOf(
  trace: TraceConfig | undefined,
  log: Logger,
  metrics: Metrics,
): Promise<ControlPlaneOptions["spans"]> {
  if (!trace) return undefined;
  const { createSpanSink } = await import("./telemetry/span-exporter.ts");
  const onLost = (count: number) => metrics.count("drover_spans_lost_total", count, {});
  return { sink: createSpanSink(trace, log, onLost), ratio: trace.ratio };
}

/** The counters begin at 0, so that a rate includes the first refusal. */
function countRefusals(metrics: Metrics): (reason: Refusal) => void {
  const count = (reason: Refusal, by = 1) =>
    metrics.count("drover_transport_refusals_total", by, { reason });
  for (const reason of REFUSAL_REASONS) count(reason, 0);
  return count;
}

function metricsPage(metrics: Metrics): Pages {
  return {
    "/metrics": async () => ({
      status: 200,
      contentType: METRICS_CONTENT_TYPE,
      body: await metrics.page(),
    }),
  };
}

async function regionNamed({ lists }: Pick<Store, "lists">, name: string): Promise<number> {
  const regions = await lists.regions();
  const found = regions.find((region) => region.name === name);
  if (found) return found.id;
  const known = regions.map((region) => region.name).join(", ");
  throw new DroverError(
    "INVALID_REQUEST",
    `there is no region "${name}", only ${known}: a region comes with its first namespace ` +
      `(drover namespace create NAME --region ${name})`,
  );
}

function supervisorPages(
  { ownership }: ControlPlane,
  store: WholeStore,
  { metrics, supervisorHealth }: Omit<Opened, "plane" | "sink">,
): Pages {
  const ready = async (): Promise<void> => {
    await store.ready();
    if (ownership.nodes() === null) throw new Error("it has no session");
  };
  return {
    ...statusPages(ready, () => false, supervisorHealth.health),
    ...metricsPage(metrics),
    "/partitions": async () => {
      const owned = ownership.owned().length;
      const unwatched = ownership.unwatched().length;
      const [node = null] = ownership.nodes() ?? [];
      const body = JSON.stringify({ node, owned, unwatched });
      return { status: 200, contentType: "application/json", body: `${body}\n` };
    },
  };
}

function listeningAt({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function openDatabase(
  database: DatabaseConfig,
  log: Logger,
  closers: Closers,
): Promise<string> {
  if (database.kind === "url") return database.url;
  const launched = await database.launch((message) => log.info({ event: "database" }, message));
  closers.push(() => launched.stop());
  return launched.connectionString;
}

/** `host:port`, `[v6]:port`, or a port alone on loopback. */
function parseAddress(address: string): { host: string; port: number } {
  const found = /^(?:(?<host>[^:]+|\[[^\]]+\]):)?(?<port>\d{1,5})$/.exec(address);
  const port = Number(found?.groups?.port);
  if (!found || port > 65_535)
    throw new Error(`"${address}" is no address: write host:port, as 127.0.0.1:7420`);
  const host = found.groups?.host?.replaceAll(/[[\]]/g, "") ?? RPC_DEFAULTS.host;
  return { host, port };
}
