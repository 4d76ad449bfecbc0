// One port for all protocols: the first bytes of a connection, after its TLS handshake if there is
// one, distinguish native gRPC (HTTP/2) from HTTP/1.1.
//
// Without tokens the port listens on loopback only; with tokens it listens elsewhere only with TLS
// or behind it, so that no token travels in plain text. A connection that sends too few bytes to be
// recognized is closed after some seconds; what else a peer may not do is in connection-guard.ts.
import { createServer, isIP, type Server, type Socket } from "node:net";
import type { Clock } from "../../clock.ts";
import type { RpcConfig } from "../../rpc-config.ts";
import type { Log } from "../calls/mount.ts";
import type { ConnectionGuard } from "./connection-guard.ts";
import { createTlsListener } from "./tls.ts";

type PortOptions = Pick<
  RpcConfig,
  "host" | "port" | "insecureNoAuth" | "requireTokens" | "tlsInFront" | "tls" | "connectionsMax"
>;

export interface Port {
  start(): Promise<{ readonly host: string; readonly port: number }>;
  /** Accepts no new connections, and resolves when none is left. */
  close(): Promise<void>;
  /** Destroys the remaining connections. */
  destroy(): void;
}

interface PortDeps {
  readonly onHttp1: (socket: Socket) => void;
  readonly onHttp2: (socket: Socket) => void;
  readonly guard: ConnectionGuard;
  readonly clock: Clock;
  readonly log: Log;
}

const HTTP2 = Buffer.from("PRI");
/**
 * Finds peers whose machine is gone. If only the peer's process hangs, its kernel still answers.
 */
const TCP_KEEPALIVE_MS = 30_000;

export function createPort(options: PortOptions, deps: PortDeps): Port {
  refuseOpenAddress(options);
  const sockets = new Set<Socket>();
  const onSocket = (socket: Socket) => dispatchConnection(socket, deps);
  const secure = options.tls && createTlsListener(options.tls, { onSocket, ...deps });
  // Both protocols answer a caller that has closed its sending half and only listens.
  const server: Server =
    secure?.server ?? createServer({ noDelay: true, allowHalfOpen: true }, onSocket);
  server.on("connection", (socket) => {
    if (!deps.guard.admit(socket)) return;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
  });
  server.maxConnections = options.connectionsMax;
  server.on("drop", (dropped) => deps.guard.refused("connections", dropped?.remoteAddress));
  let closed: Promise<void> | null = null;

  return Object.freeze({
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(options.port, options.host, () => {
          server.off("error", reject);
          resolve();
        });
      });
      secure?.reload.start();
      server.on("error", (error) => deps.log.error({ err: error }, "the port met an error"));
      const address = server.address();
      if (address === null || typeof address === "string")
        throw new Error(`the port listens on ${address}, which is no address`);
      if (!isLoopback(options.host) && !options.requireTokens)
        deps.log.warn(
          { host: options.host, port: address.port },
          "--insecure-no-auth: every client that reaches this address may start, cancel and report work",
        );
      return { host: address.address, port: address.port };
    },
    close() {
      closed ??= Promise.all([
        new Promise((resolve) => server.close(resolve)),
        secure?.reload.stop(),
      ]).then(() => {});
      return closed;
    },
    destroy() {
      for (const socket of sockets) socket.destroy();
    },
  });
}

function refuseOpenAddress(options: PortOptions): void {
  const { host, insecureNoAuth, requireTokens, tlsInFront, tls } = options;
  if (tls && tlsInFront)
    throw new Error(
      "--tls-cert makes the server speak TLS, and --tls-in-front says that a proxy does: leave one of " +
        "them out.",
    );
  if (insecureNoAuth && requireTokens)
    throw new Error(
      "--insecure-no-auth accepts calls without a token, and --require-tokens refuses them: " +
        "leave one of them out.",
    );
  if (insecureNoAuth || isLoopback(host)) return;
  if (!requireTokens)
    throw new Error(
      `Drover would listen on "${host}" without authentication, for every client that reaches it: ` +
        "use 127.0.0.1, set --require-tokens, or --insecure-no-auth if the network is trusted.",
    );
  if (tlsInFront || tls) return;
  throw new Error(
    `Drover would listen on "${host}" in plain text, which exposes every token on the network: set ` +
      "--tls-cert and --tls-key, let a proxy end TLS in front of it and set --tls-in-front, or use 127.0.0.1.",
  );
}

export function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}

/**
 * Waits for enough bytes to recognize the protocol, puts them back, and hands the connection on.
 */
function dispatchConnection(socket: Socket, { onHttp1, onHttp2, guard, clock }: PortDeps): void {
  const ignore = () => {};
  const cut = () => void socket.destroy();
  if (socket.destroyed) return;
  const timer = clock.after(guard.limits.firstBytesMs, () => {
    guard.refused("first-bytes", socket.remoteAddress);
    cut();
  });
  socket.on("error", ignore);
  socket.once("end", cut);
  socket.once("close", () => timer.cancel());
  let seen = Buffer.alloc(0);

  const readFirstBytes = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, HTTP2.length);
    const alike = seen.subarray(0, length).equals(HTTP2.subarray(0, length));
    if (alike && length < HTTP2.length) return;
    socket.off("readable", readFirstBytes);
    socket.off("end", cut);
    timer.cancel();
    socket.unshift(seen);
    if (alike) {
      // Half-open connections are for HTTP/1.1. With gRPC, the end means that the peer's process
      // has died, and its parked polls must not be handed tasks.
      socket.once("end", cut);
      // The HTTP/2 session reads by itself; resuming the socket here would break every call.
      onHttp2(socket);
    } else {
      onHttp1(socket);
      process.nextTick(() => socket.resume());
    }
  };
  socket.on("readable", readFirstBytes);
}
