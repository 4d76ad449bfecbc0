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
import { Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import { callErrorOfGrpc, DroverCallError } from "./call-error.ts";
import { deadlineIn } from "./clock.ts";
import {
  addressOf,
  type Connection,
  channelNameOptions,
  credentialsOf,
  tokenOf,
} from "./connection.ts";

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

/** Connects with the first call. Throws for wrong settings, and for files that cannot be read. */
export function openChannel(connection: Connection): Channel {
  const token = tokenOf(connection);
  const client = new Client(addressOf(connection), credentialsOf(connection), {
    ...channelOptions,
    ...channelNameOptions(connection),
  });
  const metadata = new Metadata();
  if (token !== "") metadata.set("authorization", `Bearer ${token}`);

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
