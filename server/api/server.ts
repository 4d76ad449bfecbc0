// The edge of the server: one port, two transports, the same handlers behind both.
//
//   new → start → serving → drain (leaving → draining) → closed
//
// The drain is implemented here, because grpc-js does not wait for injected connections.
//
//   leaving    health says NOT_SERVING, and HTTP/1.1 connections close after their next answer. All
//              calls are served, for as long as load balancers need to notice (lameDuckMs)
//   draining   GOAWAY: a client opens a new connection, elsewhere. Parked polls are answered empty,
//              new calls are refused with DRAINING, calls in flight end
//
// When no call is in flight, or the grace period is over, remaining connections are cut. `stop`
// cuts them at once. Both may be called twice, and stop may be called during a drain.
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { file_drover_v1_error_reason } from "@drover/proto/drover/v1/error_reason_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { file_google_rpc_error_details } from "@drover/proto/google/rpc/error_details_pb.ts";
import { Health as HealthService } from "@drover/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "@drover/proto/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "@drover/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import type { Clock, Random } from "../clock.ts";
import type { Dispatcher, LogAppends } from "../dispatch/dispatcher.ts";
import type { DroverError } from "../errors.ts";
import type { TriggerWork } from "../integrations/triggers/trigger-work.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { RpcConfig } from "../rpc-config.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { AllShards } from "../store/all-shards.ts";
import type { OperatorStore } from "../store/operator-store.ts";
import { createIdentity } from "./auth/authenticate.ts";
import { createDrain, type Drain } from "./calls/drain.ts";
import { createFailOvers } from "./calls/fail-overs.ts";
import {
  createMount,
  type Log,
  type Mount,
  type Mounted,
  type TracedCalls,
} from "./calls/mount.ts";
import { createNamespaces } from "./calls/namespace-names.ts";
import { createRequestCheck } from "./calls/request-check.ts";
import { droverMethods } from "./drover-methods.ts";
import { createRunLookup } from "./run/run-lookup.ts";
import { type ConnectTransport, createConnectTransport } from "./transport/connect.ts";
import {
  type ConnectionGuard,
  createConnectionGuard,
  type Refusal,
} from "./transport/connection-guard.ts";
import { createDashboard } from "./transport/dashboard.ts";
import { createGrpcTransport, type GrpcTransport } from "./transport/grpc.ts";
import { createHealth, type Health } from "./transport/health.ts";
import { guardAnswer, hostRefusal, originRefusal, refuseHost } from "./transport/host-check.ts";
import { createHttp1, type Http1 } from "./transport/http1.ts";
import { TRANSPORT_LIMITS, type TransportLimits } from "./transport/limits.ts";
import {
  guarded,
  type Health as HealthReported,
  type Pages,
  servePage,
  statusPages,
} from "./transport/pages.ts";
import { createPort, type Port } from "./transport/port.ts";
import { createReflection } from "./transport/reflection.ts";
import { providerOrigins, signInPages } from "./transport/sign-in.ts";
import { createTriggerActions } from "./trigger/trigger-actions.ts";
import { createTriggerRoute, type TriggerRoute } from "./trigger/trigger-route.ts";
import type { DefinitionCheck } from "./workflow/definition-source.ts";

