// HTTP/1.1 of a port, for calls as JSON, the dashboard, triggers and pages: its limits, and what it
// does to callers that go beyond them.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { Socket } from "node:net";
import type { ConnectionGuard, Refusal } from "./connection-guard.ts";

/** Long enough for a connection to stay open between two calls of a person. */
const IDLE_MS = 75_000;

export interface Http1 {
  readonly server: Server;
  /** Cuts readers that have read nothing of an answer for too long. */
  check(nowMs: number): void;
}

interface ClientError {
  readonly reason: Refusal;
  readonly status: number;
}

const MALFORMED: ClientError = { reason: "malformed", status: 400 };
const CLIENT_ERRORS: Readonly<Record<string, ClientError>> = Object.freeze({
  HPE_HEADER_OVERFLOW: { reason: "headers", status: 431 },
  ERR_HTTP_REQUEST_TIMEOUT: { reason: "slow-request", status: 408 },
});

interface Reader {
  /** Bytes that have left the process, and since when there are no more. */
  sent: number;
  sinceMs: number;
}

export function createHttp1(guard: ConnectionGuard, handle: RequestListener): Http1 {
  const { limits } = guard;
  const readers = new Map<Socket, Reader>();
  const server = createServer(
    {
      keepAliveTimeout: IDLE_MS,
      headersTimeout: limits.firstMessageMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      maxHeaderSize: limits.headerBytesMax,
    },
    (request, response) => {
      if (request.rawHeaders.length > 2 * limits.headerPairsMax) refuseHeaders(request, response);
      else handle(request, response);
    },
  );

  function refuseHeaders({ socket }: IncomingMessage, response: ServerResponse): void {
    guard.refused("headers", socket.remoteAddress);
    response.writeHead(431, { connection: "close" });
    response.end(`A request may have ${limits.headerPairsMax} headers.\n`);
  }

  server.on("connection", (socket) => {
    readers.set(socket, { sent: 0, sinceMs: 0 });
    socket.once("close", () => readers.delete(socket));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const { reason, status } = CLIENT_ERRORS[error.code ?? ""] ?? MALFORMED;
    // A peer that has disconnected was not refused.
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    guard.refused(reason, socket instanceof Socket ? socket.remoteAddress : undefined);
    const answer = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`;
    socket.end(answer, () => socket.destroy());
  });

  return Object.freeze({
    server,
    check(nowMs: number) {
      for (const [socket, reader] of readers) {
        const sent = socket.bytesWritten - socket.writableLength;
        if (socket.writableLength === 0 || sent !== reader.sent) {
          reader.sent = sent;
          reader.sinceMs = nowMs;
        } else if (nowMs - reader.sinceMs >= limits.stallMs) {
          guard.refused("stalled-reader", socket.remoteAddress);
          socket.destroy();
        }
      }
    },
  });
}
