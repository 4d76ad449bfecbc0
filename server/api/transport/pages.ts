// Plain HTTP besides the calls, for probes and people: /healthz says that the process is alive, and
// its health; /readyz says whether it may be sent work. Other pages (metrics) are given as `pages`.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import { DroverError } from "../../errors.ts";
import { createLoop } from "../../loop.ts";
import type { TlsConfig } from "../../tls-config.ts";
import type { Identity } from "../auth/authenticate.ts";
import type { Log } from "../calls/mount.ts";
import { certificateOfSocket } from "./client-certificate.ts";
import type { ConnectionGuard } from "./connection-guard.ts";
import { guardAnswer, hostRefusal, refuseHost } from "./host-check.ts";
import { createHttp1 } from "./http1.ts";
import { createTlsListener } from "./tls.ts";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The answer of /healthz. Degraded is answered 200, too: restarting the process would not help. */
export interface Health {
  readonly status: "ok" | "degraded";
  readonly reasons: readonly string[];
}

/** Pages by path. */
export type Pages = Readonly<Record<string, (request: PageRequest) => Promise<Page>>>;

type PageRequest = Pick<IncomingMessage, "headers" | "socket">;

const text = (status: number, body: string): Page => ({
  status,
  contentType: "text/plain; charset=utf-8",
  body: `${body}\n`,
});

/** `ready` rejects with the reason if the server is not ready. */
export function statusPages(
  ready: () => Promise<void>,
  draining: () => boolean,
  health: () => Health,
): Pages {
  return Object.freeze({
    "/healthz": async () => ({
      status: 200,
      contentType: "application/json",
      body: `${JSON.stringify(health())}\n`,
    }),
    "/readyz": async () => {
      if (draining()) return text(503, "draining");
      try {
        await ready();
        return text(200, "ready");
      } catch {
        return text(503, "not ready: the database cannot be used; see the server's log");
      }
    },
  });
}

/** Serves addresses other than those of `pages`; false: there is nothing at the address. */
type Elsewhere = (request: IncomingMessage, response: ServerResponse) => boolean;

export function servePage(
  pages: Pages,
  request: IncomingMessage,
  response: ServerResponse,
  elsewhere: Elsewhere = () => false,
): void {
  const path = request.url?.split("?", 1)[0] ?? "";
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (!page) {
    if (elsewhere(request, response)) return;
    // The form in which Connect clients read an error; gRPC is answered by grpc-js.
    send(response, {
      status: 404,
      contentType: "application/json",
      body: JSON.stringify({
        code: "unimplemented",
        message: `There is nothing at ${path}: a call is POST /drover.v1.SchedulerService/GetRun.`,
      }),
    });
    return;
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    send(response, text(405, "use GET"));
    return;
  }
  void page(request).then(
    (made) => send(response, made),
    () => send(response, text(500, "this page has a defect; see the server's log")),
  );
}

function send(response: ServerResponse, { status, contentType, body }: Page): void {
  response.writeHead(status, { "content-type": contentType });
  response.end(body);
}

/**
 * Pages that show names of namespaces and workflows, such as /metrics. Where tokens are required, a
 * page needs a token that may watch all namespaces.
 */
export function guarded(pages: Pages, identity: Identity | undefined): Pages {
  if (!identity) return pages;
  return Object.fromEntries(
    Object.entries(pages).map(([path, page]) => [
      path,
      async (request) => {
        const header = (name: string) => request.headers[name]?.toString() ?? null;
        const certificate = () => certificateOfSocket(request.socket);
        const asked = { header, certificate };
        const refused = await identity.mayWatch(asked).then(() => null, refusalOf);
        if (refused === null) return page(request);
        const status = refused.reason === "NOT_ALLOWED" ? 403 : 401;
        return { status, contentType: "text/plain; charset=utf-8", body: `${refused.message}\n` };
      },
    ]),
  );
}

function refusalOf(error: unknown): DroverError {
  if (error instanceof DroverError) return error;
  throw error;
}

interface PagesPort {
  /** Resolves to the address on which it listens. */
  start(): Promise<{ readonly host: string; readonly port: number }>;
  stop(): Promise<void>;
}

/**
 * A port that serves pages only, for a process that takes no calls: probes ask it for its health.
 */
export function createPagesPort(
  pages: Pages,
  at: { readonly host: string; readonly port: number; readonly tls: TlsConfig | null },
  deps: { readonly guard: ConnectionGuard; readonly clock: Clock; readonly log: Log },
): PagesPort {
  const { guard, clock, log } = deps;
  const config = { host: at.host, hostNames: [], requireTokens: false };
  const http1 = createHttp1(guard, (request, response) => {
    guardAnswer(response);
    const refusal = hostRefusal(config, request.headers);
    if (refusal !== null) refuseHost(response, refusal);
    else servePage(pages, request, response);
  });
  const http = http1.server;
  const secure =
    at.tls &&
    createTlsListener(at.tls, {
      onSocket: (socket) => void http.emit("connection", socket),
      ...deps,
    });
  const server = secure?.server ?? http;
  server.on("connection", (socket) => void guard.admit(socket));
  const checks = createLoop({
    clock,
    everyMs: guard.limits.checkEveryMs,
    runOnce: async () => http1.check(clock.monotonicMs()),
    onError: (error) => log.error({ err: error }, "the check of connections met a defect"),
  });
  return Object.freeze({
    async start() {
      server.listen(at.port, at.host);
      await once(server, "listening");
      // The HTTP server checks for slow senders only after this event.
      if (secure) http.emit("listening");
      secure?.reload.start();
      checks.start();
      const bound = server.address();
      if (bound === null || typeof bound === "string") throw new Error("the port has no address");
      return { host: at.host, port: bound.port };
    },
    async stop() {
      if (!server.listening) return;
      await Promise.all([secure?.reload.stop(), checks.stop()]);
      server.close();
      http.closeAllConnections();
      await once(server, "close");
      // Ends its checks for slow senders.
      if (secure) http.close();
    },
  });
}