export interface RpcServerDeps {
  readonly scheduler: Scheduler;
  readonly dispatcher: Dispatcher;
  readonly logs: LogAppends;
  readonly store: Pick<
    AllShards,
    | "namespace"
    | "createNamespace"
    | "namespaces"
    | "reads"
    | "outbox"
    | "schedules"
    | "triggers"
    | "definition"
    | "workflowVersion"
    | "claimEscalation"
    | "releaseEscalation"
    | "incarnation"
    | "onIncarnation"
    | "ready"
  > &
    Omit<OperatorStore, "inbox">;
  /** The check of a definition beyond its structure: its expressions and schemas. */
  readonly definitionCheck: DefinitionCheck;
  readonly triggers: TriggerWork;
  /** The payload limit that a namespace has set; null, or left out: the limit of `config`. */
  readonly payloadBytesMax?: (namespace: string) => number | null;
  /** Limits the calls of a namespace; left out: none has a rate. */
  readonly admitCall?: (namespace: string) => DroverError | null;
  /** The part of a namespace in the calls in progress; left out: all have the same. */
  readonly weightOf?: (namespace: string) => number;
  readonly config: RpcConfig;
  /** The template of links to traces (run/trace-link.ts); undefined: there are none. */
  readonly traceLink?: string | undefined;
  /** A partition is late if it is overdue by more than this. */
  readonly overdueMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Left out: calls are not traced. */
  readonly traced?: TracedCalls | undefined;
  /** The answer of /healthz; left out: ok. */
  readonly health?: () => HealthReported;
  /** Other pages by path, such as /metrics; where tokens are required, only for viewers. */
  readonly pages?: Pages;
  /** Counts what the transport refuses. */
  readonly onRefused?: (reason: Refusal) => void;
  /** Left out: the usual ones. */
  readonly transportLimits?: Partial<TransportLimits>;
  /** The folder of the built dashboard, which may be missing. Left out: no dashboard is served. */
  readonly dashboard?: string;
}

export interface RpcServer {
  start(): Promise<{ readonly host: string; readonly port: number }>;
  drain(): Promise<void>;
  stop(): Promise<void>;
}

const SERVICES = [SchedulerService, OperatorService, AgentService];
/** Time for answers to leave the machine after the last call. */
const LAST_BYTES_MS = 1_000;

export function createRpcServer(deps: RpcServerDeps): RpcServer {
  const { config, clock, log } = deps;
  const drain = createDrain();
  const check = createRequestCheck(config, deps.payloadBytesMax);
  const identity = config.requireTokens
    ? createIdentity(config.identities, { tokens: deps.store.tokens, clock, log })
    : undefined;
  deps.store.onIncarnation(() => identity?.forget());
  const failOvers = createFailOvers(deps.store);
  const { traced, admitCall, weightOf } = deps;
  const rates = { admitCall, weightOf };
  const calls = { traced, failOvers, identity, ...rates };
  const mount = createMount({ check, drain, log, clock, ...config, ...calls });
  const health = createHealth(SERVICES.map(({ typeName }) => typeName));
  const namespaces = createNamespaces(deps.store);
  const common = { ...deps, namespaces, drain, check, identity, failOvers };
  const methods = [
    ...droverMethods(common, mount),
    ...mount.service(HealthService, health.handlers, { always: true }),
    ...reflectionMethods(mount),
  ];
  const guard = createConnectionGuard({
    ...config,
    clock,
    log,
    limits: { ...TRANSPORT_LIMITS, ...deps.transportLimits },
    onRefused: deps.onRefused,
  });
  const grpc = createGrpcTransport(methods, config, { clock, random: deps.random, guard });
  const connect = createConnectTransport(methods, config, mount, log);
  const runs = createRunLookup(deps.store, namespaces);
  const actions = createTriggerActions({ ...common, runs });
  const hooks = createTriggerRoute({ ...common, actions });
  const leaving = { begun: false };
  const pages = guarded(deps.pages ?? {}, identity);
  const http = createHttp(deps, { guard, leaving, connect, hooks, guardedPages: pages });
  const port = createPort(config, {
    onHttp2: grpc.accept,
    onHttp1: (socket) => void http.server.emit("connection", socket),
    guard,
    clock,
    log,
  });
  const checks = createLoop({
    clock,
    everyMs: guard.limits.checkEveryMs,
    runOnce: async () => {
      grpc.check();
      http.check(clock.monotonicMs());
    },
    onError: (error) => log.error({ err: error }, "the check of open calls met a defect"),
  });
  const closes = { config, clock, log, leaving, drain, health, grpc };
  const closing = createClosing({ ...closes, http, port, checks });

  return Object.freeze({
    async start() {
      const address = await port.start();
      checks.start();
      health.setServing(true);
      log.info(address, "serving");
      return address;
    },
    ...closing,
  });
}

/** Whether the server has reported that it will stop. */
interface Leaving {
  begun: boolean;
}

