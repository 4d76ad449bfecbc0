/**
 * One gRPC connection to a Drover server: calls by generated method, errors as DroverCallError.
 *
 * It connects by itself and again after a break; a call made meanwhile fails with UNAVAILABLE, and
 * repeating is the business of its caller, who knows what a repeat means.
 */

import type { DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { callErrorOfGrpc, DroverCallError } from "./call-error.ts";
import { deadlineIn } from "./clock.ts";

export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Channel {
  /** Rejects with DroverCallError only; an abort ends it with CANCELLED. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<MessageShape<O>>;
  /** Ends quietly when the server ends it; leaving the loop cancels the call. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    signal?: AbortSignal,
  ): AsyncGenerator<MessageShape<O>, void, undefined>;
  close(): void;
}

/** A poll may bring many tasks at once; the server keeps what it sends far below this. */
const receiveBytesMax = 64 * 1024 * 1024;

const channelOptions = {
  "grpc.max_receive_message_length": receiveBytesMax,
  // A connection that broke without a sign is noticed within 30 s. A call that a ping or a GOAWAY
  // ends is UNAVAILABLE, which every caller here repeats.
  "grpc.keepalive_time_ms": 20_000,
  "grpc.keepalive_timeout_ms": 10_000,
  // After a restart of the server its agents shall be back within seconds, not minutes.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 5_000,
  // A connection of its own, so that closing one channel leaves no half-dead one to the next.
  "grpc.use_local_subchannel_pool": 1,
};

/** `token`: shown with each call. Left out: that of DROVER_TOKEN, or none. */
export function openChannel(address: string, token = process.env.DROVER_TOKEN ?? ""): Channel {
  const client = new Client(checkAddress(address), credentials.createInsecure(), channelOptions);
  const metadata = new Metadata();
  if (token !== "") metadata.set("authorization", `Bearer ${checkToken(token, address)}`);

  return Object.freeze({
    unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      request: MessageInitShape<I>,
      { timeoutMs, signal }: CallOptions,
    ): Promise<MessageShape<O>> {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(new DroverCallError("CANCELLED", "The call was cancelled before it was sent."));
          return;
        }
        const call = client.makeUnaryRequest(
          pathOf(method),
          (message: MessageShape<I>) => serialize(method.input, message),
          (data: Buffer) => fromBinary(method.output, data),
          create(method.input, request),
          metadata,
          { deadline: deadlineIn(timeoutMs) },
          (error: ServiceError | null, response?: MessageShape<O>) => {
            signal?.removeEventListener("abort", abort);
            if (error !== null) reject(callErrorOfGrpc(error));
            else if (response !== undefined) resolve(response);
            else reject(new DroverCallError("INTERNAL", "The call ended without an answer."));
          },
        );
        const abort = () => call.cancel();
        signal?.addEventListener("abort", abort, { once: true });
      });
    },

    async *stream<I extends DescMessage, O extends DescMessage>(
      method: DescMethodServerStreaming<I, O>,
      request: MessageInitShape<I>,
      signal?: AbortSignal,
    ): AsyncGenerator<MessageShape<O>, void, undefined> {
      const call = client.makeServerStreamRequest(
        pathOf(method),
        (message: MessageShape<I>) => serialize(method.input, message),
        (data: Buffer): MessageShape<O> => fromBinary(method.output, data),
        create(method.input, request),
        metadata,
        {},
      );
      const abort = () => call.cancel();
      signal?.addEventListener("abort", abort, { once: true });
      if (signal?.aborted) abort();
      try {
        for await (const message of call) yield message;
      } catch (error) {
        throw isServiceError(error) ? callErrorOfGrpc(error) : error;
      } finally {
        signal?.removeEventListener("abort", abort);
        call.cancel();
      }
    },

    close: () => client.close(),
  });
}

function checkAddress(address: string): string {
  if (!/^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\]]+):\d{1,5}$/.test(address)) {
    throw new TypeError(`The address "${address}" is not host:port; write it as 127.0.0.1:7420.`);
  }
  return address;
}

/** A token is not sent in plain text over a network: any machine on the way could use it. */
function checkToken(token: string, address: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError("The token has characters that no token has; give it as it was printed.");
  if (/^(localhost|127\.[\d.]+|\[::1\]):\d+$/.test(address)) return token;
  throw new TypeError(
    `A token would go to ${address} in plain text for all to read; let a proxy on this machine ` +
      "speak TLS, and give its address.",
  );
}

function pathOf(method: { parent: { typeName: string }; name: string }): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** gRPC wants a Buffer; this is one over the same bytes. */
function serialize<T extends DescMessage>(schema: T, message: MessageShape<T>): Buffer {
  const data = toBinary(schema, message);
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && "metadata" in error;
}
