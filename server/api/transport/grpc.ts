// Native gRPC on grpc-js, for agents. `port.ts` hands over connections through a connection
// injector.
//
// Keepalive and connection age stay off: after a GOAWAY the keepalive of grpc-js 1.14 drops calls
// that are still in flight. So only the server's drain sends GOAWAY. A peer that stops responding
// holds a call for no longer than the wait of a poll.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { type Message, toBinary } from "@bufbuild/protobuf";
import {
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedHandleCall,
} from "@grpc/grpc-js";
import type { Clock } from "../../clock.ts";
import type { DroverError } from "../../errors.ts";
import { answerOf, type StandardError, statusBytes } from "../calls/errors.ts";
import type { Call, Log, Mounted } from "../calls/mount.ts";
import { certificateFrom } from "./client-certificate.ts";
import { grpcTimeoutMs } from "./deadline.ts";
import { type Decoded, decodeBinary } from "./decode.ts";
import { type ConnectionEnds, createResetGuard, type GuardedStream } from "./reset-guard.ts";

export interface GrpcTransport {
  accept(socket: Socket): void;
  /**
   * Sends GOAWAY to the connections that are open now: calls in flight end, and new ones are
   * refused as not processed. Cuts what remains of them after the grace period. May be repeated.
   */
  drain(graceMs: number): void;
  stop(): void;
}

interface GrpcLimits {
  readonly messageBytesMax: number;
  readonly streamsPerConnectionMax: number;
}

type AnyCall = Pick<
  ServerUnaryCall<Decoded, Message>,
  "metadata" | "getDeadline" | "getPeer" | "getAuthContext" | "cancelled" | "on"
>;

const TRUE_TIMEOUT = "x-drover-timeout-ms";
/** grpc-js keeps a deadline in 32 bits of milliseconds; a longer one overflows. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
const STREAM_CREATED = "http2.server.stream.created";

export function createGrpcTransport(
  methods: readonly Mounted[],
  limits: GrpcLimits,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): GrpcTransport {
  const now = clock.wallMs;
  const guard = createResetGuard(clock, log);
  const server = new Server({
    // channelz counts every connection and call, and nothing reads its counts.
    "grpc.enable_channelz": 0,
    "grpc.max_receive_message_length": limits.messageBytesMax,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": limits.streamsPerConnectionMax,
  });
  for (const mounted of methods) addMethod(server, mounted, now);
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const connections = createConnections();
  const onStream = (event: unknown): void => {
    if (!isStreamEvent(event) || !connections.include(event.stream.session?.socket)) return;
    keepTrueTimeout(event.headers);
    guard.opened(event.stream);
  };
  subscribe(STREAM_CREATED, onStream);
  let stopped = false;
  return Object.freeze({
    accept(socket: Socket) {
      connections.add(socket);
      guard.accept(socket, () => injector.injectConnection(socket));
    },
    drain: (graceMs: number) => injector.drain(graceMs),
    stop() {
      if (stopped) return;
      stopped = true;
      unsubscribe(STREAM_CREATED, onStream);
      server.forceShutdown();
    },
  });
}

/**
 * The open connections of this server. Node publishes the streams of all servers in the process
 * with a proxy of their socket, so a connection is identified by the addresses of its two ends.
 */
function createConnections() {
  const open = new Map<string, Socket>();
  const nameOf = (ends: ConnectionEnds) =>
    `${ends.remoteAddress} ${ends.remotePort} ${ends.localAddress} ${ends.localPort}`;
  return {
    add(socket: Socket): void {
      const name = nameOf(socket);
      open.set(name, socket);
      socket.once("close", () => {
        if (open.get(name) === socket) open.delete(name);
      });
    },
    include: (ends: ConnectionEnds | undefined) => ends !== undefined && open.has(nameOf(ends)),
  };
}

/**
 * Node publishes each new stream before grpc-js reads its headers: the only place where an
 * excessive timeout can still be read as it was sent. The timeout moves to a header of Drover, so
 * grpc-js sets no timer.
 */
function keepTrueTimeout(headers: Record<string, unknown>): void {
  delete headers[TRUE_TIMEOUT];
  const timeoutMs = grpcTimeoutMs(headers["grpc-timeout"]);
  if (timeoutMs === null || timeoutMs <= TIMEOUT_MS_MAX) return;
  delete headers["grpc-timeout"];
  headers[TRUE_TIMEOUT] = String(timeoutMs);
}

interface StreamEvent {
  readonly headers: Record<string, unknown>;
  readonly stream: GuardedStream;
}

function isStreamEvent(event: unknown): event is StreamEvent {
  if (typeof event !== "object" || event === null) return false;
  if (!("headers" in event && "stream" in event)) return false;
  const { headers, stream } = event;
  if (typeof headers !== "object" || typeof stream !== "object") return false;
  return headers !== null && stream !== null && "rstCode" in stream;
}

