/**
 * The remote services of a story: a program that answers HTTP, keeps books, and meets its faults.
 *
 *   POST /{service}/{operation}   Idempotency-Key, {ref, ...} in JSON
 *
 * It prints one line {url} when it is ready, and stops at SIGTERM. What it was asked to do stays
 * done when the caller has gone: real services do not notice either.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Books, openBooks } from "./books.ts";
import type { Fault, Faults } from "./faults.ts";

export interface Request {
  readonly key: string;
  readonly ref: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** One that is not played for all services alike. */
  readonly fault: Fault;
  readonly books: Books;
}

export interface Reply {
  /** Default 200. */
  readonly status?: number;
  /** 4xx: with `code` and `message`. */
  readonly body?: unknown;
  readonly retryAfterMs?: number;
}

export type Operation = (request: Request) => Reply;

export interface ServicesSpec {
  /** By path, as `card/capture`. */
  readonly operations: Readonly<Record<string, Operation>>;
  readonly faults: (seed: number) => Faults;
  /** What `busy` asks for. Default 300 ms. */
  readonly busyMs?: number;
  /** How long `slow` delays its answer. Default 300 ms. */
  readonly slowMs?: number;
}

export function refuse(code: string, message: string): Reply {
  return { status: 422, body: { code, message } };
}

/** From `--ledger FILE --seed N`. */
export async function serve(spec: ServicesSpec): Promise<void> {
  const { values } = parseArgs({
    options: { ledger: { type: "string" }, seed: { type: "string", default: "1" } },
  });
  if (values.ledger === undefined) throw new Error("--ledger is missing; give a file to write to");
  const books = openBooks(values.ledger);
  const faults = spec.faults(Number(values.seed));
  const asked = new Map<string, number>();

  async function handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (message.url ?? "/").slice(1);
    const operation = spec.operations[path];
    if (operation === undefined) return send(response, { status: 404, body: { code: "no-path" } });
    const body = await readBody(message);
    const ref = String(body.ref ?? "");
    const before = asked.get(`${path} ${ref}`) ?? 0;
    asked.set(`${path} ${ref}`, before + 1);
    const fault = faults({ path, ref, before });
    if (fault === "drop-before") return void response.destroy();
    if (fault === "busy") return send(response, busy(spec.busyMs ?? 300));
    const key = String(message.headers["idempotency-key"] ?? "");
    const reply = operation({ key, ref, body, fault, books });
    if (fault === "drop-after") return void response.destroy();
    if (fault === "slow") await sleep(spec.slowMs ?? 300);
    send(response, reply);
  }

  const server = createServer((message, response) => {
    handle(message, response).catch((error: unknown) => {
      process.stderr.write(`${message.url}: ${error instanceof Error ? error.stack : error}\n`);
      response.destroy();
    });
  });
  process.once("SIGTERM", () => {
    server.close();
    server.closeAllConnections();
  });
  const url = await listen(server);
  process.stdout.write(`${JSON.stringify({ url })}\n`);
}

/** Listens on loopback; answers where. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve());
  });
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return `http://127.0.0.1:${address.port}`;
}

export async function readBody(
  message: IncomingMessage,
): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(Buffer.from(chunk));
  const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}");
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function busy(retryAfterMs: number): Reply {
  const message = `too many requests; come back in ${retryAfterMs} ms`;
  return { status: 429, body: { code: "rate-limited", message }, retryAfterMs };
}

function send(response: ServerResponse, { status = 200, body = {}, retryAfterMs }: Reply): void {
  const wait = retryAfterMs === undefined ? {} : { "retry-after-ms": String(retryAfterMs) };
  response.writeHead(status, { ...wait, "content-type": "application/json" });
  response.end(`${JSON.stringify(body)}\n`);
}
