/**
 * Calls to the servers of one address or of several: by generated method, errors as
 * DroverCallError.
 *
 * A channel connects by itself and again after a break; a call made meanwhile fails with
 * UNAVAILABLE, and repeating is the business of its caller, who knows what a repeat means. Of
 * several addresses, the repeat goes to one that can be reached.
 */

import type { DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type ChannelCredentials, Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import { callErrorOfGrpc, DroverCallError } from "./call-error.ts";
import { backgroundClock, deadlineIn } from "./clock.ts";
import {
  addressesOf,
  type Connection,
  channelNameOptions,
  credentialsOf,
  tokenOf,
} from "./connection.ts";
import { createServers, type Servers } from "./servers.ts";

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
  // A connection that broke without a sign is noticed within 30 s; with several addresses sooner,
  // by checks. A call that a ping or a GOAWAY ends is UNAVAILABLE, which every caller here repeats.
  // Servers allow a ping each 10 s.
  "grpc.keepalive_time_ms": 20_000,
  "grpc.keepalive_timeout_ms": 10_000,
  // After a restart of the server its agents shall be back within seconds, not minutes.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 5_000,
  // A connection of its own, so that closing one channel leaves no half-dead one to the next.
  "grpc.use_local_subchannel_pool": 1,
  // Of a name with several records: calls go to all of them in turn, and to no broken one.
  "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
};

interface State {
  readonly servers: Servers;
  readonly metadata: Metadata;
}

/**
 * Connects with the first call. Each call carries the headers. Throws for wrong settings, and for
 * files that cannot be read.
 */
export function openChannel(
  connection: Connection,
  headers: Readonly<Record<string, string>> = {},
): Channel {
  const token = tokenOf(connection);
  const state: State = { servers: openServers(connection), metadata: new Metadata() };
  if (token !== "") state.metadata.set("authorization", `Bearer ${token}`);
  for (const [name, value] of Object.entries(headers)) state.metadata.set(name, value);
  return Object.freeze({
    unary: <I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      request: MessageInitShape<I>,
      options: CallOptions,
    ) => unary(state, method, request, options),
    stream: <I extends DescMessage, O extends DescMessage>(
      method: DescMethodServerStreaming<I, O>,
      request: MessageInitShape<I>,
      signal?: AbortSignal,
    ) => stream(state, method, request, signal),
    close: state.servers.close,
  });
}

function unary<I extends DescMessage, O extends DescMessage>(
  { servers, metadata }: State,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  { timeoutMs, signal }: CallOptions,
): Promise<MessageShape<O>> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new DroverCallError("CANCELLED", "The call was cancelled before it was sent."));
      return;
    }
    const server = servers.begin((error) => {
      reject(error);
      call.cancel();
    });
    const call = server.client.makeUnaryRequest(
      pathOf(method),
      (message: MessageShape<I>) => serialize(method.input, message),
      (data: Buffer) => fromBinary(method.output, data),
      create(method.input, request),
      metadata,
      { deadline: deadlineIn(timeoutMs) },
      (error: ServiceError | null, response?: MessageShape<O>) => {
        signal?.removeEventListener("abort", abort);
        const failed = error === null ? undefined : callErrorOfGrpc(error);
        server.end(failed);
        if (failed !== undefined) reject(failed);
        else if (response !== undefined) resolve(response);
        else reject(new DroverCallError("INTERNAL", "The call ended without an answer."));
      },
    );
    const abort = () => call.cancel();
    signal?.addEventListener("abort", abort, { once: true });
  });
}

async function* stream<I extends DescMessage, O extends DescMessage>(
  { servers, metadata }: State,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  signal?: AbortSignal,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  let failed: DroverCallError | undefined;
  const server = servers.begin((error) => {
    failed = error;
    call.cancel();
  });
  const call = server.client.makeServerStreamRequest(
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
    for await (const message of call) {
      server.received();
      yield message;
    }
  } catch (error) {
    if (!isServiceError(error)) throw error;
    failed ??= callErrorOfGrpc(error);
    throw failed;
  } finally {
    signal?.removeEventListener("abort", abort);
    server.end(failed);
    call.cancel();
  }
}

/** With the clients of all addresses, each opened by its first call. */
function openServers(connection: Connection): Servers {
  const addresses = addressesOf(connection);
  const credentials = credentialsOf(connection);
  const options = { ...channelOptions, ...channelNameOptions(connection) };
  const opened = new Map<string, { client: Client; with: ChannelCredentials }>();
  let closed = false;
  // Calls that were sent go on; those that wait for a connection end with UNAVAILABLE.
  function renew(address: string): void {
    opened.get(address)?.client.close();
    opened.delete(address);
  }
  function clientOf(address: string): Client {
    if (closed) throw new Error("The channel is closed.");
    const current = credentials();
    const known = opened.get(address);
    if (known?.with === current) return known.client;
    renew(address);
    const client = new Client(address, current, options);
    opened.set(address, { client, with: current });
    return client;
  }
  const servers = createServers({ clock: backgroundClock, addresses, clientOf, renew });
  return Object.freeze({
    begin: servers.begin,
    close(): void {
      closed = true;
      servers.close();
      for (const address of addresses) renew(address);
    },
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
