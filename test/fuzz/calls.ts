// Sends calls: bytes over native gRPC, streams that are opened and cancelled, bodies over HTTP, raw
// bytes over TCP. A call never rejects; how it ended is its answer.
import { connect } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { at } from "../support/json-call.ts";
import type { Answered } from "./findings.ts";

export interface Caller {
  unary(method: DescMethod, bytes: Uint8Array, withinMs: number): Promise<Answered>;
  /** Reads the stream, and cancels it after this time. */
  stream(method: DescMethod, bytes: Uint8Array, cancelMs: number): Promise<Answered>;
  http(path: string, init: HttpCall): Promise<Answered & { readonly body: string }>;
  /** Writes these bytes to a connection, and reads what is answered until it is quiet. */
  tcp(bytes: Uint8Array): Promise<Answered & { readonly body: string }>;
  close(): void;
}

export interface HttpCall {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

const CANCELLED = 1;
const HTTP_MS_MAX = 25_000;
/** An answer of a server on this machine comes in one piece. */
const QUIET_MS = 150;
const TCP_MS_MAX = 3_000;

const CONNECT_CODES: Readonly<Record<string, number>> = {
  unknown: 2,
  internal: 13,
  data_loss: 15,
};

export const pathOf = (method: DescMethod) => `/${method.parent.typeName}/${method.name}`;
const asIs = (bytes: Uint8Array) => Buffer.from(bytes);

export function createCaller(address: string): Caller {
  const client = new Client(address, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_retries": 0,
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
  });
  const [host = "", port = ""] = address.split(":");

  return Object.freeze({
    unary(method: DescMethod, bytes: Uint8Array, withinMs: number) {
      const began = performance.now();
      return new Promise<Answered>((resolve) => {
        client.makeUnaryRequest(
          pathOf(method),
          asIs,
          asIs,
          bytes,
          new Metadata(),
          { deadline: Date.now() + withinMs },
          (error) => resolve(answeredBy(error, began)),
        );
      });
    },
    stream(method: DescMethod, bytes: Uint8Array, cancelMs: number) {
      const began = performance.now();
      return new Promise<Answered>((resolve) => {
        const call = client.makeServerStreamRequest(
          pathOf(method),
          asIs,
          asIs,
          bytes,
          new Metadata(),
        );
        const timer = setTimeout(() => call.cancel(), cancelMs);
        const ended = (error: ServiceError | null) => {
          clearTimeout(timer);
          resolve(error?.code === CANCELLED ? ok(began) : answeredBy(error, began));
        };
        call.on("data", () => undefined);
        call.once("error", ended);
        call.once("end", () => ended(null));
      });
    },
    async http(path: string, { method, headers, body }: HttpCall) {
      const began = performance.now();
      try {
        const response = await fetch(`http://${address}${path}`, {
          method,
          headers: { ...headers },
          ...(body && { body: Buffer.from(body) }),
          redirect: "manual",
          signal: AbortSignal.timeout(HTTP_MS_MAX),
        });
        const text = await response.text();
        return { ...httpAnswer(response.status, text), ms: performance.now() - began, body: text };
      } catch (error) {
        // The address was not what HTTP allows, or the server has closed the connection.
        return { code: -1, message: String(error), ms: performance.now() - began, body: "" };
      }
    },
    async tcp(bytes: Uint8Array) {
      const began = performance.now();
      const body = await exchange(host, Number(port), bytes);
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(body)?.[1] ?? 0);
      return { ...httpAnswer(status, body), ms: performance.now() - began, body };
    },
    close: () => client.close(),
  });
}

const ok = (began: number): Answered => ({ code: 0, message: "", ms: performance.now() - began });

function answeredBy(error: ServiceError | null, began: number): Answered {
  const code = error?.code ?? 0;
  return { code, message: error?.details ?? "", ms: performance.now() - began };
}

/**
 * 5xx counts as INTERNAL; but 503 says that something is not there now, and 501 and 505 that this
 * is not HTTP.
 */
function httpAnswer(
  status: number,
  body: string,
): { readonly code: number; readonly message: string } {
  const message = `${status} ${body.slice(0, 500)}`;
  if (status >= 500 && ![501, 503, 504, 505].includes(status)) return { code: 13, message };
  if (status < 400 || !body.startsWith("{")) return { code: -1, message };
  try {
    return { code: CONNECT_CODES[String(at(JSON.parse(body), "code"))] ?? -1, message };
  } catch {
    return { code: -1, message };
  }
}

function exchange(host: string, port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host, port });
    const ended = () => {
      clearTimeout(limit);
      clearTimeout(quiet);
      socket.destroy();
      resolve(Buffer.concat(chunks).toString("latin1"));
    };
    const limit = setTimeout(ended, TCP_MS_MAX);
    let quiet: NodeJS.Timeout | undefined;
    socket.on("connect", () => socket.write(bytes));
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      clearTimeout(quiet);
      quiet = setTimeout(ended, QUIET_MS);
    });
    socket.on("error", ended);
    socket.on("close", ended);
    // A request that is not complete gets no answer.
    quiet = setTimeout(ended, 2 * QUIET_MS);
  });
}
