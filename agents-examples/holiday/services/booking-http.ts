/**
 * The HTTP interface of a booking desk, and the point where faults are injected.
 *
 *   POST   /bookings         Idempotency-Key, {traveller, from, to, ...}
 *                            201 | 200 again | 409 key-reused | 410 cancelled | 422 no-rooms
 *   DELETE /bookings/{key}   204, whether there was a booking or not; blocks the key
 *   GET    /bookings/{key}   200 {booking_id, state, booking} | 404
 *   GET    /ledger           200, every entry; for the check, and never with a fault
 *
 * Bad input is refused with 4xx and a sentence before chance is asked, so that a fault is only ever
 * given to a request that could have worked.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { type Booking, keyProblem, parseBooking } from "./booking.ts";
import { type Answer, type BookingDesk, refusal } from "./booking-desk.ts";
import type { Fault, Faults } from "./faults.ts";
import type { Ledger } from "./ledger.ts";

export interface BookingServerOptions {
  readonly desk: BookingDesk;
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly log: (line: string) => void;
}

export interface BookingServer {
  /** Listens on loopback and answers the port. */
  readonly start: (port: number) => Promise<number>;
  /** Breaks off what is held or delayed, without effect. May be called twice. */
  readonly stop: () => Promise<void>;
}

type Request =
  | { readonly kind: "book"; readonly key: string; readonly booking: Booking }
  | { readonly kind: "cancel" | "find"; readonly key: string }
  | { readonly kind: "ledger" }
  | { readonly kind: "bad"; readonly answer: Answer };

const BODY_BYTES_MAX = 4096;
/** Bounds what can be held open by requests that are never answered. */
const CONNECTIONS_MAX = 512;
const REQUEST_TIMEOUT_MS = 10_000;
const BUSY_RETRY_AFTER_S = 1;

export function createBookingServer(options: BookingServerOptions): BookingServer {
  const { faults, log } = options;
  const stopping = new AbortController();

  async function handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(message);
    const name = `${message.method} ${message.url}`;
    if (request.kind === "bad" || request.kind === "ledger") {
      const answer = request.kind === "bad" ? request.answer : perform(options, request);
      log(`${name} -> ${answer.status}`);
      send(response, answer);
      return;
    }
    const fault = faults.next(request.key);
    const answer = await answerWith(fault, response, () => perform(options, request));
    log(`${name} key=${request.key} fault=${fault.kind} -> ${answer?.status ?? "no answer"}`);
  }

  /** Answers a request with its fault; returns the answer, or nothing if none was sent. */
  async function answerWith(
    fault: Fault,
    response: ServerResponse,
    act: () => Answer,
  ): Promise<Answer | undefined> {
    switch (fault.kind) {
      case "none":
        return send(response, act());
      case "delay":
        // Acts even if the caller has given up by then: real servers do not notice either.
        await wait(fault.delayMs, undefined, { signal: stopping.signal });
        return send(response, act());
      case "busy":
        return send(response, {
          ...refusal(503, "busy", "too much to do"),
          headers: { "retry-after": String(BUSY_RETRY_AFTER_S) },
        });
      case "drop-after":
        act();
        response.destroy();
        return undefined;
      case "hang-before":
        return undefined;
      case "hang-after":
        act();
        return undefined;
    }
  }

  function receive(message: IncomingMessage, response: ServerResponse): void {
    handle(message, response).catch((error: unknown) => {
      if (stopping.signal.aborted || response.destroyed) return response.destroy();
      const text = error instanceof Error ? error.message : String(error);
      log(`${message.method} ${message.url} -> 500 ${text}`);
      return send(response, refusal(500, "internal", text));
    });
  }

  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, receive);
  server.maxConnections = CONNECTIONS_MAX;

  return Object.freeze({
    start: (port: number) => listen(server, port),
    stop: () => {
      stopping.abort();
      return close(server);
    },
  });
}

function perform(
  { desk, ledger }: BookingServerOptions,
  request: Exclude<Request, { kind: "bad" }>,
): Answer {
  switch (request.kind) {
    case "book":
      return desk.book(request.key, request.booking);
    case "cancel":
      return desk.cancel(request.key);
    case "find":
      return desk.find(request.key);
    case "ledger":
      return { status: 200, body: { entries: ledger.entries() } };
  }
}

async function readRequest(message: IncomingMessage): Promise<Request> {
  const path = (message.url ?? "/").split("?")[0] ?? "/";
  const { method } = message;
  if (path === "/ledger") {
    return method === "GET" ? { kind: "ledger" } : wrongMethod(path, "GET");
  }
  if (path === "/bookings") {
    return method === "POST" ? readBookRequest(message) : wrongMethod(path, "POST");
  }
  const encodedKey = /^\/bookings\/([^/]+)$/.exec(path)?.[1];
  if (encodedKey === undefined) {
    const message = `no such address: ${path}; there are /bookings, /bookings/{key} and /ledger`;
    return bad(404, "no-such-address", message);
  }
  const key = decodeKey(encodedKey);
  const problem = keyProblem(key);
  if (key === undefined || problem !== undefined) {
    return bad(400, "bad-request", problem ?? `the key ${encodedKey} is not percent-encoded text`);
  }
  if (method === "DELETE") return { kind: "cancel", key };
  if (method === "GET") return { kind: "find", key };
  return wrongMethod("/bookings/{key}", "GET, DELETE");
}

async function readBookRequest(message: IncomingMessage): Promise<Request> {
  const body = await readBody(message);
  if (body === undefined) {
    return bad(413, "too-large", `the body is over ${BODY_BYTES_MAX} bytes; send less`);
  }
  const header = message.headers["idempotency-key"];
  const key = Array.isArray(header) ? header.join() : header;
  const problem = keyProblem(key);
  if (key === undefined || problem !== undefined) return bad(400, "bad-request", problem ?? "");
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return bad(400, "bad-request", `the body is not JSON: ${JSON.stringify(body.slice(0, 80))}`);
  }
  const parsed = parseBooking(value);
  if (parsed.kind === "problem") return bad(400, "bad-request", parsed.message);
  return { kind: "book", key, booking: parsed.booking };
}

/** The body, or nothing if it is over the limit. Reads on to the end, so that a refusal arrives. */
async function readBody(message: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size <= BODY_BYTES_MAX) chunks.push(bytes);
  }
  return size <= BODY_BYTES_MAX ? Buffer.concat(chunks).toString("utf8") : undefined;
}

function decodeKey(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function bad(status: number, code: string, message: string): Request {
  return { kind: "bad", answer: refusal(status, code, message) };
}

function wrongMethod(path: string, allowed: string): Request {
  const answer = refusal(405, "wrong-method", `${path} knows ${allowed} only`);
  return { kind: "bad", answer: { ...answer, headers: { allow: allowed } } };
}

function send(response: ServerResponse, answer: Answer): Answer {
  const { status, headers, body } = answer;
  if (body === undefined) {
    response.writeHead(status, headers).end();
  } else {
    response
      .writeHead(status, { ...headers, "content-type": "application/json" })
      .end(`${JSON.stringify(body)}\n`);
  }
  return answer;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // The callback also comes, with an error, when the server is closed already: that is as good.
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
