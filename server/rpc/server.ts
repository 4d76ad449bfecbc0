// The edge of the server: one port, two transports, the same handlers behind both.
//
//   new → start → serving → drain → closed
//
// A drain is ours to do (grpc-js does not wait for injected connections): health says NOT_SERVING,
// parked polls are answered empty, new calls are refused with DRAINING; when nothing is in flight, or
// the grace is over, clients are told to go and what is left is cut. `stop` cuts at once. Both may be
// called twice, and stop during a drain.
import { createServer } from "node:http";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { file_drover_v1_error_reason } from "@drover/proto/drover/v1/error_reason_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { file_google_rpc_error_details } from "@drover/proto/google/rpc/error_details_pb.ts";
import { Health } from "@drover/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "@drover/proto/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "@drover/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import type { Clock } from "../clock.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { Store } from "../store/store.ts";
import { AGENT_ITEM_FIELDS, createAgentService } from "./agent-service.ts";
import { createConnectTransport } from "./connect.ts";
import { createDrain, type Drain } from "./drain.ts";
import { createGrpcTransport } from "./grpc.ts";
import { createHealth } from "./health.ts";
import { type Pages, servePage, statusPages } from "./http.ts";
import { createMount, type Log, type Mount, type Mounted } from "./mount.ts";
import { createNamespaces } from "./namespaces.ts";
import { createPort } from "./port.ts";
import { createReflection } from "./reflection.ts";
import { createRequestCheck, type RequestCheck } from "./request-check.ts";
import { createSchedulerService } from "./scheduler-service.ts";

export interface RpcConfig {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Allows an address that is not loopback. */
  readonly insecureNoAuth: boolean;
  /** One payload, in bytes; the rules of the proto have the hard limit of 2 MiB. */
  readonly payloadBytesMax: number;
  /** One request, in bytes. */
  readonly messageBytesMax: number;
  /** A caller's deadline that is further away is a mistake. */
  readonly deadlineMsMax: number;
  /** Calls in flight, parked polls included (each holds about 12 kB). */
  readonly callsMax: number;
  readonly connectionsMax: number;
  /** Calls in flight on one HTTP/2 connection. */
  readonly streamsPerConnectionMax: number;
  /** How long a drain waits for calls that are in flight. */
  readonly drainMs: number;
}

export const RPC_DEFAULTS: RpcConfig = Object.freeze({
  host: "127.0.0.1",
  port: 7400,
  insecureNoAuth: false,
  payloadBytesMax: 256 * 1024,
  messageBytesMax: 4 * 1024 * 1024,
  deadlineMsMax: 24 * 3_600_000,
  callsMax: 20_000,
  connectionsMax: 10_000,
  streamsPerConnectionMax: 1_000,
  drainMs: 10_000,
});

export interface RpcServerDeps {
  readonly scheduler: Scheduler;
  readonly dispatcher: Dispatcher;
  readonly store: Pick<Store, "namespace" | "reads" | "definition" | "workflowVersion" | "ready">;
  readonly config: RpcConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** Further pages by path, such as /metrics. */
  readonly pages?: Pages;
}

export interface RpcServer {
  start(): Promise<{ readonly host: string; readonly port: number }>;
  drain(): Promise<void>;
  stop(): Promise<void>;
}

/** For a client's connection to be left alone between two calls of a person. */
const HTTP1_IDLE_MS = 75_000;
/** What is already answered is on its way out for this long after the last call. */
const LAST_BYTES_MS = 1_000;

export function createRpcServer(deps: RpcServerDeps): RpcServer {
  const { config, clock, log } = deps;
  const drain = createDrain();
  const check = createRequestCheck(config);
  const mount = createMount({ check, drain, log, ...config });
  const health = createHealth([SchedulerService.typeName, AgentService.typeName]);
  const methods = [
    ...droverMethods(deps, mount, drain, check),
    ...mount.service(Health, health.handlers, { always: true }),
    ...reflectionMethods(mount),
  ];
  const grpc = createGrpcTransport(methods, config, clock.wallMs);
  const connect = createConnectTransport(methods, config, mount, log);
  const pages = {
    ...statusPages(
      () => deps.store.ready(),
      () => drain.begun,
    ),
    ...deps.pages,
  };
  const http = createServer({ keepAliveTimeout: HTTP1_IDLE_MS }, (request, response) => {
    if (drain.begun) response.setHeader("connection", "close");
    if (!connect.handle(request, response)) servePage(pages, request, response);
  });
  // It never listens by itself, and would start its checks for slow senders only then.
  http.emit("listening");
  const port = createPort(config, {
    onHttp2: grpc.accept,
    onHttp1: (socket) => void http.emit("connection", socket),
    clock,
    log,
  });

  let draining: Promise<void> | null = null;
  let stopping: Promise<void> | null = null;

  async function drainOnce(): Promise<void> {
    health.setServing(false);
    drain.begin();
    const grace = new AbortController();
    const over = clock.sleep(config.drainMs, grace.signal).catch(() => {});
    await Promise.race([drain.idle(), over]);
    if (drain.inFlight > 0)
      log.warn({ calls: drain.inFlight }, "the grace of the drain is over: calls are cut");
    grace.abort();
    health.close();
    const closed = port.close();
    http.closeIdleConnections();
    grpc.drain(LAST_BYTES_MS);
    const last = new AbortController();
    await Promise.race([closed, clock.sleep(LAST_BYTES_MS, last.signal).catch(() => {})]);
    last.abort();
    await stop();
  }

  async function stopOnce(): Promise<void> {
    health.setServing(false);
    drain.begin();
    health.close();
    const closed = port.close();
    grpc.stop();
    http.closeAllConnections();
    http.close();
    port.destroy();
    await closed;
  }

  function stop(): Promise<void> {
    stopping ??= stopOnce();
    return stopping;
  }

  return Object.freeze({
    async start() {
      const address = await port.start();
      health.setServing(true);
      log.info(address, "serving");
      return address;
    },
    drain() {
      draining ??= drainOnce();
      return draining;
    },
    stop,
  });
}

function droverMethods(
  deps: RpcServerDeps,
  mount: Mount,
  drain: Drain,
  check: RequestCheck,
): readonly Mounted[] {
  const namespaces = createNamespaces(deps.store);
  const common = { ...deps, namespaces, drain, check };
  return [
    ...mount.service(SchedulerService, createSchedulerService(common)),
    ...mount.service(AgentService, createAgentService(common), { itemFields: AGENT_ITEM_FIELDS }),
  ];
}

function reflectionMethods(mount: Mount): readonly Mounted[] {
  const reflection = createReflection(
    [SchedulerService, AgentService, Health, ServerReflection, ServerReflectionAlpha],
    [file_google_rpc_error_details, file_drover_v1_error_reason],
  );
  return [
    ...mount.service(ServerReflection, reflection.v1, { always: true }),
    ...mount.service(ServerReflectionAlpha, reflection.v1alpha, { always: true }),
  ];
}