function addMethod(server: Server, mounted: Mounted, now: () => number): void {
  const { method } = mounted;
  const path = `/${method.parent.typeName}/${method.name}`;
  const definition: MethodDefinition<Decoded, Message> = {
    path,
    requestStream: mounted.kind === "bidi",
    responseStream: mounted.kind !== "unary",
    requestSerialize: () => Buffer.alloc(0),
    requestDeserialize: (bytes) => decodeBinary(method.input, bytes),
    responseSerialize(message) {
      const bytes = toBinary(method.output, message);
      // grpc-js calls `.copy`, which a plain Uint8Array does not have.
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    responseDeserialize: () => {
      throw new Error("the server reads no responses");
    },
  };
  server.addService(
    { [method.localName]: definition },
    { [method.localName]: serve(mounted, now) },
  );
}

function serve(mounted: Mounted, now: () => number): UntypedHandleCall {
  switch (mounted.kind) {
    case "unary":
      return (call: ServerUnaryCall<Decoded, Message>, answer: sendUnaryData<Message>) => {
        serveUnary(mounted, call, answer, now);
      };
    case "stream":
      return (call: ServerWritableStream<Decoded, Message>) => {
        void serveStream(mounted, call, now);
      };
    case "bidi":
      return (call: ServerDuplexStream<Decoded, Message>) => {
        void serveBidi(mounted, call);
      };
  }
}

function serveUnary(
  mounted: Extract<Mounted, { kind: "unary" }>,
  call: ServerUnaryCall<Decoded, Message>,
  answer: sendUnaryData<Message>,
  now: () => number,
): void {
  const decoded = call.request;
  if (decoded.kind === "malformed") {
    answer(grpcError(decoded.error));
    return;
  }
  const caller = callerOf(call, now);
  mounted.run(decoded.message, caller.call).then(
    (message) => {
      caller.settle();
      answer(null, message);
    },
    (error: DroverError | StandardError) => {
      caller.settle();
      answer(grpcError(error));
    },
  );
}

async function serveStream(
  mounted: Extract<Mounted, { kind: "stream" }>,
  call: ServerWritableStream<Decoded, Message>,
  now: () => number,
): Promise<void> {
  const decoded = call.request;
  if (decoded.kind === "malformed") {
    call.emit("error", grpcError(decoded.error));
    return;
  }
  const caller = callerOf(call, now);
  await writeAll(mounted.run(decoded.message, caller.call), call);
  caller.settle();
}

async function serveBidi(
  mounted: Extract<Mounted, { kind: "bidi" }>,
  call: ServerDuplexStream<Decoded, Message>,
): Promise<void> {
  async function* requests(): AsyncGenerator<Message> {
    for await (const decoded of call as AsyncIterable<Decoded>) {
      if (decoded.kind === "malformed") throw decoded.error;
      yield decoded.message;
    }
  }
  await writeAll(mounted.run(requests()), call);
}

/** Writes answers as fast as the peer accepts them, and stops when it has disconnected. */
async function writeAll(
  answers: AsyncIterable<Message>,
  call: ServerWritableStream<Decoded, Message> | ServerDuplexStream<Decoded, Message>,
): Promise<void> {
  try {
    for await (const message of answers) {
      if (call.cancelled) return;
      if (!call.write(message)) await drained(call);
    }
    call.end();
  } catch (error) {
    // A peer that has disconnected receives nothing. Every other error comes from a mounted method.
    if (!call.cancelled) call.emit("error", grpcError(error as DroverError));
  }
}

function drained(call: {
  once(event: string, tell: () => void): unknown;
  off(event: string, tell: () => void): unknown;
}): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      call.off("drain", done);
      call.off("cancelled", done);
      resolve();
    };
    call.once("drain", done);
    call.once("cancelled", done);
  });
}

/**
 * `settle`: from now on `cancelled` only means that the call is over; grpc-js emits it after each
 * call.
 */
function callerOf(call: AnyCall, now: () => number): { call: Call; settle: () => void } {
  let controller: AbortController | null = null;
  let settled = false;
  const facts: Call = {
    get signal() {
      if (controller !== null) return controller.signal;
      const made = new AbortController();
      controller = made;
      if (call.cancelled) made.abort();
      else
        call.on("cancelled", () => {
          if (!settled) made.abort();
        });
      return made.signal;
    },
    deadlineMs: deadlineOf(call, now),
    peer: call.getPeer(),
    header: (name) => call.metadata.get(name)[0]?.toString() ?? null,
    certificate: () => certificateFrom(call.getAuthContext().sslPeerCertificate ?? {}),
  };
  return {
    call: facts,
    settle: () => {
      settled = true;
    },
  };
}

function deadlineOf(call: AnyCall, now: () => number): number | null {
  const [trueTimeout] = call.metadata.get(TRUE_TIMEOUT);
  if (trueTimeout !== undefined) return Number(trueTimeout);
  const deadline = call.getDeadline();
  const at = deadline instanceof Date ? deadline.getTime() : deadline;
  return Number.isFinite(at) ? at - now() : null;
}

function grpcError(error: DroverError | StandardError) {
  const { code, message } = answerOf(error);
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(statusBytes(error)));
  return { code, details: message, metadata, name: "Error", message };
}