interface HttpParts {
  readonly guard: ConnectionGuard;
  readonly leaving: Readonly<Leaving>;
  readonly connect: ConnectTransport;
  readonly hooks: TriggerRoute;
  readonly guardedPages: Pages;
}

function createHttp(deps: RpcServerDeps, parts: HttpParts): Http1 {
  const { guard, leaving, connect, hooks, guardedPages } = parts;
  const status = statusPages(
    () => deps.store.ready(),
    () => leaving.begun,
    deps.health ?? (() => ({ status: "ok", reasons: [] })),
  );
  const { oidc } = deps.config.identities;
  const pages = { ...status, ...signInPages(oidc), ...guardedPages };
  const dashboard =
    deps.dashboard === undefined ? null : createDashboard(deps.dashboard, providerOrigins(oidc));
  const http = createHttp1(guard, (request, response) => {
    if (leaving.begun) response.setHeader("connection", "close");
    guardAnswer(response);
    // A trigger may be called under any name, and has a secret of its own.
    const check = hooks.isFor(request) ? originRefusal : hostRefusal;
    const refusal = check(deps.config, request.headers);
    if (refusal !== null) return refuseHost(response, refusal);
    if (hooks.handle(request, response)) return;
    if (connect.handle(request, response)) return;
    servePage(pages, request, response, dashboard?.handle);
  });
  // The HTTP server never listens by itself, and starts its checks for slow senders only on this
  // event.
  http.server.emit("listening");
  return http;
}

interface ClosingDeps extends Pick<RpcServerDeps, "config" | "clock" | "log"> {
  readonly leaving: Leaving;
  readonly drain: Drain;
  readonly health: Health;
  readonly grpc: GrpcTransport;
  readonly http: Http1;
  readonly port: Port;
  readonly checks: Loop;
}

function createClosing(deps: ClosingDeps): Pick<RpcServer, "drain" | "stop"> {
  const { config, clock, log, leaving, drain, health, grpc, port, checks } = deps;
  const http = deps.http.server;
  /** Ends the time in which it serves on. */
  const cut = new AbortController();
  let draining: Promise<void> | null = null;
  let stopping: Promise<void> | null = null;

  async function atMost(ms: number, end: Promise<void>): Promise<void> {
    const over = new AbortController();
    await Promise.race([end, clock.sleep(ms, over.signal).catch(() => {})]);
    over.abort();
  }

  function leave(): void {
    leaving.begun = true;
    health.setServing(false);
  }

  async function drainOnce(): Promise<void> {
    leave();
    if (config.lameDuckMs > 0) await clock.sleep(config.lameDuckMs, cut.signal).catch(() => {});
    if (stopping) return stopping;
    // Before the drain: a call that is refused by GOAWAY is repeated by every gRPC client.
    grpc.drain(config.drainMs + LAST_BYTES_MS);
    drain.begin();
    await atMost(config.drainMs, drain.idle());
    if (drain.inFlight > 0)
      log.warn(
        { calls: drain.inFlight },
        "the grace period of the drain is over: open calls are cut",
      );
    health.close();
    const closed = port.close();
    http.closeIdleConnections();
    grpc.drain(LAST_BYTES_MS);
    await atMost(LAST_BYTES_MS, closed);
    await stop();
  }

  async function stopOnce(): Promise<void> {
    cut.abort();
    leave();
    drain.begin();
    health.close();
    const closed = port.close();
    grpc.stop();
    http.closeAllConnections();
    http.close();
    port.destroy();
    await Promise.all([closed, checks.stop()]);
  }

  function stop(): Promise<void> {
    stopping ??= stopOnce();
    return stopping;
  }

  return {
    drain() {
      draining ??= drainOnce();
      return draining;
    },
    stop,
  };
}

function reflectionMethods(mount: Mount): readonly Mounted[] {
  const reflection = createReflection(
    [...SERVICES, HealthService, ServerReflection, ServerReflectionAlpha],
    [file_google_rpc_error_details, file_drover_v1_error_reason],
  );
  return [
    ...mount.service(ServerReflection, reflection.v1, { always: true }),
    ...mount.service(ServerReflectionAlpha, reflection.v1alpha, { always: true }),
  ];
}
